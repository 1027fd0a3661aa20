//! What is no recording, or half of one.

use super::{object, read, recording, wrongs};
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_compiler::{Options, compile, ingest};
use ltc_workflow::Value;
use std::time::{Duration, Instant};

/// The error of `code` for these bytes.
fn refused(bytes: &[u8], code: &str) -> Diagnostic {
    let shown = String::from_utf8_lossy(bytes.get(..80).unwrap_or(bytes)).into_owned();
    let errors = read(bytes).err().unwrap_or_else(|| panic!("{shown} is read"));
    assert!(errors.iter().any(|d| d.severity == Severity::Error), "{shown}: {errors:?}");
    let found = errors.iter().find(|d| d.code == code);
    found.unwrap_or_else(|| panic!("{shown} is no `{code}` but {errors:?}")).clone()
}

const WHOLE: &str = r#"{"format": "ltc.trace/1",
  "calls": [
    {"tool": "find", "arguments": {"name": "Ada"}, "result": {"content": [{"type": "text", "text": "{\"id\": 7}"}]}}]}"#;

#[test]
fn a_file_that_is_cut_off_is_refused_wherever_it_ends() {
    assert!(read(WHOLE.as_bytes()).is_ok());
    for end in 1..WHOLE.len() {
        let errors = read(&WHOLE.as_bytes()[..end]).expect_err("it is cut off");
        let first = errors.first().expect("a reason");
        assert!(first.place.starts_with("recording.json: line "), "cut at byte {end}: {first:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let mut bytes = WHOLE.as_bytes().to_vec();
    bytes[60] = 0xff;
    assert_eq!(refused(&bytes, "invalid-utf8").place, "recording.json: byte 60");
    let wide: Vec<u8> = "\u{feff}[]".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(refused(&wide, "invalid-utf8").place, "recording.json: byte 0");
    let marked = [b"\xef\xbb\xbf", WHOLE.as_bytes()].concat();
    assert!(read(&marked).is_ok(), "a byte order mark is no part of the text");
}

#[test]
fn what_json_does_not_know_is_refused_with_line_and_column() {
    for (bad, column) in
        [("NaN", 52), ("Infinity", 52), ("01", 53), ("1.", 54), ("+1", 52), ("'x'", 52), (r#""\ud800""#, 59), ("undefined", 52)]
    {
        let text = WHOLE.replace("\"Ada\"", bad);
        let place = refused(text.as_bytes(), "invalid-json").place;
        let line = place.strip_prefix("recording.json: line 3 column ").unwrap_or_else(|| panic!("{bad}: {place}"));
        let found: usize = line.parse().expect("a column");
        assert!(found.abs_diff(column) <= 8, "{bad}: {place}");
    }
}

#[test]
fn a_key_that_is_there_twice_is_refused() {
    let text = WHOLE.replace(r#""name": "Ada""#, r#""name": "Ada", "name": "Bob""#);
    let error = refused(text.as_bytes(), "invalid-json");
    assert!(error.message.contains("\"name\"") && error.place.contains("line 3"), "{error:?}");
    let inside = WHOLE.replace(r#"{\"id\": 7}"#, r#"{\"id\": 7, \"id\": 8}"#);
    let traces = read(inside.as_bytes()).expect("in a text it is text");
    assert_eq!(wrongs(&traces).1, Vec::<String>::new());
}

#[test]
fn deep_nesting_is_refused_and_overflows_nothing() {
    for depth in [127, 200, 100_000] {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let text = WHOLE.replace("\"Ada\"", &deep);
            let errors = read(text.as_bytes()).expect_err("it is too deep");
            assert!(errors.iter().any(|d| d.code == "invalid-json" || d.code == "too-deep"), "{errors:?}");
            assert!(read(deep.as_bytes()).is_err());
            let in_text = WHOLE.replace(r#"{\"id\": 7}"#, &deep.replace('"', "\\\""));
            assert_eq!(wrongs(&read(in_text.as_bytes()).expect("in a text it is text")).1, Vec::<String>::new());
            let cut = WHOLE.replace("\"Ada\"", &open.repeat(depth));
            assert!(read(cut.as_bytes()).is_err());
        }
    }
    let yaml = format!("format: ltc.trace/1\ncalls: {}", "[".repeat(100_000));
    assert!(read(yaml.as_bytes()).is_err());
}

#[test]
fn what_has_no_calls_says_so() {
    assert_eq!(refused(b"", "empty-file").place, "recording.json");
    assert_eq!(refused(b" \n\t ", "empty-file").place, "recording.json");
    refused(br#"{"format": "ltc.trace/1", "calls": []}"#, "no-tool-calls");
    refused(br#"{"format": "ltc.trace/1"}"#, "no-tool-calls");
    refused(br#"{"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]}"#, "no-tool-calls");
    for other in ["{}", "[]", "7", "\"text\"", "null", "[[[]]]", r#"{"a": 1}"#, "just words", "%PDF-1.7", "<html></html>"] {
        let errors = read(other.as_bytes()).expect_err(other);
        assert!(errors.iter().any(|d| d.severity == Severity::Error && !d.message.is_empty()), "{other}: {errors:?}");
    }
    refused(br#"{"format": "ltc.trace/9", "calls": [{"tool": "x"}]}"#, "unknown-version");
}

#[test]
fn a_wrong_type_names_its_pointer() {
    for (good, bad, pointer) in [
        (r#""tool": "find""#, r#""tool": 7"#, "/calls/0/tool"),
        (r#"{"name": "Ada"}"#, r#"["name"]"#, "/calls/0/arguments"),
        (r#"[{"type": "text", "text": "{\"id\": 7}"}]"#, "7", "/calls/0/result/content"),
        (r#"{"content""#, r#"{"isError": "no", "content""#, "/calls/0/result/isError"),
    ] {
        let text = WHOLE.replace(good, bad);
        assert_ne!(text, WHOLE, "{good} is there");
        let error = refused(text.as_bytes(), "wrong-type");
        assert!(error.place.ends_with(pointer), "{error:?}");
    }
    let error = refused(WHOLE.replace(r#""tool": "find", "#, "").as_bytes(), "missing-field");
    assert!(error.place.contains("/calls/0") && error.message.contains("tool"), "{error:?}");
}

/// A conversation in OpenAI's format: calls by id, and results by the id that they belong to.
fn chat(calls: &[(&str, &str)], results: &[(&str, &str)]) -> String {
    let calls = calls.iter().map(|(id, tool)| {
        let function = object([("name", Value::from(*tool)), ("arguments", Value::from("{}"))]);
        object([("id", Value::from(*id)), ("type", Value::from("function")), ("function", function)])
    });
    let asked = object([("role", Value::from("assistant")), ("tool_calls", calls.collect())]);
    let results = results
        .iter()
        .map(|(id, text)| object([("role", Value::from("tool")), ("tool_call_id", Value::from(*id)), ("content", Value::from(*text))]));
    let messages = std::iter::once(asked).chain(results).collect();
    ltc_workflow::json::to_string(&object([("messages", messages)]))
}

#[test]
fn results_without_calls_calls_without_results_and_two_of_one_id() {
    let noted = |text: &str| ingest::read("chat.json", text.as_bytes(), None).expect("it is read");
    let stray = noted(&chat(&[("a", "one")], &[("zzz", "lost"), ("a", "ok")]));
    assert!(stray.notes.iter().any(|n| n.code == "result-without-call" && n.message.contains("zzz")), "{:?}", stray.notes);
    assert_eq!(wrongs(&stray.traces).1, Vec::<String>::new());

    let open = noted(&chat(&[("a", "one"), ("b", "two")], &[("a", "ok")]));
    let refused = compile(&open.traces, &Options::default());
    assert!(refused.workflow.is_none());
    assert!(refused.diagnostics.iter().any(|d| d.code == "unfinished-run" && d.place.contains("call b")), "{:?}", refused.diagnostics);
    assert!(compile(&open.traces, &Options { partial: true, ..Options::default() }).workflow.is_some());

    let twice = noted(&chat(&[("a", "one"), ("a", "two")], &[("a", "first"), ("a", "second")]));
    let ids: Vec<&str> = twice.traces.iter().flat_map(|t| &t.calls).map(|c| c.id.as_str()).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids.first(), ids.last());
    assert!(twice.notes.iter().any(|n| n.code == "same-id"), "{:?}", twice.notes);

    let second = noted(&chat(&[("a", "one")], &[("a", "first"), ("a", "second")]));
    assert!(second.notes.iter().any(|n| n.code == "second-result"), "{:?}", second.notes);

    let ours = recording(&object([]), &[("s", "t", object([]), "ok"), ("s", "t", object([]), "ok")]);
    let same = noted(&ours.replace(r#"{"server""#, r#"{"id":"same","server""#));
    assert!(same.notes.iter().any(|n| n.code == "same-id" && n.message.contains("same")), "{:?}", same.notes);
    assert_eq!(wrongs(&same.traces).1, Vec::<String>::new());
}

#[test]
fn a_large_file_takes_its_time_and_no_more() {
    large(4_000_000, Duration::from_secs(60));
}

#[test]
#[ignore = "takes a minute and some gigabytes: cargo test --release -p ltc-compiler --test hostile -- --ignored"]
fn a_file_of_200_mb_is_compiled() {
    large(200_000_000, Duration::from_secs(120));
}

/// One result of so many bytes: words, and the value that the next call uses.
fn large(bytes: usize, at_most: Duration) {
    let words = "the quick brown fox 4711 jumps-over usr_12ab ".repeat(bytes / 45);
    let text = format!("{words}\nTicket: TCK-99812\n");
    let ticket = object([("ticket", Value::from("TCK-99812"))]);
    let file =
        recording(&object([]), &[("desk", "search", object([("query", Value::from("fox"))]), &text), ("desk", "close", ticket, "ok")]);
    let start = Instant::now();
    let (compilation, wrong) = wrongs(&read(file.as_bytes()).expect("it is read"));
    assert_eq!(wrong, Vec::<String>::new());
    assert!(compilation.workflow.is_some());
    assert!(start.elapsed() < at_most, "{:?}", start.elapsed());
}

#[test]
fn numbers_that_are_too_far_apart_to_be_counted_are_numbers() {
    let page =
        |number: i64| ("s", "list", object([("page", Value::from(number)), ("of", Value::from("inv_8f3k2m1x"))]), r#"{"items": [1]}"#);
    let (far, near) = ([page(i64::MIN), page(i64::MAX), page(0)], [page(i64::MAX - 1), page(i64::MAX)]);
    for calls in [far.as_slice(), near.as_slice()] {
        let traces = read(recording(&object([]), calls).as_bytes()).expect("it is read");
        assert_eq!(wrongs(&traces).1, Vec::<String>::new());
    }
}

#[test]
fn a_secret_that_the_task_says_is_in_no_name_and_no_description() {
    let secret = "sk-Ab3dEf6hIj9lMn2pQr5t";
    let text = recording(&object([]), &[("s", "login", object([("api_key", Value::from(secret))]), "ok")]);
    let text = text.replacen(r#""calls""#, &format!(r#""task":"Use {secret} to log in.","calls""#), 1);
    let (compilation, wrong) = wrongs(&read(text.as_bytes()).expect("it is read"));
    assert_eq!(wrong, Vec::<String>::new());
    let workflow = compilation.workflow.expect("it is compiled");
    let shown = ltc_workflow::yaml::print(&workflow) + &compilation.explanation.to_text();
    assert!(!shown.to_lowercase().contains("ab3def6h"), "{shown}");
    assert_eq!(workflow.secrets, ["S_API_KEY"]);
}
