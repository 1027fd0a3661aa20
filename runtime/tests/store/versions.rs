//! Laws of versions of workflows.

use crate::place::{Place, definition, json};
use crate::runs::MANY;
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{MadeOf, NewVersion, Solution, Store, TraceId, VersionFilter, VersionState};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

fn version(name: &str, text: &str, state: VersionState) -> NewVersion {
    NewVersion {
        name: name.into(),
        definition: definition(text),
        description: Some(format!("{text}\0")),
        state,
        made_of: None,
        at: Moment(7),
    }
}

const ALL: VersionFilter = VersionFilter { name: None, state: None, after: None, limit: 100 };

pub async fn numbers_are_given_once(place: Place) {
    let stores = [place.open().await, place.open().await];
    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..30 {
        let store = stores[index % 2].clone();
        tasks.spawn(
            async move { store.put_version(version("w", &format!("text {index}"), VersionState::Active)).await.expect("a version") },
        );
    }
    let made = tasks.join_all().await;
    let numbers: BTreeSet<u32> = made.iter().map(|record| record.version).collect();
    assert_eq!(numbers, (1..=30).collect());
    let active = stores[1].versions(VersionFilter { state: Some(VersionState::Active), ..ALL }).await.expect("a list");
    assert_eq!(active.iter().map(|record| record.version).collect::<Vec<_>>(), [30]);
    assert_eq!(stores[0].registry_changes().await, Ok(30));
    for record in made {
        let there = stores[0].version(&"w".into(), Some(record.version)).await.expect("an answer").expect("a version");
        let state = if record.version == 30 { VersionState::Active } else { VersionState::Deployed };
        assert_eq!((there.definition, there.state, there.created_at), (record.definition, state, Moment(7)));
        assert_eq!(there.description, record.description);
    }
}

pub async fn one_version_is_active(place: Place) {
    let store = place.open().await;
    let name = "w".into();
    let state = async |number: u32| store.version(&name, Some(number)).await.expect("an answer").map(|record| record.state);
    assert_eq!(store.version(&name, None).await, Ok(None));
    assert_eq!(store.registry_changes().await, Ok(0));
    let first = store.put_version(version("w", "one", VersionState::Draft)).await.expect("a version");
    assert_eq!((first.version, first.state), (1, VersionState::Draft));
    assert_eq!(store.version(&name, None).await, Ok(None));
    assert_eq!(store.registry_changes().await, Ok(1));
    // The newest again: its state changes, and nothing else.
    let again = store.put_version(NewVersion { at: Moment(8), ..version("w", "one", VersionState::Active) }).await.expect("a version");
    assert_eq!((again.version, again.state, again.created_at), (1, VersionState::Active, Moment(7)));
    assert_eq!(store.version(&name, None).await, Ok(Some(again)));
    assert_eq!(store.registry_changes().await, Ok(2));
    // Nothing changes, and nothing is counted.
    store.put_version(version("w", "one", VersionState::Active)).await.expect("a version");
    assert_eq!(store.registry_changes().await, Ok(2));

    let second = store.put_version(version("w", "two", VersionState::Active)).await.expect("a version");
    assert_eq!((second.version, state(1).await, state(2).await), (2, Some(VersionState::Deployed), Some(VersionState::Active)));
    // An older definition is a new version.
    let third = store.put_version(version("w", "one", VersionState::Deployed)).await.expect("a version");
    assert_eq!((third.version, state(2).await), (3, Some(VersionState::Active)));
    let back = store.set_version_state(&name, 1, VersionState::Active).await.expect("an answer").expect("a version");
    assert_eq!(back.state, VersionState::Active);
    assert_eq!(
        (state(1).await, state(2).await, state(3).await),
        (Some(VersionState::Active), Some(VersionState::Deployed), Some(VersionState::Deployed))
    );
    assert_eq!(store.registry_changes().await, Ok(5));
    store.set_version_state(&name, 1, VersionState::Archived).await.expect("an answer").expect("a version");
    assert_eq!(store.version(&name, None).await, Ok(None));
    assert_eq!(store.set_version_state(&name, 4, VersionState::Active).await, Ok(None));
    assert_eq!(store.set_version_state(&"other".into(), 1, VersionState::Active).await, Ok(None));
    assert_eq!(store.registry_changes().await, Ok(6));
    assert_eq!(store.definition(&definition("two").id).await, Ok(Some(definition("two"))));
}

pub async fn versions_are_listed_in_order(place: Place) {
    let store = place.open().await;
    // Every tenth has three versions; names are ordered by their bytes, whatever the language of the database is.
    let count = |index: usize| if index.is_multiple_of(10) { 3 } else { 1 };
    let names: Vec<String> = (0..60).map(|index| format!("{}{index:03}", ["a", "B", "é", "_"][index % 4])).collect();
    for (index, name) in names.iter().enumerate() {
        for number in 0..count(index) {
            store.put_version(version(name, &format!("{number}"), VersionState::Active)).await.expect("a version");
        }
    }
    let all = names.iter().enumerate().flat_map(|(index, name)| (1..=count(index)).map(|number| (name.clone(), number)));
    let mut all: Vec<(String, u32)> = all.collect();
    all.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    for limit in [1, 7, 1000] {
        assert_eq!(paged(&*store, VersionFilter { limit, ..ALL }).await, all, "pages of {limit}");
    }
    let active = paged(&*store, VersionFilter { state: Some(VersionState::Active), limit: 11, ..ALL }).await;
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(active.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), sorted);
    let of_one = paged(&*store, VersionFilter { name: Some("a000".into()), limit: 2, ..ALL }).await;
    assert_eq!(of_one.into_iter().map(|(_, number)| number).collect::<Vec<_>>(), [3, 2, 1]);
}

pub async fn ten_thousand_workflows_are_listed_quickly(place: Place) {
    let store = place.open().await;
    store.put_version(version("w", "text", VersionState::Active)).await.expect("a version");
    place
        .sql(&format!(
            "INSERT INTO versions (name, version, definition, state, created_at) {MANY} \
             SELECT 'w' || i, 1, (SELECT definition FROM versions), 'active', i FROM n"
        ))
        .await;
    let begun = Instant::now();
    for index in 0..50 {
        let page = VersionFilter { after: Some((format!("w{index}").into(), 1)), ..ALL };
        assert_eq!(store.versions(page.clone()).await.expect("a list").len(), 100);
        assert_eq!(store.versions(VersionFilter { state: Some(VersionState::Active), ..page }).await.expect("a list").len(), 100);
        assert!(store.version(&format!("w{index}").into(), None).await.expect("an answer").is_some());
    }
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

async fn paged(store: &dyn Store, mut filter: VersionFilter) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    loop {
        let page = store.versions(filter.clone()).await.expect("a page");
        let Some(last) = page.last() else {
            return found;
        };
        filter.after = Some((last.name.clone(), last.version));
        found.extend(page.into_iter().map(|record| (record.name.to_string(), record.version)));
    }
}

pub async fn a_version_says_what_it_was_made_of(place: Place) {
    let store = place.open().await;
    let made_of = |traces: &[&str], hints: Option<&str>| {
        Some(MadeOf { traces: traces.iter().map(|id| TraceId((*id).into())).collect(), hints: hints.map(json) })
    };
    let draft = |made_of| NewVersion { made_of, ..version("w", "one", VersionState::Draft) };
    let first = made_of(&["b", "a\"\0"], Some(r#"{"s":{"inputs":["x"],"big":123456789012345678901234567890}}"#));
    store.put_version(draft(first.clone())).await.expect("a version");
    let there = async || store.version(&"w".into(), Some(1)).await.expect("an answer").expect("a version").made_of;
    assert_eq!(there().await, first);
    // Deployed as it is: what is not said stays.
    let deployed = store.put_version(version("w", "one", VersionState::Active)).await.expect("a version");
    assert_eq!((deployed.version, deployed.made_of), (1, first));
    // One recording more, and the same workflow came of it.
    let more = made_of(&["b", "a\"\0", "c"], None);
    let again = store.put_version(NewVersion { state: VersionState::Active, ..draft(more.clone()) }).await.expect("a version");
    assert_eq!((again.version, &again.made_of, there().await), (1, &more, more.clone()));
    let second = store.put_version(version("w", "two", VersionState::Draft)).await.expect("a version");
    assert_eq!((second.version, second.made_of, there().await), (2, None, more));
}

pub async fn a_step_has_one_solution(place: Place) {
    let store = place.open().await;
    let solution = |step: &str, solution: &str, at| Solution {
        workflow: "w".into(),
        step: step.into(),
        solution: solution.into(),
        trace: TraceId("t".into()),
        at: Moment(at),
    };
    let there = async |workflow: &str, step: &str| store.solution(&workflow.into(), &step.into()).await.expect("an answer");
    assert_eq!(there("w", "ask").await, None);
    for new in [solution("ask", "one", 1), solution("", "whole", 2), solution("ask", "two", 3)] {
        store.put_solution(&new).await.expect("it is kept");
    }
    assert_eq!(there("w", "ask").await, Some(solution("ask", "two", 3)));
    assert_eq!(there("w", "").await, Some(solution("", "whole", 2)));
    assert_eq!((there("w", "other").await, there("v", "ask").await), (None, None));
}
