//! A process that works on whatever run is due: its own, those of other processes that are gone or whose lease ran out, and those whose time has come.

use super::Service;
use crate::observe::Unobserved;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// How often a store is asked for runs that are due, where nothing in this process says so earlier.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How often it is looked whether the last run has been released.
const END_LOOK_EVERY: Duration = Duration::from_millis(10);

/// How many runs a process has at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity(pub u32);

impl Default for Capacity {
    fn default() -> Capacity {
        Capacity(64)
    }
}

impl Service {
    /// Takes up runs that are due until `end` resolves; then no step is begun any more, and those under way are waited for. What is not at rest then is
    /// queued, for whoever comes next.
    pub async fn work(self: &Arc<Self>, Capacity(most): Capacity, end: impl Future<Output = ()>) {
        let mut end = std::pin::pin!(end);
        let mut leases = std::pin::pin!(self.driver.keep_leases());
        let mut runs = JoinSet::new();
        loop {
            let free = most.saturating_sub(u32::try_from(runs.len()).unwrap_or(u32::MAX));
            // A store that is away is asked again at the next look.
            let due = if free == 0 { Vec::new() } else { self.driver.claim_due(free).await.unwrap_or_default() };
            let is_full = !due.is_empty() && u32::try_from(due.len()).is_ok_and(|count| count == free);
            for record in due {
                let service = self.clone();
                runs.spawn(async move {
                    service.driver.take_up(record, Arc::new(Unobserved)).await;
                    service.has_changed();
                });
            }
            tokio::select! {
                () = &mut end => break,
                () = &mut leases => {}
                () = self.due.notified() => {}
                Some(_) = runs.join_next() => {
                    // Whatever else ended meanwhile leaves room too.
                    while runs.try_join_next().is_some() {}
                }
                () = tokio::time::sleep(LOOK_EVERY), if !is_full => {}
            }
        }
        self.driver.end();
        let all = async {
            while runs.join_next().await.is_some() {}
            // Those that somebody began and waits for are not in the set.
            while self.driver.count() > 0 {
                tokio::time::sleep(END_LOOK_EVERY).await;
            }
        };
        tokio::select! {
            () = all => {}
            () = leases => {}
        }
    }
}
