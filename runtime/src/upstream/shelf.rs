//! Results of calls while the library has their messages: a result may be large, and the library needs to know only where it lies.

use ltc_workflow::{Object, Value};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many results may lie here beyond those of calls that are waited for: late answers to calls that were given up.
const SPARE: usize = 16;

/// Results of one connection.
#[derive(Default)]
pub struct Shelf(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    last: i64,
    waiting: usize,
    kept: VecDeque<(i64, Object)>,
}

/// A call whose result is waited for, for as long as this lives.
pub struct Waiting<'s>(&'s Shelf);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.inner().waiting -= 1;
    }
}

impl Shelf {
    /// Somebody waits for the result of a call.
    pub fn wait(&self) -> Waiting<'_> {
        self.inner().waiting += 1;
        Waiting(self)
    }

    /// Keeps a result that somebody waits for; gives where it lies. What nobody fetches makes room.
    pub fn put(&self, result: Object) -> i64 {
        let mut inner = self.inner();
        inner.last += 1;
        let place = inner.last;
        inner.kept.push_back((place, result));
        while inner.kept.len() > inner.waiting + SPARE {
            inner.kept.pop_front();
        }
        place
    }

    /// Takes the result that lies there.
    pub fn take(&self, place: i64) -> Option<Value> {
        let mut inner = self.inner();
        let at = inner.kept.iter().position(|(kept, _)| *kept == place)?;
        inner.kept.remove(at).map(|(_, result)| Value::Object(result))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_taken_once_and_what_nobody_fetches_makes_room() {
        let shelf = Shelf::default();
        let result = |n: i64| Object::from_iter([("n", Value::from(n))]);
        let waiting = shelf.wait();
        let first = shelf.put(result(1));
        assert_eq!((shelf.take(first), shelf.take(first)), (Some(result(1).into()), None));
        let old = shelf.put(result(2));
        let newer: Vec<i64> = (0..16).map(|n| shelf.put(result(n))).collect();
        // One is waited for: there is room for it beside the spare ones.
        assert!(shelf.take(old).is_some());
        drop(waiting);
        shelf.put(result(3));
        assert_eq!(shelf.take(newer[0]), None, "nobody waits, and it is the oldest");
        assert!(shelf.take(newer[1]).is_some());
    }
}
