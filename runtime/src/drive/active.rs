//! The runs that this process has: leased, kept for as long as it works on them, and asked to stop.

use super::{Driver, LEASE};
use crate::alive;
use crate::clock::Moment;
use crate::durable::Stop;
use crate::store::{Claim, Commit, Lease, RunId, RunRecord, RunRest, StoreError};
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How often it is looked whether somebody asked for the end of a run that this process has.
const HEAR_EVERY: Duration = Duration::from_millis(500);

/// How often it is looked whether a process is gone that has runs.
const LOOK_FOR_THE_GONE_EVERY: Duration = Duration::from_millis(500);

/// A run that this process works on, for as long as this lives: also a task that is cut off or panics leaves it.
pub(super) struct Active<'d> {
    driver: &'d Driver,
    run: RunId,
    pub(super) stop: watch::Receiver<Option<Stop>>,
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.driver.active().remove(&self.run);
        self.driver.has_left.send_replace(());
    }
}

impl Driver {
    /// A lease of this process from now on.
    pub fn lease(&self) -> Lease {
        Lease { worker: self.worker.clone(), until: Moment::now().after(LEASE) }
    }

    /// Takes one run. Where the process that has it ran here and is gone, nobody waits for its lease to run out.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn claim(&self, run: &RunId) -> Result<Claim, StoreError> {
        let claim = self.store.claim_run(run, self.lease(), Moment::now()).await?;
        let Claim::Held(held) = &claim else { return Ok(claim) };
        let gone = held.lease.as_ref().filter(|lease| alive::is_gone(&lease.worker));
        match gone {
            Some(lease) => self.store.claim_run(run, self.lease(), lease.until.after(Duration::from_millis(1))).await,
            None => Ok(claim),
        }
    }

    /// Lets go of a run that was cut off in its middle, so that it can be gone on with at once.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn release(&self, run: &RunId) -> Result<(), StoreError> {
        let commit = Commit { rest: Some(RunRest::Queued), ..Commit::default() };
        self.store.commit(run, &self.worker, 0, &commit, Moment::now()).await.map(|_| ())
    }

    /// `None` where this process has the run already.
    pub(super) fn begin(&self, record: &RunRecord) -> Option<Active<'_>> {
        let ending = || self.is_ending.load(Ordering::SeqCst).then_some(Stop::Shutdown);
        let mut active = self.active();
        if active.contains_key(&record.id) {
            return None;
        }
        // Read while nobody can stop them all: either it is stopped with the others, or it sees that the end has begun.
        let (sender, stop) = watch::channel(record.is_cancel_requested.then_some(Stop::Cancel).or_else(ending));
        active.insert(record.id.clone(), sender);
        Some(Active { driver: self, run: record.id.clone(), stop })
    }

    /// Whether this process works on the run.
    pub fn has(&self, run: &RunId) -> bool {
        self.active().contains_key(run)
    }

    fn active(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, watch::Sender<Option<Stop>>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks a run of this process to stop: before its next step, or at once where it is cancelled. The first wish counts.
    pub fn stop(&self, run: &RunId, why: Stop) {
        if let Some(sender) = self.active().get(run) {
            sender.send_if_modified(|stop| {
                stop.is_none() && {
                    *stop = Some(why);
                    true
                }
            });
        }
    }

    /// The process ends: all its runs are asked to stop before their next steps, also those that are begun later.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        let runs: Vec<RunId> = self.active().keys().cloned().collect();
        runs.iter().for_each(|run| self.stop(run, Stop::Shutdown));
    }

    /// How many runs this process has.
    pub fn count(&self) -> usize {
        self.active().len()
    }

    /// Takes up to `limit` runs that are due. Those of processes that ran here and are gone are due at once.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn claim_due(&self, limit: u32) -> Result<Vec<RunRecord>, StoreError> {
        let is_time = {
            let mut looked_at = self.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
            let is_time = looked_at.is_none_or(|at| at.elapsed() >= LOOK_FOR_THE_GONE_EVERY);
            if is_time {
                *looked_at = Some(Instant::now());
            }
            is_time
        };
        if is_time {
            for worker in self.store.workers().await?.into_iter().filter(alive::is_gone) {
                self.store.end_leases(&worker, Moment::now()).await?;
            }
        }
        self.store.claim_runs(self.lease(), Moment::now(), limit).await
    }

    /// Renews the leases of this process and hears of wishes to cancel its runs, for as long as it is polled. A store that is away is asked again: where a lease runs out
    /// meanwhile, the next commit of its run says so.
    pub async fn keep_leases(&self) {
        let mut renewed_at = Instant::now();
        loop {
            tokio::time::sleep(HEAR_EVERY).await;
            if self.count() == 0 {
                continue;
            }
            let unwanted = if renewed_at.elapsed() < LEASE / 3 {
                self.store.unwanted(&self.worker).await
            } else {
                let renewed = self.store.renew(self.lease()).await;
                renewed.map(|renewed| {
                    renewed_at = Instant::now();
                    renewed.into_iter().filter(|run| run.is_cancel_requested).map(|run| run.run).collect()
                })
            };
            unwanted.unwrap_or_default().iter().for_each(|run| self.stop(run, Stop::Cancel));
        }
    }
}
