//! A run before it begins: asked for, checked, connected.

use super::Driver;
use crate::definition::Bundle;
use crate::problem::Problem;
use crate::run::{Prepared, Run};
use crate::secrets::Redactor;
use crate::store::{Lease, NewRun, RunId};
use ltc_workflow::Value;
use std::time::Duration;

/// A run that is asked for.
pub struct Asked<'a> {
    /// The workflow with all that it runs.
    pub bundle: &'a Bundle,
    /// Its input.
    pub input: &'a Value,
    /// Its name; it is given one where this is `None`.
    pub id: Option<RunId>,
    /// How long it may take.
    pub limit: Option<Duration>,
}

/// A run that may be made: everything that can be checked without touching a server is there.
pub struct Checked {
    pub(super) prepared: Prepared,
    pub(super) new: NewRun,
}

/// A run whose servers are there, and of which nothing is kept yet.
#[cfg_attr(not(feature = "serve"), allow(dead_code, reason = "the operations begin it"))]
pub struct Connected {
    pub(crate) run: Run,
    pub(crate) new: NewRun,
}

impl Checked {
    /// Takes the secrets of the run out of whatever is shown.
    pub fn redactor(&self) -> Redactor {
        self.prepared.redactor()
    }

    /// The run, for the store: with a lease it belongs to the one who makes it, without one it is queued.
    pub fn new_run(&self, lease: Option<Lease>) -> NewRun {
        NewRun { lease, ..self.new.clone() }
    }

    /// Connects to the servers and checks their tools; beside the run, what has drifted since the workflow was compiled.
    ///
    /// # Errors
    /// Every server that cannot be reached, and every tool that is not there.
    pub async fn connect(self, driver: &Driver) -> Result<(Connected, Vec<Problem>), Vec<Problem>> {
        let (run, drifted) = self.prepared.connect(driver.adapter.clone()).await?;
        Ok((Connected { run, new: self.new }, drifted))
    }
}
