//! Progress of a run, told to the client that waits for it.

use crate::observe::Observer;
use ltc_workflow::advance::{Effect, Ended, StepKey};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Steps that ended, told to the client as progress.
pub struct Telling {
    steps: Arc<Steps>,
    stop: oneshot::Sender<()>,
    telling: JoinHandle<()>,
}

/// Counts the steps that end.
struct Steps {
    ended: AtomicU32,
    told: mpsc::UnboundedSender<(u32, String)>,
}

impl Observer for Steps {
    fn started(&self, _key: &StepKey, _effect: &Effect) {}

    fn ended(&self, key: &StepKey, _ended: &Ended) {
        let count = self.ended.fetch_add(1, Ordering::SeqCst) + 1;
        // Nobody listens any more once the call is answered.
        let _ = self.told.send((count, key.0.to_string()));
    }
}

impl Telling {
    /// Tells `peer` of each step that ends from now on.
    pub fn begin(token: ProgressToken, peer: Peer<RoleServer>) -> Telling {
        let (told, steps) = mpsc::unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let telling = tokio::spawn(tell(token, peer, steps, stopped));
        Telling { steps: Arc::new(Steps { ended: AtomicU32::new(0), told }), stop, telling }
    }

    /// Sees the steps.
    pub fn observer(&self) -> Arc<dyn Observer> {
        self.steps.clone()
    }

    /// Tells what is not told yet: nothing may come behind the answer.
    pub async fn end(self) {
        let _ = self.stop.send(());
        let _ = self.telling.await;
    }
}

async fn tell(
    token: ProgressToken,
    peer: Peer<RoleServer>,
    mut steps: mpsc::UnboundedReceiver<(u32, String)>,
    mut stopped: oneshot::Receiver<()>,
) {
    loop {
        let next = tokio::select! {
            biased;
            Some(step) = steps.recv() => Some(step),
            _ = &mut stopped => None,
        };
        let Some((count, step)) = next else { return };
        let progress = ProgressNotificationParam::new(token.clone(), f64::from(count)).with_message(step);
        if peer.notify_progress(progress).await.is_err() {
            return;
        }
    }
}
