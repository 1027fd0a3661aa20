//! Waiting for a run that waits.

use ltc_runtime::clock::Moment;
use ltc_runtime::service::Service;
use ltc_runtime::store::{RunId, Status};
use std::sync::Arc;
use std::time::Duration;

/// How often a run that waits is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Waits until a run may be gone on with: its time has come, its deadline has passed, or somebody cancelled it, answered or goes on with it.
pub async fn until_due(service: &Arc<Service>, id: &RunId) {
    loop {
        let now = Moment::now();
        let pause = match service.driver().store().run(id).await {
            Ok(Some(run)) if run.status == Status::Waiting => match run.wake_at.into_iter().chain(run.deadline).min() {
                Some(due) if due <= now => return,
                due => due.map_or(LOOK_EVERY, |due| now.until(due)),
            },
            Ok(_) => return,
            // A store that is away is asked again.
            Err(_) => LOOK_EVERY,
        };
        tokio::time::sleep(pause.min(LOOK_EVERY)).await;
    }
}
