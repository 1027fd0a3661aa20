//! Where a store is in a test, and what most laws begin with.

use crate::postgres::{Database, Postgres};
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{
    Created, Definition, DefinitionId, EscalationId, Event, Lease, NewEscalation, NewRun, Question, RunId, Store, What, WorkerId, open,
};
use ltc_workflow::Value;
use ltc_workflow::advance::StepKey;
use smol_str::SmolStr;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// How a process of a test learns which store it has.
const ADDRESS: &str = "LTC_STORE_OF_TEST";

/// The store of a process that a test began; `None` in one that somebody else began.
pub async fn store_of_process() -> Option<Arc<dyn Store>> {
    let address = std::env::var(ADDRESS).ok()?;
    Some(open(&address).await.expect("the store opens"))
}

/// An empty database, gone when the test is over.
pub enum Place {
    Sqlite(tempfile::TempDir),
    Postgres(Database),
}

impl Place {
    pub fn sqlite() -> Place {
        Place::Sqlite(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn postgres() -> Option<Place> {
        Some(Place::Postgres(Postgres::shared()?.database()))
    }

    pub fn address(&self) -> String {
        match self {
            Place::Sqlite(folder) => format!("sqlite:{}", folder.path().join("new/ltc.db").display()),
            Place::Postgres(database) => database.address(),
        }
    }

    /// Changes what is kept, past the store.
    pub async fn sql(&self, text: &str) {
        match self {
            Place::Postgres(database) => database.sql(text),
            Place::Sqlite(_) => {
                let options = self.address().parse::<SqliteConnectOptions>().expect("an address");
                let mut connection = options.connect().await.expect("a connection");
                sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut connection).await.expect("a change");
                connection.close().await.expect("it closes");
            }
        }
    }

    /// The command that runs the ignored test `name` of this program in a process of its own, with this place ([`store_of_process`]).
    pub fn process(&self, name: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", name, "--ignored", "--nocapture"]).env(ADDRESS, self.address()).stdout(Stdio::piped());
        command
    }

    /// A handle of its own, as another process has it.
    pub async fn open(&self) -> Arc<dyn Store> {
        open(&self.address()).await.expect("the store opens")
    }
}

pub fn json(text: &str) -> Value {
    ltc_workflow::json::parse(text.as_bytes()).expect("JSON")
}

pub fn run_id(name: &str) -> RunId {
    RunId(SmolStr::new(name))
}

pub fn worker(name: &str) -> WorkerId {
    WorkerId(SmolStr::new(name))
}

pub fn lease(name: &str, until: i64) -> Lease {
    Lease { worker: worker(name), until: Moment(until) }
}

pub fn definition(text: &str) -> Definition {
    Definition { id: DefinitionId(SmolStr::new(format!("digest of {text}"))), text: text.to_owned() }
}

/// A run that was asked for at 1000 and that nobody has.
pub fn new_run(name: &str) -> NewRun {
    NewRun {
        id: run_id(name),
        workflow: "w".into(),
        definition: definition("workflow: w"),
        input: json("{}"),
        created_at: Moment(1000),
        deadline: None,
        lease: None,
    }
}

pub async fn create(store: &dyn Store, run: NewRun) {
    assert_eq!(store.create_run(run).await, Ok(Created::New));
}

/// A run that `worker` has until `until`.
pub async fn running(store: &dyn Store, name: &str, worker: &str, until: i64) -> RunId {
    create(store, NewRun { lease: Some(lease(worker, until)), ..new_run(name) }).await;
    run_id(name)
}

pub fn event(key: &str, at: i64, what: What) -> Event {
    Event { key: StepKey(SmolStr::new(key)), at: Moment(at), what }
}

pub fn question_id(name: &str) -> EscalationId {
    EscalationId(SmolStr::new(name))
}

/// A question to `reviewer`, asked at 1000 by the step `ask`.
pub fn question(name: &str, run: Option<&RunId>) -> NewEscalation {
    NewEscalation {
        id: question_id(name),
        asked_by: run.map(|run| (run.clone(), StepKey("ask".into()))),
        question: Question {
            role: "reviewer".into(),
            kind: "workflow".into(),
            subkind: "escalate".into(),
            priority: 2,
            message: "Is it so?".to_owned(),
            data: Some(json("{\"a\": 1.0}")),
            form: None,
        },
        created_at: Moment(1000),
        deadline: None,
    }
}
