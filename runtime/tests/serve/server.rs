//! What this program is when it is a server: `LTC_TEST_BE` is `stdio`, `listen` or `tools`.

use crate::{unruly, wire};
use ltc_runtime::adapter::McpAdapter;
use ltc_runtime::drive::Driver;
use ltc_runtime::environment::ProcessEnvironment;
use ltc_runtime::observe::Log;
use ltc_runtime::pool::Connections;
use ltc_runtime::secrets::Redactor;
use ltc_runtime::serve::{self, Listen, Token, Which};
use ltc_runtime::service::{Capacity, Service};
use ltc_runtime::store;
use ltc_runtime::upstream::{Connector, Limits};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// A log that goes to stderr.
pub struct Stderr;

impl Log for Stderr {
    fn learn(&self, _: &Redactor) {}

    fn server_said(&self, server: &str, line: &str) {
        eprintln!("{server}: {line}");
    }

    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}

/// The operations over the store at `address`, and the connections of its runs.
pub async fn service(address: &str) -> (Arc<Service>, Arc<Connections>) {
    let store = store::open(address).await.expect("the store opens");
    let connections = Arc::new(Connections::new(Connector { log: Arc::new(Stderr), limits: Limits::default() }));
    let driver = Driver::new(store, connections.clone(), BTreeMap::new(), Arc::new(ProcessEnvironment));
    (Service::new(Arc::new(driver)), connections)
}

pub fn be(mode: &str) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if mode == "tools" {
        let log = arguments.first().map(Into::into);
        return wire::serve(&mut unruly::Unruly::new(log)).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    runtime.block_on(serve(mode, &arguments))
}

async fn serve(mode: &str, arguments: &[String]) -> ExitCode {
    let mut polite = signal(SignalKind::terminate()).expect("signals");
    let (service, connections) = service(&arguments[0]).await;
    let (ended, is_ended) = watch::channel(false);
    let work = service.work(Capacity::default(), async move {
        let mut is_ended = is_ended;
        let _ = is_ended.wait_for(|ended| *ended).await;
    });
    let end = async move {
        polite.recv().await;
    };
    let serving = async {
        let result = match mode {
            "stdio" => {
                let which = arguments.get(1).map_or_else(Which::usual, |name| Which::only(name).expect("a server"));
                serve::stdio(service.clone(), which, end).await
            }
            _ => {
                let mut listen = Listen::at(arguments[1].parse().expect("an address"));
                listen.token = arguments.get(2).filter(|token| !token.is_empty()).map(|token| Token::new(token).expect("a token"));
                listen.allowed_origins = arguments.get(3).into_iter().cloned().collect();
                match serve::listen(service.clone(), listen, end).await {
                    Ok((address, serving)) => {
                        println!("{}", address.port());
                        std::io::stdout().flush().expect("stdout");
                        serving.await;
                        Ok(())
                    }
                    Err(problem) => Err(problem),
                }
            }
        };
        ended.send_replace(true);
        result
    };
    let (served, ()) = tokio::join!(serving, work);
    connections.disconnect().await;
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{}: {}", problem.code, problem.message);
            ExitCode::FAILURE
        }
    }
}
