//! The presets: each can be read by those who use it, and says all that it has to.

use ltc_compiler::hints;
use ltc_runtime::presets::{Preset, all};
use ltc_runtime::servers::{literal, read_transport};
use ltc_workflow::{Object, Value};
use std::collections::BTreeSet;

fn entry(preset: &Preset) -> Object {
    let words: Vec<String> = preset.parameters.iter().map(|parameter| format!("/the/{}", parameter.name)).collect();
    preset.entry(&words).expect("as many words as it takes")
}

#[test]
fn each_preset_is_one_of_a_kind_and_says_what_it_is() {
    let all = all().expect("they can be read");
    let names: Vec<&str> = all.iter().map(|preset| preset.name).collect();
    assert_eq!(names, ["browser", "everything", "fetch", "files", "git", "memory", "sqlite", "time"]);
    assert_eq!(all.iter().map(|preset| &preset.about).collect::<BTreeSet<_>>().len(), all.len());
    for preset in &all {
        assert!(preset.about.ends_with('.') && preset.tried.contains(' '), "{preset:?}");
        assert!(preset.parameters.iter().all(|parameter| parameter.about.len() > 10), "{preset:?}");
        assert!(preset.parameters.iter().rev().skip(1).all(|parameter| !parameter.is_many), "{}: words behind many", preset.name);
        let entry = entry(preset);
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().len();
        assert!(text("description") > 10, "{}", preset.name);
        let tags = entry.get("tags").and_then(Value::as_array).unwrap_or_default();
        assert!(tags.iter().any(|tag| tag.as_str() == Some("local") || tag.as_str() == Some("remote")), "{}", preset.name);
    }
}

#[test]
fn each_preset_can_be_started_and_no_word_is_lost() {
    for preset in all().expect("they can be read") {
        let entry = Value::Object(entry(&preset));
        let transport = read_transport(&entry, "").expect("a transport");
        assert_eq!(literal::secrets(preset.name, &transport), [], "{}", preset.name);
        let text = ltc_workflow::json::to_string(&entry);
        for parameter in &preset.parameters {
            assert!(text.contains(&format!("\"/the/{}\"", parameter.name)), "{} takes no {}", preset.name, parameter.name);
            assert!(!text.contains(&format!("{{{}}}", parameter.name)), "{} keeps a place for {}", preset.name, parameter.name);
        }
    }
}

#[test]
fn the_compiler_reads_the_hints_of_each_preset() {
    for preset in all().expect("they can be read") {
        let entry = entry(&preset);
        let written = entry.get("compile_hints").expect("it has hints");
        let read = hints::read(written, "").unwrap_or_else(|problems| panic!("{}: {problems:?}", preset.name));
        assert!(!read.effects.is_empty(), "{}", preset.name);
        // What a hint says is about a tool that it knows.
        let tools: BTreeSet<_> = read.effects.keys().collect();
        let of_retries = read.retry.iter().flat_map(|retry| retry.tools.iter().flatten());
        for tool in read.ignore.iter().chain(&read.keep).chain(&read.fresh).chain(of_retries) {
            assert!(tools.contains(tool), "{}: {tool}", preset.name);
        }
    }
}
