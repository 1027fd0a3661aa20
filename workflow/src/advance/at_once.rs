//! What goes on at once within a walk: the iterations of a `for`, the branches of a `parallel`.
//!
//! Only the parts for which something has ended are walked on. The result is as if one walked all of them in the order of the document each time: a part that fails
//! takes back those behind it, with all that they used up.

use super::evaluate::Left;
use super::walk::{Fault, Walk};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// A part of a walk, on its way to its result.
pub(super) type Part<'p, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'p>>;

/// A part that was begun.
struct Begun<'p, T> {
    state: State<'p, T>,
    waker: Waker,
    /// What it has used up of the walk's budget so far.
    used: Left,
}

enum State<'p, T> {
    Going(Part<'p, T>),
    Done(T),
    Failed(Fault),
}

impl Walk<'_> {
    /// The results of `count` parts, of which up to `most` go on at once; the first failure in their order fails all.
    pub(super) async fn at_once<'p, T>(
        &'p self,
        count: usize,
        most: usize,
        mut begin: impl FnMut(usize) -> Part<'p, T>,
    ) -> Result<Vec<T>, Fault> {
        let bell = Arc::new(Bell::default());
        let (mut parts, mut going, mut has_failed) = (Vec::<Begun<T>>::new(), 0_usize, false);
        poll_fn(|context| {
            bell.belongs_to(context.waker());
            loop {
                while let Some(index) = bell.next() {
                    let Some(part) = parts.get_mut(index) else { continue };
                    let was_going = part.is_going();
                    self.walk_on(part);
                    going -= usize::from(was_going && !part.is_going());
                    if let State::Failed(_) = part.state {
                        has_failed = true;
                        for behind in parts.drain(index.saturating_add(1)..) {
                            going -= usize::from(behind.is_going());
                            self.evaluator.give_back(behind.used);
                        }
                    }
                }
                if !has_failed && going < most && parts.len() < count {
                    let index = parts.len();
                    let waker = Waker::from(Arc::new(Ring { index, bell: bell.clone() }));
                    parts.push(Begun { state: State::Going(begin(index)), waker, used: Left::default() });
                    going += 1;
                    bell.ring(index);
                } else if going == 0 {
                    return Poll::Ready(());
                } else {
                    return Poll::Pending;
                }
            }
        })
        .await;
        parts.into_iter().filter_map(Begun::result).collect()
    }

    fn walk_on<T>(&self, part: &mut Begun<'_, T>) {
        let State::Going(walking) = &mut part.state else { return };
        let before = self.evaluator.left();
        let polled = walking.as_mut().poll(&mut Context::from_waker(&part.waker));
        part.used = part.used.and(before.without(self.evaluator.left()));
        match polled {
            Poll::Pending => {}
            Poll::Ready(Ok(value)) => part.state = State::Done(value),
            Poll::Ready(Err(fault)) => part.state = State::Failed(fault),
        }
    }
}

impl<T> Begun<'_, T> {
    fn is_going(&self) -> bool {
        matches!(self.state, State::Going(_))
    }

    /// `None` where it has none yet.
    fn result(self) -> Option<Result<T, Fault>> {
        match self.state {
            State::Done(value) => Some(Ok(value)),
            State::Failed(fault) => Some(Err(fault)),
            State::Going(_) => None,
        }
    }
}

/// Which parts something has ended for, and who is told.
#[derive(Default)]
struct Bell(Mutex<Rung>);

#[derive(Default)]
struct Rung {
    parts: BTreeSet<usize>,
    outer: Option<Waker>,
}

impl Bell {
    fn rung(&self) -> MutexGuard<'_, Rung> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn belongs_to(&self, waker: &Waker) {
        let mut rung = self.rung();
        if rung.outer.as_ref().is_none_or(|outer| !outer.will_wake(waker)) {
            rung.outer = Some(waker.clone());
        }
    }

    /// Something has ended for a part; whoever walks it knows already.
    fn ring(&self, index: usize) {
        self.rung().parts.insert(index);
    }

    /// The first in the document's order.
    fn next(&self) -> Option<usize> {
        self.rung().parts.pop_first()
    }
}

/// The waker of one part.
struct Ring {
    index: usize,
    bell: Arc<Bell>,
}

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let outer = {
            let mut rung = self.bell.rung();
            rung.parts.insert(self.index);
            rung.outer.clone()
        };
        if let Some(outer) = outer {
            outer.wake();
        }
    }
}
