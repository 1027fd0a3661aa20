//! The part of a journal that belongs to a workflow within the run: its keys stand behind that of the step which runs it.

use super::{Journal, Scope};
use crate::durable::{Durable, Interrupted, Performed};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ltc_workflow::advance::{Effect, Ended, Failure, StepKey};
use smol_str::{SmolStr, format_smolstr};
use std::collections::BTreeMap;

/// The part of a journal that belongs to a workflow which another one runs.
pub(super) struct Nested<'j> {
    pub(super) journal: &'j Journal,
    pub(super) scope: Scope,
    pub(super) prefix: SmolStr,
}

impl Durable for Nested<'_> {
    fn recorded(&self) -> BTreeMap<StepKey, Ended> {
        let state = self.journal.state();
        let own = |(key, ended): (&StepKey, &Ended)| {
            let key = StepKey(key.0.strip_prefix(self.prefix.as_str())?.into());
            let ended = match ended {
                Ended::Failed(failure) => Ended::Failed(Failure { step: Some(key.clone()), ..failure.clone() }),
                Ended::Succeeded(value) => Ended::Succeeded(value.clone()),
            };
            Some((key, ended))
        };
        let from = StepKey(self.prefix.clone());
        state.ended.range(from..).take_while(|(key, _)| key.0.starts_with(self.prefix.as_str())).filter_map(own).collect()
    }

    fn perform<'d>(&'d self, key: &'d StepKey, effect: &'d Effect) -> BoxFuture<'d, Result<Performed, Interrupted>> {
        async move {
            let full = StepKey(format_smolstr!("{}{key}", self.prefix));
            let performed = self.journal.perform_in(&self.scope, &full, effect).await?;
            Ok(match performed {
                Performed::Ended(Ended::Failed(failure)) => Performed::Ended(Ended::Failed(Failure { step: Some(key.clone()), ..failure })),
                performed => performed,
            })
        }
        .boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), Interrupted>> {
        self.journal.settle()
    }

    fn wind_down(&self) {
        self.journal.winding_down.send_modify(|prefixes| prefixes.push(self.prefix.clone()));
    }
}
