//! Active workflows, as tools of their own.

use super::workflows::{self, ListWorkflows};
use super::{Refusal, Service};
use crate::offered::Offered;
use std::sync::Arc;

impl Service {
    /// A page of the active workflows as tools, by name, and where the next page begins.
    ///
    /// # Errors
    /// `Invalid` where `after` is not the end of a page, or what the store says.
    pub async fn offered(self: &Arc<Self>, after: Option<String>, limit: u32) -> Result<(Vec<Offered>, Option<String>), Refusal> {
        let (records, next) = workflows::page(self, &ListWorkflows { state: None, limit: Some(limit), after }).await?;
        let mut offered = Vec::with_capacity(records.len());
        for record in records {
            let bundle = self.bundles.get(&record.definition, self.driver.store().as_ref()).await?;
            offered.push(Offered::of(&bundle));
        }
        Ok((offered, next))
    }

    /// An active workflow as a tool.
    ///
    /// # Errors
    /// `NotFound`, or what the store says.
    pub async fn offered_as(&self, name: &str) -> Result<Offered, Refusal> {
        let (_, bundle) = self.workflow(name, None).await?;
        Ok(Offered::of(&bundle))
    }
}
