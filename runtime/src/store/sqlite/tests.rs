//! What is SQLite's own: a full disk, the file's rights, several programs at one file, and indexes that give each list its order.

use super::super::sql::{Row, Statement};
use super::*;
use crate::clock::Moment;
use crate::store::{
    Commit, DefinitionId, EscalationFilter, EscalationId, EscalationStatus, Event, Journals, Lease, NewRun, RunFilter, RunId, RunRest,
    ServerFilter, ServerStatus, Status, Tagged, TraceFilter, TraceId, VersionFilter, VersionState, What, WorkerId,
};
use ltc_workflow::Value;
use ltc_workflow::advance::StepKey;
use std::collections::BTreeSet;
use std::sync::Mutex;

fn run(name: &str, lease: Option<Lease>) -> NewRun {
    let definition = crate::store::Definition { id: DefinitionId("d".into()), text: "workflow: w".to_owned() };
    NewRun { id: RunId(name.into()), workflow: "w".into(), definition, input: Value::Null, created_at: Moment(1), deadline: None, lease }
}

#[tokio::test]
async fn a_full_disk_is_told_and_the_store_goes_on_after() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqlStore(opened(&folder.path().join("ltc.db")).await.expect("the store opens"));
    let worker = WorkerId("w".into());
    let new = run("r", Some(Lease { worker: worker.clone(), until: Moment(9) }));
    store.create_run(new.clone()).await.expect("a run");
    let large = Value::string("x".repeat(100_000));
    let commit = |key: &str, value: &Value| {
        let event = Event { key: StepKey(key.into()), at: Moment(1), what: What::Succeeded(value.clone()) };
        Commit { events: vec![event], ..Commit::default() }
    };
    let one = store.commit(&new.id, &worker, 0, &commit("a", &large), Moment(1)).await;
    assert_eq!(one, Ok(1));

    // The connection may not make the file any larger: what a full disk says, and with the same number.
    let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&store.0.writer).await.expect("a number");
    sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {}", pages + 3))).execute(&store.0.writer).await.expect("a limit");
    for _ in 0..3 {
        let full = store.commit(&new.id, &worker, 1, &commit("b", &large), Moment(1)).await;
        let Err(StoreError::Unavailable(why)) = full else { panic!("there is no room: {full:?}") };
        assert!(why.contains("full"), "{why}");
        sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {}", pages + 3))).execute(&store.0.writer).await.expect("a limit");
    }
    assert_eq!(store.events(&new.id).await.expect("a journal").len(), 1);
    let small = store.commit(&new.id, &worker, 1, &commit("c", &Value::Null), Moment(1)).await;
    assert_eq!(small, Ok(2));

    sqlx::query("PRAGMA max_page_count = 1000000").execute(&store.0.writer).await.expect("a limit");
    let again = store.commit(&new.id, &worker, 2, &commit("b", &large), Moment(1)).await;
    assert_eq!(again, Ok(3));
}

#[tokio::test]
async fn a_transaction_that_ended_behind_the_drivers_back_blocks_nobody() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = SqlStore(opened(&folder.path().join("ltc.db")).await.expect("the store opens"));
    for name in ["a", "b"] {
        let mut transaction = store.0.writer.begin_with("BEGIN IMMEDIATE").await.expect("a transaction");
        sqlx::raw_sql("ROLLBACK").execute(&mut *transaction).await.expect("an end");
        drop(transaction);
        assert_eq!(store.create_run(run(name, None)).await, Ok(crate::store::Created::New));
    }
}

#[tokio::test]
async fn whoever_else_writes_is_waited_for_and_then_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("ltc.db");
    let (one, two) = (opened(&path).await.expect("the store opens"), SqlStore(opened(&path).await.expect("the store opens")));
    let held = one.writer.begin_with("BEGIN IMMEDIATE").await.expect("a transaction");
    // Those who read are not held up.
    assert_eq!(two.run(&RunId("r".into())).await, Ok(None));
    let begun = Instant::now();
    let (busy, ()) = tokio::join!(two.create_run(run("r", None)), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        held.rollback().await.expect("an end");
    });
    assert_eq!(busy, Ok(crate::store::Created::New));
    assert!(begun.elapsed() >= Duration::from_millis(300));

    let _held = one.writer.begin_with("BEGIN IMMEDIATE").await.expect("a transaction");
    let begun = Instant::now();
    let busy = two.create_run(run("s", None)).await;
    assert!(matches!(busy, Err(StoreError::Unavailable(_))), "{busy:?}");
    assert!(begun.elapsed() < PATIENCE + Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_is_its_owners() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a/b/ltc.db");
    let store = open(&path).await.expect("the store opens");
    store.create_run(run("r", None)).await.expect("a run");
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&folder.path().join("a")), mode(&folder.path().join("a/b"))), (0o700, 0o700));
    let files: Vec<_> = fs::read_dir(folder.path().join("a/b")).expect("a folder").map(|file| file.expect("a file").path()).collect();
    assert!(files.len() >= 2, "the log has a file of its own: {files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn what_is_no_store_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("notes.txt");
    fs::write(&path, "These are notes, and they are to stay as they are. ".repeat(100)).expect("a file");
    let before = fs::read(&path).expect("a file");
    assert!(matches!(open(&path).await, Err(StoreError::Broken(_))));
    assert_eq!(fs::read(&path).expect("a file"), before);
    assert!(matches!(open(&path.join("below")).await, Err(StoreError::Unavailable(_))));
    for name in ["", ":memory:"] {
        assert!(matches!(open(Path::new(name)).await, Err(StoreError::Broken(_))), "{name}");
    }
}

/// A file that tells how it would find what it is asked for.
struct Explained {
    file: File,
    plans: Arc<Mutex<Vec<String>>>,
}

struct Explaining {
    inner: Box<dyn Connection>,
    plans: Arc<Mutex<Vec<String>>>,
}

impl Connection for Explaining {
    fn rows(&mut self, statement: Statement) -> BoxFuture<'_, Done<Vec<Row>>> {
        async move {
            let mut explain = statement.clone();
            explain.text = format!("EXPLAIN QUERY PLAN {}", statement.text).into();
            for mut row in self.inner.rows(explain).await? {
                let (_, _, _) = (row.number()?, row.number()?, row.number()?);
                let step = format!("{} <- {}", row.text()?, statement.text);
                self.plans.lock().expect("no test panics here").push(step);
            }
            self.inner.rows(statement).await
        }
        .boxed()
    }

    fn change(&mut self, statement: Statement) -> BoxFuture<'_, Done<u64>> {
        async move {
            self.rows(statement).await?;
            Ok(1)
        }
        .boxed()
    }

    fn script(&mut self, text: &'static str) -> BoxFuture<'_, Done<()>> {
        self.inner.script(text)
    }

    fn commit<'c>(self: Box<Self>) -> BoxFuture<'c, Done<()>>
    where
        Self: 'c,
    {
        self.inner.commit()
    }

    fn undo<'c>(self: Box<Self>) -> BoxFuture<'c, Done<()>>
    where
        Self: 'c,
    {
        self.inner.undo()
    }
}

impl Explained {
    fn around(&self, inner: Done<Box<dyn Connection>>) -> Done<Box<dyn Connection>> {
        inner.map(|inner| Box::new(Explaining { inner, plans: self.plans.clone() }) as Box<dyn Connection>)
    }
}

impl Database for Explained {
    fn read(&self) -> BoxFuture<'_, Done<Box<dyn Connection>>> {
        async move { self.around(self.file.read().await) }.boxed()
    }

    fn begin(&self) -> BoxFuture<'_, Done<Box<dyn Connection>>> {
        async move { self.around(self.file.begin().await) }.boxed()
    }

    fn once(&self, statement: Statement) -> BoxFuture<'_, Done<Vec<Row>>> {
        async move {
            for part in statement.text.split("; ").filter(|part| !part.starts_with("BEGIN") && *part != "COMMIT") {
                let part = Statement { text: part.to_owned().into(), bound: statement.bound.clone() };
                self.begin().await?.rows(part).await?;
            }
            self.file.once(statement).await
        }
        .boxed()
    }

    fn joined(&self) -> Joined {
        self.file.joined()
    }

    fn lock(&self) -> &'static str {
        self.file.lock()
    }

    fn lock_free(&self) -> &'static str {
        self.file.lock_free()
    }

    fn tags(&self) -> Tags {
        self.file.tags()
    }

    fn migrations(&self) -> &'static [&'static str] {
        self.file.migrations()
    }

    fn migration_lock(&self) -> Option<&'static str> {
        self.file.migration_lock()
    }
}

#[tokio::test]
async fn nothing_is_searched_for_row_by_row_and_no_list_is_sorted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plans = Arc::new(Mutex::new(Vec::new()));
    let file = opened(&folder.path().join("ltc.db")).await.expect("the store opens");
    let store = SqlStore(Explained { file, plans: plans.clone() });
    let lease = Lease { worker: WorkerId("w".into()), until: Moment(9) };
    store.create_run(run("r", None)).await.expect("a run");
    store.claim_runs(lease.clone(), Moment(2), 5).await.expect("runs");
    store.renew(lease.clone()).await.expect("runs");
    store.claim_run(&RunId("r".into()), lease.clone(), Moment(3)).await.expect("a run");
    let event = |key: &str| Event { key: StepKey(key.into()), at: Moment(3), what: What::Started };
    let commit = Commit { events: vec![event("a"), event("b")], closed: vec![EscalationId("q".into())], ..Commit::default() };
    store.commit(&RunId("r".into()), &lease.worker, 0, &commit, Moment(3)).await.expect("a commit");
    store.workers().await.expect("workers");
    store.unwanted(&lease.worker).await.expect("runs");
    store.end_leases(&lease.worker, Moment(4)).await.expect("an answer");
    let commit = Commit { rest: Some(RunRest::Done(Value::Null)), ..Commit::default() };
    store.commit(&RunId("r".into()), &lease.worker, 2, &commit, Moment(4)).await.expect("a commit");
    store.cancel_run(&RunId("r".into()), Moment(99)).await.expect("a run");
    store.events(&RunId("r".into())).await.expect("a journal");
    for status in [None, Some(Status::Queued)] {
        for workflow in [None, Some("w".into())] {
            for after in [None, Some((Moment(5), RunId("r".into())))] {
                store.runs(RunFilter { status, workflow: workflow.clone(), after, limit: 5 }).await.expect("a list");
            }
        }
    }
    for status in [EscalationStatus::Pending, EscalationStatus::Claimed, EscalationStatus::Resolved] {
        for role in [None, Some("r".into())] {
            store.escalations(EscalationFilter { role, status: Some(status), run: None, now: Moment(5), limit: 5 }).await.expect("a list");
        }
    }
    for state in [None, Some(VersionState::Active)] {
        for name in [None, Some("w".into())] {
            for after in [None, Some(("w".into(), 5))] {
                store.versions(VersionFilter { name: name.clone(), state, after, limit: 5 }).await.expect("a list");
            }
        }
    }
    store.version(&"w".into(), None).await.expect("an answer");
    let tags = || BTreeSet::from(["x".into(), "y".into()]);
    for status in [None, Some(ServerStatus::Error)] {
        for tagged in [None, Some(Tagged::Any(tags())), Some(Tagged::All(tags()))] {
            let filter = ServerFilter { status, auto_connect: None, tagged, offset: 5, limit: 5 };
            store.servers(filter).await.expect("a list");
        }
    }
    for workflow in [None, Some("w".into())] {
        for escalation in [None, Some(EscalationId("q".into()))] {
            for after in [None, Some((Moment(5), TraceId("t".into())))] {
                let filter =
                    TraceFilter { workflow: workflow.clone(), escalation: escalation.clone(), after, limit: 5, ..TraceFilter::default() };
                store.traces(filter).await.expect("a list");
            }
        }
    }
    store.trace_document(&TraceId("t".into())).await.expect("an answer");
    store.prune_traces(Moment(5)).await.expect("nothing goes");
    let plans = plans.lock().expect("no test panics here");
    assert!(plans.len() > 30, "{plans:#?}");
    for plan in plans.iter() {
        let is_ordered_scan = plan.starts_with("SCAN") && plan.contains("USING INDEX") && plan.contains("LIMIT");
        // The runs that are under way: no more than the processes together have at once.
        let is_ordered_scan = is_ordered_scan || plan.ends_with("<- SELECT DISTINCT worker FROM runs WHERE status = 'running'");
        let is_bad = plan.starts_with("USE TEMP B-TREE") || plan.starts_with("SCAN");
        // What a statement brings along, and no table.
        let is_of_values = plan.starts_with("SCAN v ") || plan.contains("CONSTANT ROW");
        assert!(!is_bad || is_ordered_scan || is_of_values, "{plan}");
    }
}
