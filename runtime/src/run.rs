//! A run from its request to its end: everything that can be wrong is found before step one.

use crate::clock;
use crate::durable::InMemory;
use crate::engine::{self, Rest};
use crate::environment::Environment;
use crate::input;
use crate::observe::{Log, Observer};
use crate::perform::{Outside, RunName};
use crate::pool::Pool;
use crate::preflight;
use crate::problem::Problem;
use crate::secrets::{self, Redactor};
use crate::servers::{self, Endpoints};
use crate::upstream::{Connector, Limits};
use ltc_workflow::advance::Start;
use ltc_workflow::document::Transport;
use ltc_workflow::{Value, Workflow};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is to be run, and with what.
pub struct Request<'r> {
    /// The workflow.
    pub workflow: Workflow,
    /// The workflows that it runs, and that those run.
    pub library: BTreeMap<SmolStr, Workflow>,
    /// Its input.
    pub input: &'r Value,
    /// Servers that complete or overrule those of the workflow.
    pub servers: &'r BTreeMap<SmolStr, Transport>,
    /// Where variables and secrets come from.
    pub environment: &'r dyn Environment,
    /// A name for the run; it is given one where this is `None`.
    pub id: Option<SmolStr>,
}

/// A run that may start: input, secrets and servers are there.
pub struct Prepared {
    workflow: Workflow,
    library: BTreeMap<SmolStr, Workflow>,
    input: ltc_workflow::Object,
    secrets: BTreeMap<SmolStr, SmolStr>,
    endpoints: Endpoints,
    redactor: Redactor,
    run: RunName,
}

/// Checks everything that can be checked without touching a server.
///
/// # Errors
/// All that is wrong.
pub fn prepare(request: Request<'_>) -> Result<Prepared, Vec<Problem>> {
    let Request { workflow, library, input, servers, environment, id } = request;
    let mut problems = Vec::new();
    let filled = collect(&mut problems, input::check(&workflow, input));
    let all: Vec<&Workflow> = [&workflow].into_iter().chain(library.values()).collect();
    for (missing, by) in all.iter().flat_map(|workflow| preflight::runs(workflow).into_iter().map(|name| (name, &workflow.name))) {
        if !library.contains_key(&missing) && missing != workflow.name {
            problems.push(Problem::new(
                "no-such-workflow",
                format!("workflow {by}"),
                format!("it runs the workflow {missing}, which is not here"),
            ));
        }
    }
    let names: BTreeSet<SmolStr> = all.iter().flat_map(|workflow| workflow.secrets.iter().cloned()).collect();
    let secrets = secrets::read(&names, environment).map_err(|missing| missing.into_iter().map(missing_secret).collect());
    let secrets = collect(&mut problems, secrets);
    let mut endpoints = Endpoints::default();
    for workflow in &all {
        let found = servers::endpoints(preflight::calls(workflow).keys(), workflow, servers, &names, environment);
        if let Some(found) = collect(&mut problems, found) {
            // Where two workflows describe a server of one name, the one that is run decides.
            for (name, endpoint) in found.by_name {
                endpoints.by_name.entry(name).or_insert(endpoint);
            }
            endpoints.sensitive.extend(found.sensitive);
        }
    }
    let (Some(input), Some(secrets), true) = (filled, secrets, problems.is_empty()) else {
        return Err(problems);
    };
    let redactor = redactor(&secrets, &endpoints, environment);
    let run = RunName { id: id.unwrap_or_else(|| clock::unique_name().into()), started_at: clock::Moment::now().to_string().into() };
    Ok(Prepared { workflow, library, input, secrets, endpoints, redactor, run })
}

fn collect<T>(problems: &mut Vec<Problem>, result: Result<T, Vec<Problem>>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(more) => {
            problems.extend(more);
            None
        }
    }
}

fn missing_secret(name: SmolStr) -> Problem {
    Problem::new("missing-secret", format!("secret {name}"), format!("the environment variable {name} is not set or empty"))
        .help("the workflow reads this secret from the environment when it runs")
}

/// Short values of the environment are no secrets that could be told from ordinary words.
const SHORTEST_SENSITIVE: usize = 8;

fn redactor(secrets: &BTreeMap<SmolStr, SmolStr>, endpoints: &Endpoints, environment: &dyn Environment) -> Redactor {
    let sensitive: Vec<(&String, String)> =
        endpoints.sensitive.iter().filter_map(|name| environment.get(name).map(|value| (name, value))).collect();
    let sensitive = sensitive.iter().filter(|(_, value)| value.chars().count() >= SHORTEST_SENSITIVE);
    let declared = secrets.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Redactor::new(declared.chain(sensitive.map(|(name, value)| (name.as_str(), value.as_str()))))
}

impl Prepared {
    /// Takes the secrets of this run out of whatever is shown.
    pub fn redactor(&self) -> Redactor {
        self.redactor.clone()
    }

    /// Connects to the servers and checks their tools; beside the run, what has drifted since the workflow was compiled.
    ///
    /// # Errors
    /// Every server that cannot be reached, and every tool that is not there.
    pub async fn connect(
        self,
        log: Arc<dyn Log>,
        limits: Limits,
        observer: Arc<dyn Observer>,
    ) -> Result<(Run, Vec<Problem>), Vec<Problem>> {
        let pool = Arc::new(Pool::new(Connector { log, limits }, self.endpoints.by_name));
        let all: Vec<&Workflow> = [&self.workflow].into_iter().chain(self.library.values()).collect();
        let drifted = match preflight::check(&all, &pool).await {
            Ok(drifted) => drifted,
            Err(problems) => {
                pool.close().await;
                return Err(problems);
            }
        };
        let mut library = self.library;
        library.insert(self.workflow.name.clone(), self.workflow.clone());
        let outside =
            Outside { pool, library: Arc::new(library), secrets: Arc::new(self.secrets), observer, run: self.run, path: Vec::new() };
        let start = outside.start(&self.workflow, self.input);
        Ok((Run { workflow: self.workflow, start, outside }, drifted))
    }
}

/// A run whose servers are there.
pub struct Run {
    workflow: Workflow,
    start: Start,
    outside: Outside,
}

impl Run {
    /// Runs until the run comes to rest. Dropping the future interrupts it: servers are told about calls that nobody waits for any more.
    pub async fn go(&self) -> Rest {
        let journal = InMemory::new(self.outside.clone());
        engine::run(&self.workflow, &self.start, &journal, self.outside.observer.as_ref()).await
    }

    /// Ends the servers.
    pub async fn close(&self) {
        self.outside.pool.close().await;
    }
}
