//! A server of native workflows: the MCP servers of the runtime over stdio, on which they are active workflows.

use super::NativeWorkflow;
use crate::adapter::McpAdapter;
use crate::drive::Driver;
use crate::environment::ProcessEnvironment;
use crate::observe::{Log, Unobserved};
use crate::pool::Connections;
use crate::serve::{self, Which};
use crate::service::{Caller, Capacity, Operation, Service};
use crate::store;
use crate::upstream::{Connector, Limits};
use ltc_workflow::{Object, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Serves until stdin closes. Runs are kept where `LTC_STORE` says, else in the file that `ltc` uses too.
///
/// # Errors
/// Why it cannot serve.
pub async fn serve(workflows: Vec<NativeWorkflow>, log: Arc<dyn Log>) -> Result<(), String> {
    let address = match std::env::var("LTC_STORE") {
        Ok(address) if !address.is_empty() => address,
        _ => store::default_path(&ProcessEnvironment).map_err(|error| error.to_string())?.to_string_lossy().into_owned(),
    };
    let store = store::open(&address).await.map_err(|error| error.to_string())?;
    let connections = Arc::new(Connections::new(Connector { log, limits: Limits::default() }));
    let driver = Driver::new(store, connections.clone(), BTreeMap::new(), Arc::new(ProcessEnvironment));
    let service = Service::new(Arc::new(driver.with_native(workflows.iter().cloned())?));
    let library = Value::array(workflows.iter().map(|workflow| Value::from(workflow.document())).collect::<Vec<_>>());
    for workflow in &workflows {
        deploy(&service, workflow.document(), &library).await?;
    }
    let (ending, mut ended) = tokio::sync::watch::channel(false);
    let serving = async {
        let served = serve::stdio(service.clone(), Which::usual(), std::future::pending()).await;
        ending.send_replace(true);
        served
    };
    let work = service.work(Capacity::default(), async move { drop(ended.wait_for(|is_over| *is_over).await) });
    let (served, ()) = tokio::join!(serving, work);
    connections.disconnect().await;
    served.map_err(|problem| problem.message)
}

/// Keeps a workflow, with those of `library` that it runs, whatever their order. Where it is kept already, nothing changes.
async fn deploy(service: &Arc<Service>, document: &str, library: &Value) -> Result<(), String> {
    let Some(operation) = Operation::named("deploy_workflow") else { return Err("there is no operation deploy_workflow".to_owned()) };
    let input: Object = [("document", Value::from(document)), ("library", library.clone())].into_iter().collect();
    let caller = Caller::new(Arc::new(Unobserved));
    let deployed = operation.call(service, &Value::Object(input), caller).await;
    deployed.map(drop).map_err(|refusal| refusal.message)
}
