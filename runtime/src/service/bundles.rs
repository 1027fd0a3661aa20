//! Definitions that were read once: they never change, so they are read from the store and parsed no second time.

use super::{Code, Refusal};
use crate::definition::Bundle;
use crate::store::{DefinitionId, Store};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many are kept; past that, all go.
const MOST_KEPT: usize = 1024;

/// Parsed definitions.
#[derive(Default)]
pub(super) struct Bundles(Mutex<BTreeMap<DefinitionId, Arc<Bundle>>>);

impl Bundles {
    /// The workflows of a definition.
    pub(super) async fn get(&self, id: &DefinitionId, store: &dyn Store) -> Result<Arc<Bundle>, Refusal> {
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            return Ok(known.clone());
        }
        let definition = store.definition(id).await?;
        let definition = definition.ok_or_else(|| Refusal::new(Code::Broken, format!("the definition {} is not in the store", id.0)))?;
        let bundle = Arc::new(Bundle::read(&definition).map_err(|problem| Refusal::because(Code::Broken, vec![problem]))?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(id.clone(), bundle.clone());
        Ok(bundle)
    }
}
