//! A run from its request to its end: everything that can be wrong is found before step one.

use crate::adapter::McpAdapter;
use crate::durable::Durable;
use crate::engine::{self, Rest};
use crate::environment::Environment;
use crate::input;
use crate::journal::World;
use crate::native::NativeWorkflow;
use crate::observe::Observer;
use crate::perform::{self, Outside, RunName};
use crate::pool::Pool;
use crate::preflight;
use crate::problem::Problem;
use crate::secrets::{self, Redactor};
use crate::servers::{self, Elsewhere, Endpoints};
use ltc_workflow::advance::Start;
use ltc_workflow::document::Transport;
use ltc_workflow::{Object, Value, Workflow};
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
    pub input: Given<'r>,
    /// Servers that complete or overrule those of the workflow.
    pub servers: &'r BTreeMap<SmolStr, Transport>,
    /// Servers of the registry: they complete those of the workflow where nobody else says how one is reached.
    pub registry: &'r BTreeMap<SmolStr, Transport>,
    /// Where variables and secrets come from.
    pub environment: &'r dyn Environment,
    /// What the run is called, and since when it goes on.
    pub run: RunName,
}

/// An input, as somebody gave it or as a store kept it.
#[derive(Clone, Copy, Debug)]
pub enum Given<'g> {
    /// As somebody gave it.
    Plain(&'g Value),
    /// As a store kept it, with its secrets sealed.
    Sealed(&'g Value),
    /// It is known later, and checked by whoever knows it.
    Later,
}

/// A run that may start: input, secrets and servers are there.
pub struct Prepared {
    workflow: Workflow,
    library: BTreeMap<SmolStr, Workflow>,
    input: Object,
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
    let Request { workflow, library, input, servers, registry, environment, run } = request;
    let mut problems = Vec::new();
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
        let found = servers::endpoints(
            preflight::calls(workflow).keys(),
            workflow,
            Elsewhere { overrides: servers, registry },
            &names,
            environment,
        );
        if let Some(found) = collect(&mut problems, found) {
            // Where two workflows describe a server of one name, the one that is run decides.
            for (name, endpoint) in found.by_name {
                endpoints.by_name.entry(name).or_insert(endpoint);
            }
            endpoints.sensitive.extend(found.sensitive);
        }
    }
    let redactor = redactor(secrets.as_ref(), &endpoints, environment);
    let input = match input {
        Given::Plain(input) => input::check(&workflow, input),
        Given::Sealed(input) => input::check(&workflow, &redactor.unseal(input)),
        Given::Later => Ok(Object::default()),
    };
    let (Some(input), Some(secrets), true) = (collect(&mut problems, input), secrets, problems.is_empty()) else {
        return Err(problems);
    };
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

/// Takes the secrets of a run out of whatever is shown: those that it declares, and variables of its servers that look like some.
pub(crate) fn redactor(secrets: Option<&BTreeMap<SmolStr, SmolStr>>, endpoints: &Endpoints, environment: &dyn Environment) -> Redactor {
    let sensitive: Vec<(&String, String)> =
        endpoints.sensitive.iter().filter_map(|name| environment.get(name).map(|value| (name, value))).collect();
    let sensitive = sensitive.iter().filter(|(_, value)| value.chars().count() >= SHORTEST_SENSITIVE);
    let declared = secrets.into_iter().flatten().map(|(name, value)| (name.as_str(), value.as_str()));
    Redactor::new(declared.chain(sensitive.map(|(name, value)| (name.as_str(), value.as_str()))))
}

impl Prepared {
    /// Takes the secrets of this run out of whatever is shown.
    pub fn redactor(&self) -> Redactor {
        self.redactor.clone()
    }

    /// The input with its defaults, its secrets sealed: what a store keeps of it.
    pub fn sealed_input(&self) -> Value {
        self.redactor.seal(&Value::Object(self.input.clone()))
    }

    /// Connects to the servers and checks their tools; beside the run, what has drifted since the workflow was compiled.
    ///
    /// # Errors
    /// Every server that cannot be reached, and every tool that is not there.
    pub async fn connect(self, adapter: Arc<dyn McpAdapter>) -> Result<(Run, Vec<Problem>), Vec<Problem>> {
        adapter.conceal(&self.redactor);
        let pool = Pool::new(adapter, self.endpoints.by_name);
        let mut library = self.library;
        library.insert(self.workflow.name.clone(), self.workflow.clone());
        let all: Vec<&Workflow> = library.values().collect();
        let drifted = preflight::check(&all, &pool).await?;
        let effects = perform::effects(all);
        let outside = Outside { pool, library, secrets: self.secrets, effects, run: self.run };
        let start = outside.start(&self.workflow, self.input);
        Ok((Run { workflow: self.workflow, start, outside: Arc::new(outside), redactor: self.redactor }, drifted))
    }
}

/// A run whose servers are there.
pub struct Run {
    workflow: Workflow,
    start: Start,
    outside: Arc<Outside>,
    redactor: Redactor,
}

impl Run {
    /// The workflow.
    pub fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    /// The workflow, and those that it runs, by name.
    pub fn workflows(&self) -> &BTreeMap<SmolStr, Workflow> {
        &self.outside.library
    }

    /// The input, with its defaults.
    pub fn input(&self) -> &Object {
        &self.start.input
    }

    /// What the run acts on.
    pub fn world(&self) -> Arc<dyn World> {
        self.outside.clone()
    }

    /// Takes the secrets of this run out of whatever is shown, and seals what is kept.
    pub fn redactor(&self) -> Redactor {
        self.redactor.clone()
    }

    /// Runs until the run comes to rest. Dropping the future interrupts it: servers are told about calls that nobody waits for any more.
    pub async fn go(&self, durable: &dyn Durable, observer: &dyn Observer) -> Rest {
        engine::run(&self.workflow, &self.start, durable, observer).await
    }

    /// The same, by a workflow that is Rust.
    pub async fn go_native(&self, native: &NativeWorkflow, durable: &dyn Durable, observer: &dyn Observer) -> Rest {
        native.run(self.start.clone(), durable, observer).await
    }
}
