//! Laws of MCP servers in the registry.

use crate::place::{Place, json};
use crate::runs::MANY;
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{Found, ServerChange, ServerEntry, ServerFilter, ServerName, ServerRecord, ServerStatus, Store, Tagged};
use ltc_workflow::document::Transport;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

fn name(text: &str) -> ServerName {
    ServerName(SmolStr::new(text))
}

fn tags(list: &[&str]) -> BTreeSet<SmolStr> {
    list.iter().copied().map(SmolStr::new).collect()
}

fn stdio(command: &str) -> Transport {
    let env = BTreeMap::from([("TOKEN".to_owned(), "${GITHUB_TOKEN}".to_owned())]);
    Transport::Stdio { command: command.to_owned(), args: vec!["-y".to_owned(), "${HOME}/x".to_owned()], env, cwd: None }
}

fn entry(server: &str, own: &[&str]) -> ServerEntry {
    ServerEntry {
        name: name(server),
        description: None,
        transport: stdio("npx"),
        auto_connect: false,
        tags: tags(own),
        compile_hints: None,
        metadata: None,
    }
}

const ALL: ServerFilter = ServerFilter { status: None, auto_connect: None, tagged: None, offset: 0, limit: 100 };

async fn added(store: &dyn Store, entry: ServerEntry) -> ServerRecord {
    store.add_server(entry, Moment(1000)).await.expect("an answer").expect("the name is free")
}

async fn names(store: &dyn Store, filter: ServerFilter) -> Vec<String> {
    store.servers(filter).await.expect("a list").into_iter().map(|record| record.entry.name.0.into()).collect()
}

pub async fn a_server_is_read_as_it_was_written(place: Place) {
    let store = place.open().await;
    let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer ${TOKEN}".to_owned())]);
    let http = |sse| Transport::Http { url: "https://host/${PATH_PART}".to_owned(), headers: headers.clone(), sse };
    let in_folder = Transport::Stdio { command: "c".to_owned(), args: Vec::new(), env: BTreeMap::new(), cwd: Some("/w".to_owned()) };
    for (index, transport) in [stdio("npx"), in_folder, http(false), http(true)].into_iter().enumerate() {
        let new = ServerEntry {
            name: name(&format!("s{index}")),
            description: Some("what it\0is \u{1} for\n".to_owned()),
            transport,
            auto_connect: index % 2 == 1,
            tags: tags(&["a,b", "{c}", "\"d\"", "\\e", "NULL", "", "f\0g", "h\ni", "Ä🙂"]),
            compile_hints: Some(json(r#"{"volatile":["updated_at"],"n":123456789012345678901234567890}"#)),
            metadata: Some(json(r#"{"b":1.10,"a":[1e400,"\u0000"]}"#)),
        };
        let record = added(&*store, new.clone()).await;
        assert_eq!(record.entry, new);
        assert_eq!((record.status, record.tools.as_ref(), record.revision), (ServerStatus::Registered, None, 1));
        assert_eq!((record.created_at, record.updated_at, record.last_connected_at), (Moment(1000), Moment(1000), None));
        assert_eq!(place.open().await.server(&new.name).await, Ok(Some(record)));
    }
    assert_eq!(store.server(&name("s9")).await, Ok(None));
}

pub async fn a_name_is_given_once(place: Place) {
    let stores = [place.open().await, place.open().await];
    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..10_usize {
        let store = stores[index % 2].clone();
        tasks.spawn(async move { store.add_server(ServerEntry { auto_connect: true, ..entry("one", &[]) }, Moment(index as i64)).await });
    }
    let made: Vec<ServerRecord> = tasks.join_all().await.into_iter().filter_map(|answer| answer.expect("an answer")).collect();
    assert_eq!(made.len(), 1);
    assert_eq!(stores[0].server(&name("one")).await, Ok(Some(made[0].clone())));
    assert_eq!(stores[0].server_changes().await, Ok(1));
    assert_eq!((stores[1].remove_server(&name("one")).await, stores[0].remove_server(&name("one")).await), (Ok(true), Ok(false)));
    assert_eq!(stores[0].server_changes().await, Ok(2));
    // The name is free again, and nothing of the old one is left.
    let again = added(&*stores[0], entry("one", &["new"])).await;
    assert_eq!((again.revision, again.entry.tags), (1, tags(&["new"])));
}

pub async fn servers_are_found_by_what_is_known_of_them(place: Place) {
    let store = place.open().await;
    for (server, own) in [("b", &["x", "y"][..]), ("a", &["x"]), ("C", &["y", "z"]), ("d", &[])] {
        added(&*store, ServerEntry { auto_connect: server == "b", ..entry(server, own) }).await;
    }
    store.note_server(&name("a"), 1, Found::Failed("gone".to_owned()), Moment(2)).await.expect("an answer").expect("it is there");
    let found = async |filter: ServerFilter| names(&*store, filter).await.join(" ");
    let any = |list: &[&str]| ServerFilter { tagged: Some(Tagged::Any(tags(list))), ..ALL };
    let all = |list: &[&str]| ServerFilter { tagged: Some(Tagged::All(tags(list))), ..ALL };
    assert_eq!(found(ALL).await, "C a b d");
    assert_eq!(found(any(&["x"])).await, "a b");
    assert_eq!(found(any(&["x", "z"])).await, "C a b");
    assert_eq!(found(any(&["nobody"])).await, "");
    assert_eq!(found(any(&[])).await, "C a b d");
    assert_eq!(found(all(&["x", "y"])).await, "b");
    assert_eq!(found(all(&["x", "z"])).await, "");
    assert_eq!(found(all(&[])).await, "C a b d");
    assert_eq!(found(ServerFilter { status: Some(ServerStatus::Error), ..ALL }).await, "a");
    assert_eq!(found(ServerFilter { status: Some(ServerStatus::Error), ..all(&["y"]) }).await, "");
    assert_eq!(found(ServerFilter { auto_connect: Some(true), ..any(&["y"]) }).await, "b");
    assert_eq!(found(ServerFilter { auto_connect: Some(false), ..ALL }).await, "C a d");
    assert_eq!(found(ServerFilter { limit: 2, offset: 1, ..ALL }).await, "a b");
    assert_eq!(found(ServerFilter { limit: 2, offset: 4, ..ALL }).await, "");
}

pub async fn a_change_keeps_what_it_leaves_out(place: Place) {
    let stores = [place.open().await, place.open().await];
    let server = name("s");
    let full = ServerEntry { description: Some("old".to_owned()), metadata: Some(json("{}")), ..entry("s", &["x"]) };
    added(&*stores[0], full.clone()).await;
    let tools = json(r#"[{"name":"t"}]"#);
    stores[0].note_server(&server, 1, Found::Connected { tools: tools.clone() }, Moment(5)).await.expect("an answer").expect("it is there");
    // Two change different parts at once.
    let tagging = ServerChange { tags: Some(tags(&["y"])), ..ServerChange::default() };
    let describing = ServerChange { description: Some(Some("new".to_owned())), metadata: Some(None), ..ServerChange::default() };
    let (one, two) =
        tokio::join!(stores[0].update_server(&server, tagging, Moment(6)), stores[1].update_server(&server, describing, Moment(6)));
    assert!(one.expect("an answer").is_some() && two.expect("an answer").is_some());
    let now = stores[0].server(&server).await.expect("an answer").expect("it is there");
    assert_eq!(now.entry, ServerEntry { description: Some("new".to_owned()), metadata: None, tags: tags(&["y"]), ..full });
    assert_eq!((now.status, now.tools, now.revision, now.updated_at), (ServerStatus::Connected, Some(tools), 3, Moment(6)));
    assert_eq!(names(&*stores[0], ServerFilter { tagged: Some(Tagged::Any(tags(&["x"]))), ..ALL }).await, Vec::<String>::new());
    // Reached in another way, nothing is known of it.
    let moved = ServerChange { transport: Some(stdio("uvx")), ..ServerChange::default() };
    let moved = stores[0].update_server(&server, moved, Moment(7)).await.expect("an answer").expect("it is there");
    assert_eq!((moved.status, &moved.tools, moved.last_connected_at, moved.revision), (ServerStatus::Registered, &None, None, 4));
    assert_eq!(stores[1].server(&server).await, Ok(Some(moved.clone())));
    // What changes nothing is no change.
    let before = stores[0].server_changes().await;
    let same = ServerChange { transport: Some(stdio("uvx")), auto_connect: Some(false), ..ServerChange::default() };
    assert_eq!(stores[0].update_server(&server, same, Moment(8)).await, Ok(Some(moved)));
    assert_eq!(stores[0].server_changes().await, before);
    assert_eq!(stores[0].update_server(&name("other"), ServerChange::default(), Moment(8)).await, Ok(None));
}

pub async fn what_was_found_belongs_to_what_was_asked_for(place: Place) {
    let store = place.open().await;
    let server = name("s");
    added(&*store, entry("s", &[])).await;
    let note =
        async |revision: u64, found: Found, at: i64| store.note_server(&server, revision, found, Moment(at)).await.expect("an answer");
    let state = |record: &ServerRecord| (record.status, record.tools.is_some(), record.last_error.clone(), record.last_connected_at);
    let untried = note(1, Found::Disconnected, 2).await.expect("it is there");
    assert_eq!(state(&untried), (ServerStatus::Registered, false, None, None));
    let failed = note(1, Found::Failed("no\0 way".to_owned()), 3).await.expect("it is there");
    assert_eq!(state(&failed), (ServerStatus::Error, false, Some("no\0 way".to_owned()), None));
    let there = note(1, Found::Connected { tools: json("[1.0]") }, 4).await.expect("it is there");
    assert_eq!(state(&there), (ServerStatus::Connected, true, None, Some(Moment(4))));
    let away = note(1, Found::Failed("gone".to_owned()), 5).await.expect("it is there");
    assert_eq!(state(&away), (ServerStatus::Error, true, Some("gone".to_owned()), Some(Moment(4))));
    let let_go = note(1, Found::Disconnected, 6).await.expect("it is there");
    assert_eq!(state(&let_go), (ServerStatus::Disconnected, true, None, Some(Moment(4))));
    assert_eq!((let_go.revision, let_go.updated_at, &let_go.tools), (1, Moment(1000), &Some(json("[1.0]"))));
    let changes = store.server_changes().await.expect("a number");
    // Somebody changed it while it was being tried.
    store.update_server(&server, ServerChange { auto_connect: Some(true), ..ServerChange::default() }, Moment(7)).await.expect("an answer");
    assert_eq!(note(1, Found::Failed("old news".to_owned()), 8).await, None);
    assert_eq!(store.server_changes().await, Ok(changes + 1));
    store.remove_server(&server).await.expect("an answer");
    assert_eq!(note(2, Found::Failed("gone".to_owned()), 9).await, None);
}

pub async fn ten_thousand_servers_are_found_quickly(place: Place) {
    let store = place.open().await;
    added(&*store, entry("s", &[])).await;
    let (column, value) = match &place {
        Place::Sqlite(_) => ("", ""),
        Place::Postgres(_) => (", tags", ", ARRAY['all', 't' || i]"),
    };
    let columns = "transport, configuration, auto_connect, status, revision, created_at, updated_at";
    place.sql(&format!("INSERT INTO lt_mcp_servers (name, {columns}{column}) {MANY} SELECT 's' || i, transport, configuration, 0, status, 1, 1, 1{value} FROM n, lt_mcp_servers")).await;
    if let Place::Sqlite(_) = &place {
        for tag in ["'all'", "'t' || i"] {
            place.sql(&format!("INSERT INTO lt_mcp_server_tags (server, tag) {MANY} SELECT 's' || i, {tag} FROM n")).await;
        }
    }
    let begun = Instant::now();
    for index in 1..=50 {
        let tag = format!("t{index}");
        let one = |tagged| ServerFilter { tagged: Some(tagged), ..ALL };
        let expected = [format!("s{index}")];
        assert_eq!(names(&*store, one(Tagged::Any(tags(&[&tag])))).await, expected);
        assert_eq!(names(&*store, one(Tagged::All(tags(&[&tag, "all"])))).await, expected);
        assert_eq!(names(&*store, ServerFilter { status: Some(ServerStatus::Registered), ..ALL }).await.len(), 100);
    }
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}
