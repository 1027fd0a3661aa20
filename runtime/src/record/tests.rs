//! What is written for what passed, and what is never written.

use super::*;
use crate::clock::Micros;
use crate::secrets::Redactor;
use ltc_workflow::document::Transport;
use ltc_workflow::json;

struct Quiet;

impl Log for Quiet {
    fn learn(&self, _secrets: &Redactor) {}

    fn server_said(&self, server: &str, line: &str) {
        panic!("{server}: {line}");
    }

    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}

struct Desk {
    folder: tempfile::TempDir,
    recorder: Recorder,
}

impl Desk {
    fn new(described: Described) -> Desk {
        let folder = tempfile::tempdir().expect("a folder");
        let sink = FileSink::open(&folder.path().join("r.jsonl")).expect("a file");
        let recorder = Recorder::begin(Box::new(sink), None, vec![("desk".into(), described)], Arc::new(Quiet)).expect("it begins");
        Desk { folder, recorder }
    }

    fn call(&self, tool: &str, arguments: &str, outcome: Outcome) {
        let arguments = json::parse(arguments.as_bytes()).expect("JSON").as_object().expect("an object").clone();
        let call = Call { tool: tool.into(), arguments, outcome, started: Micros::now(), ended: Micros::now() };
        self.recorder.called("desk", &call);
        self.recorder.settle();
    }

    fn answers(&self, tool: &str, arguments: &str, result: &str) {
        self.call(tool, arguments, Outcome::Result(json::parse(result.as_bytes()).expect("JSON")));
    }

    fn written(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("r.jsonl")).expect("it is there")
    }

    /// A field of the last call.
    fn last(&self, key: &str) -> String {
        let text = self.written();
        let line = json::parse(text.lines().last().expect("a line").as_bytes()).expect("JSON");
        line.get(key).map(json::to_string).unwrap_or_default()
    }
}

fn desk() -> Desk {
    let transport = Transport::Stdio { command: "desk".into(), args: Vec::new(), env: BTreeMap::new(), cwd: None };
    Desk::new(Described::new(Some("desk".into()), &transport))
}

#[test]
fn a_call_is_there_when_it_has_ended_with_every_digit() {
    let desk = desk();
    desk.answers("t", r#"{"n":123456789012345678901234567890,"x":1.10}"#, r#"{"content":[],"structuredContent":{"y":1e400}}"#);
    let text = desk.written();
    assert!(text.starts_with(r#"{"format":"ltc.trace/1","id":"#), "{text}");
    assert_eq!(text.lines().nth(1), Some(r#"{"servers":{"desk":{"command":"desk"}}}"#));
    assert_eq!(desk.last("arguments"), r#"{"n":123456789012345678901234567890,"x":1.10}"#);
    assert_eq!(desk.last("result"), r#"{"content":[],"structuredContent":{"y":1e400}}"#);
    desk.call("t", "{}", Outcome::Error(json::parse(br#"{"code":-1,"message":"no"}"#).expect("JSON")));
    assert_eq!(desk.last("error"), r#"{"code":-1,"message":"no"}"#);
    assert_eq!(desk.recorder.calls(), 2);
}

#[test]
fn one_secret_is_one_stand_in_wherever_it_appears() {
    let desk = desk();
    desk.answers("echo", r#"{"note":"it was s3same-open before"}"#, r#"{"content":[]}"#);
    desk.answers("login", r#"{"password":"s3same-open"}"#, r#"{"content":[{"type":"text","text":"{\"got\":\"s3same-open\"}"}]}"#);
    assert_eq!(desk.last("arguments"), r#"{"password":"[secret DESK_PASSWORD]"}"#);
    assert_eq!(desk.last("result"), r#"{"content":[{"type":"text","text":"{\"got\":\"[secret DESK_PASSWORD]\"}"}]}"#);
    desk.answers("login", r#"{"password":"another one"}"#, r#"{"content":[]}"#);
    assert_eq!(desk.last("arguments"), r#"{"password":"[secret DESK_PASSWORD_2]"}"#);
    desk.answers("login", r#"{"password":"s3same-open","s3same-open":1}"#, r#"{"content":[]}"#);
    assert_eq!(desk.last("arguments"), r#"{"password":"[secret DESK_PASSWORD]","[secret DESK_PASSWORD]":1}"#);
    // Also where it was written before anybody knew that it is one.
    let text = desk.written();
    assert!(!text.contains("s3same") && !text.contains("another one"), "{text}");
    assert!(text.contains(r#"{"note":"it was [secret DESK_PASSWORD] before"}"#), "{text}");
}

#[test]
fn secrets_are_known_by_hint_by_schema_by_shape_and_inside_of_texts() {
    let hints = json::parse(br#"{"secret":{"pin":"DOOR_PIN"}}"#).expect("JSON");
    let transport = Transport::Http { url: "http://h/?api_key=abcdef123".into(), headers: BTreeMap::new(), sse: false };
    let desk = Desk::new(Described::new(Some("desk".into()), &transport).with_hints(hints));
    let tool = br#"{"name":"t","inputSchema":{"properties":{"code":{"type":"string","format":"password"},"in":{"properties":{"w":{"writeOnly":true}}}}}}"#;
    desk.recorder.listed("desk", &[json::parse(tool).expect("JSON")], true);
    let token = format!("ghp_{}", "a1".repeat(18));
    let arguments = format!(
        r#"{{"pin":48151,"code":"mellon","in":{{"w":"friend-word"}},"any":"{token}","url":"https://h/?token=zzz-1&p=2","list":["Bearer qwertyuiop123456"]}}"#
    );
    desk.answers("t", &arguments, r#"{"content":[{"type":"text","text":"mellon abcdef123 48151"}],"structuredContent":{"pin":48151}}"#);
    let expected = r#"{"pin":"[secret DOOR_PIN]","code":"[secret DESK_CODE]","in":{"w":"[secret DESK_W]"},"any":"[secret DESK_ANY]","url":"https://h/?token=[secret DESK_TOKEN]&p=2","list":["Bearer [secret DESK_TOKEN_2]"]}"#;
    assert_eq!(desk.last("arguments"), expected);
    let expected = r#"{"content":[{"type":"text","text":"[secret DESK_CODE] [secret API_KEY] [secret DOOR_PIN]"}],"structuredContent":{"pin":"[secret DOOR_PIN]"}}"#;
    assert_eq!(desk.last("result"), expected);
    assert!(desk.written().contains(r#""url":"http://h/?api_key=${API_KEY}""#), "{}", desk.written());
}

#[test]
fn a_token_that_a_tool_gives_is_the_one_that_the_next_call_takes() {
    let desk = desk();
    desk.answers("login", "{}", r#"{"content":[],"structuredContent":{"access_token":"tok-71b2","expires":"2026-01-02"}}"#);
    assert_eq!(
        desk.last("result"),
        r#"{"content":[],"structuredContent":{"access_token":"[secret DESK_ACCESS_TOKEN]","expires":"2026-01-02"}}"#
    );
    desk.answers("get", r#"{"session":"tok-71b2"}"#, r#"{"content":[]}"#);
    assert_eq!(desk.last("arguments"), r#"{"session":"[secret DESK_ACCESS_TOKEN]"}"#);
}

#[test]
fn the_configuration_has_variables_in_the_place_of_secrets() {
    let env =
        BTreeMap::from([("MY_TOKEN".to_owned(), "abc-123".to_owned()), ("A".to_owned(), "${B}".to_owned()), ("P".into(), "1".into())]);
    let args = ["--api-key", "k-1234", "--password=hunter22", "-v", "x"].map(str::to_owned).to_vec();
    let described = Described::new(None, &Transport::Stdio { command: "c".into(), args, env, cwd: None });
    let line = json::to_string(&described.line(&"s".into(), &[]));
    let expected = r#"{"servers":{"s":{"command":"c","args":["--api-key","${API_KEY}","--password=${PASSWORD}","-v","x"],"env":{"A":"${B}","MY_TOKEN":"${MY_TOKEN}","P":"1"}}}}"#;
    assert_eq!(line, expected);
    let secrets: Vec<(&str, &str)> = described.secrets.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(secrets, [("API_KEY", "k-1234"), ("PASSWORD", "hunter22"), ("MY_TOKEN", "abc-123")]);
}

#[test]
fn what_no_reader_would_take_is_not_written() {
    let desk = desk();
    let deep = format!("{}1{}", "[".repeat(120), "]".repeat(120));
    desk.answers("t", "{}", &format!(r#"{{"content":[],"structuredContent":{deep}}}"#));
    assert!(desk.last("error").contains("nested too deep"), "{}", desk.written());
    desk.answers("t", "{}", r#"{"content":[1,{"type":"text","text":"x"}],"isError":"yes"}"#);
    assert_eq!(desk.last("result"), r#"{"content":[{"type":"text","text":"x"}]}"#);
    desk.answers("t", "{}", "7");
    assert!(desk.last("error").contains("no result"), "{}", desk.written());
    desk.call("t", "{}", Outcome::Error(json::parse(br#"{"code":1e99,"message":[]}"#).expect("JSON")));
    assert_eq!(desk.last("error"), r#"{"code":0,"message":""}"#);
}

#[test]
fn a_file_is_added_to_and_nothing_else_is_touched() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r.jsonl");
    std::fs::write(&path, "{\"format\":\"ltc.trace/1\",\"id\":\"a\"}\n{\"tool\":\"t\",\"torn").expect("it is written");
    let begin = || FileSink::open(&path).map(|sink| Recorder::begin(Box::new(sink), None, Vec::new(), Arc::new(Quiet)));
    let first = begin().expect("it is a recording").expect("it begins");
    assert!(matches!(begin(), Err(Unusable::Taken)), "two write into one file");
    drop(first);
    drop(begin().expect("it is free again"));
    let text = std::fs::read_to_string(&path).expect("it is there");
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(!text.contains("torn"), "{text}");
    std::fs::write(&path, "something else").expect("it is written");
    assert!(matches!(begin(), Err(Unusable::Other)), "it is no recording");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "something else");
}
