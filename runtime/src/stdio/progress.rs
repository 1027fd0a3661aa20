//! Progress, told to the client that asked for it: steps that ended, and how far those that are under way have come.

use crate::observe::Observer;
use crate::upstream::Progress;
use ltc_workflow::advance::{Effect, Ended, StepKey};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How much progress may be on its way to a client at once.
const MOST_UNTOLD: usize = 1024;

/// Tells one client of one call.
pub struct Telling {
    steps: Arc<Steps>,
    stop: oneshot::Sender<()>,
    telling: JoinHandle<()>,
}

/// Counts the steps that end, and hears how far those that are under way have come.
struct Steps {
    are_counted: bool,
    state: Mutex<Told>,
    /// What finds no room here is not told: who floods has said enough.
    told: mpsc::Sender<Progress>,
}

/// What was told last.
#[derive(Default)]
struct Told {
    ended: u32,
    /// It has to grow from one time to the next.
    last: f64,
    /// How often steps that are under way said something without saying how much there is, since the last end.
    unmeasured: u32,
}

impl Observer for Steps {
    fn started(&self, _key: &StepKey, _effect: &Effect) {}

    fn ended(&self, key: &StepKey, _ended: &Ended) {
        let mut state = self.state();
        state.ended += 1;
        (state.last, state.unmeasured) = (f64::from(state.ended), 0);
        // Nobody listens any more once the call is answered.
        let _ = self.told.try_send(Progress { progress: state.last, total: None, message: Some(key.0.to_string()) });
    }

    fn hears_progress(&self) -> bool {
        true
    }

    fn progress(&self, key: &StepKey, told: &Progress) {
        if !self.are_counted {
            let _ = self.told.try_send(told.clone());
            return;
        }
        // What a step has done of its work is a part of one step; where it does not say how much that is, each word is half of what is left.
        let mut state = self.state();
        let part = match told.total.filter(|total| *total > 0.0) {
            Some(total) => (told.progress / total).clamp(0.0, 0.99),
            None => {
                state.unmeasured = state.unmeasured.saturating_add(1);
                1.0 - 0.5_f64.powi(i32::try_from(state.unmeasured).unwrap_or(i32::MAX).min(30))
            }
        };
        let now = f64::from(state.ended) + part;
        if now > state.last {
            state.last = now;
            let said = told.message.as_deref().map(|said| format!(": {said}")).unwrap_or_default();
            let _ = self.told.try_send(Progress { progress: now, total: None, message: Some(format!("{}{said}", key.0)) });
        }
    }
}

impl Steps {
    fn state(&self) -> MutexGuard<'_, Told> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Telling {
    /// `are_counted` says whether there are steps, or only the call of one tool, whose server says all there is to say.
    pub fn begin(token: ProgressToken, peer: Peer<RoleServer>, are_counted: bool) -> Telling {
        let (told, steps) = mpsc::channel(MOST_UNTOLD);
        let (stop, stopped) = oneshot::channel();
        let telling = tokio::spawn(tell(token, peer, steps, stopped));
        Telling { steps: Arc::new(Steps { are_counted, state: Mutex::default(), told }), stop, telling }
    }

    /// Sees what is to be told.
    pub fn observer(&self) -> Arc<dyn Observer> {
        self.steps.clone()
    }

    /// Tells what is not told yet: nothing may come behind the answer.
    pub async fn end(self) {
        let _ = self.stop.send(());
        let _ = self.telling.await;
    }
}

async fn tell(token: ProgressToken, peer: Peer<RoleServer>, mut steps: mpsc::Receiver<Progress>, mut stopped: oneshot::Receiver<()>) {
    loop {
        let next = tokio::select! {
            biased;
            Some(step) = steps.recv() => Some(step),
            _ = &mut stopped => None,
        };
        let Some(Progress { progress, total, message }) = next else { return };
        let mut progress = ProgressNotificationParam::new(token.clone(), progress);
        (progress.total, progress.message) = (total, message);
        if peer.notify_progress(progress).await.is_err() {
            return;
        }
    }
}
