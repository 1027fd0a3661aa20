//! What real recordings do to importers, and what hostile files would like to do: each trap with what has to come out.

use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_compiler::ingest::{self, Ingested};
use ltc_compiler::trace::{Body, Call, Outcome, Trace};
use ltc_workflow::{Value, json};

fn read(text: &str) -> Ingested {
    ingest::read("run.json", text.as_bytes(), None).unwrap_or_else(|problems| panic!("{text}: {problems:#?}"))
}

fn trace(text: &str) -> Trace {
    read(text).traces.remove(0)
}

fn problems(text: impl AsRef<[u8]>) -> Vec<Diagnostic> {
    match ingest::read("run.json", text.as_ref(), None) {
        Ok(read) => panic!("this was read: {read:#?}"),
        Err(problems) => problems,
    }
}

/// The first problem's code and place.
fn problem(text: impl AsRef<[u8]>) -> (&'static str, String) {
    let problems = problems(text);
    let first = problems.first().expect("a problem");
    assert_eq!(first.severity, Severity::Error);
    assert!(!first.message.is_empty());
    (first.code, first.place.clone())
}

fn codes(read: &Ingested) -> Vec<&'static str> {
    read.notes.iter().map(|n| n.code).collect()
}

fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).expect("valid JSON in a test")
}

fn names(trace: &Trace) -> Vec<String> {
    trace.calls.iter().map(|c| format!("{}/{}", c.server, c.tool)).collect()
}

fn decoded(call: &Call) -> Value {
    match &call.outcome {
        Outcome::Result(body) | Outcome::ToolError(body) => body.decode(),
        other => panic!("{} has no result: {other:?}", call.id),
    }
}

/// A chat of one call of `t` with these arguments and this result, in raw JSON.
fn chat(arguments: &str, result: &str) -> String {
    let call = format!(r#"{{"id":"c","type":"function","function":{{"name":"s__t","arguments":{arguments}}}}}"#);
    format!(r#"[{{"role":"assistant","tool_calls":[{call}]}},{{"role":"tool","tool_call_id":"c","content":{result}}}]"#)
}

// The seven traps of real data.

#[test]
fn layers_of_strings_are_peeled_to_what_the_server_returned() {
    let innermost = r#"{"object":"list","results":[{"id":"a-1"}]}"#;
    let result = format!(r#"{{"meta":null,"content":[{{"type":"text","text":{}}}],"isError":false}}"#, json::quote(innermost));
    let wrapped = format!(r#"{{"type":"text","text":{},"annotations":null}}"#, json::quote(&result));
    let items = format!(
        r#"[{{"type":"function_call","call_id":"c","name":"t","arguments":"{{}}"}},{{"type":"function_call_output","call_id":"c","output":{}}}]"#,
        json::quote(&wrapped)
    );
    let call = trace(&items).calls.remove(0);
    assert_eq!(call.outcome, Outcome::Result(Body::text(innermost)));
}

#[test]
fn a_wrap_in_structured_content_is_kept_for_decoding() {
    let text = "[{'schema_name': 'public'}]";
    let structured = format!(r#"{{"result":[{{"type":"text","text":{}}}]}}"#, json::quote(text));
    let result =
        format!(r#"{{"content":[{{"type":"text","text":{}}}],"structuredContent":{structured},"isError":false}}"#, json::quote(text));
    let call = trace(&format!(r#"{{"calls":[{{"tool":"t","result":{result}}}]}}"#)).calls.remove(0);
    assert_eq!(call.outcome, Outcome::Result(Body { structured: Some(value(&structured)), ..Body::text(text) }));
}

#[test]
fn python_reprs_are_read_where_a_harness_wrote_them_and_left_where_a_server_did() {
    let printed = "meta=None content=[TextContent(type='text', text='it\\'s \\\"{}\\\"', annotations=None)] isError=False";
    assert_eq!(trace(&chat("\"{}\"", &format!("\"{}\"", printed.replace('\\', "\\\\").replace("\\\\\"", "\\\"")))).calls.len(), 1);
    let servers_own = "[{'name': 'Album', 'price': Decimal('3.2')}]";
    let call = trace(&chat("\"{}\"", &json::quote(servers_own))).calls.remove(0);
    assert_eq!(call.outcome, Outcome::Result(Body::text(servers_own)));
}

#[test]
fn results_that_a_recorder_cut_off_are_said_to_be() {
    let cut = "[1,2\n\n(The output of the tool call (shortuuid identifier: x1) is too long! It was saved.)";
    assert_eq!(codes(&read(&chat("\"{}\"", &json::quote(cut)))), ["result-cut-off"]);
}

#[test]
fn words_that_sound_like_an_error_are_none() {
    for text in ["Error: no such user", "Failed banks, a list", "{\"error\":\"x\",\"status\":400}", "timeout"] {
        let call = trace(&chat("\"{}\"", &json::quote(text))).calls.remove(0);
        assert_eq!(call.outcome, Outcome::Result(Body::text(text)), "{text}");
    }
    let harness = "Error running tool s__t: Timed out";
    assert_eq!(trace(&chat("\"{}\"", &json::quote(harness))).calls[0].outcome, Outcome::ToolError(Body::text(harness)));
    let another = "Error running tool other: Timed out";
    assert_eq!(trace(&chat("\"{}\"", &json::quote(another))).calls[0].outcome, Outcome::Result(Body::text(another)));
}

#[test]
fn a_persons_no_is_no_error() {
    let line = |kind: &str, content: &str| {
        format!(r#"{{"type":"{kind}","uuid":"{kind}","sessionId":"s","message":{{"id":"m","role":"{kind}","content":[{content}]}}}}"#)
    };
    let call = line("assistant", r#"{"type":"tool_use","id":"c","name":"mcp__s__t","input":{}}"#);
    let outcome = |text: &str, is_error: bool| {
        let result = format!(r#"{{"type":"tool_result","tool_use_id":"c","content":{},"is_error":{is_error}}}"#, json::quote(text));
        trace(&format!("{call}\n{}\n", line("user", &result))).calls.remove(0).outcome
    };
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    assert_eq!(outcome(refusal, true), Outcome::Refused);
    assert_eq!(outcome(refusal, false), Outcome::Result(Body::text(refusal)));
    assert_eq!(
        outcome("<tool_use_error>File does not exist.</tool_use_error>", true),
        Outcome::ToolError(Body::text("File does not exist."))
    );
    let gemini = r#"{"sessionId":"s","projectHash":"h","messages":[{"type":"gemini","toolCalls":[{"id":"c","name":"run","args":{},"status":"cancelled"}]}]}"#;
    assert_eq!(trace(gemini).calls[0].outcome, Outcome::Refused);
}

#[test]
fn a_call_that_asks_for_input_or_becomes_a_task_is_one_call() {
    let request = |id: u32, extra: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{"a":1}}{extra}}}}}"#)
    };
    let asked = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{},"requestState":"st-9"}}"#;
    let answered = request(2, r#","requestState":"st-9","inputResponses":{"x":{}}"#);
    let done = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}]}}"#;
    let one = trace(&[&request(1, ""), asked, &answered, done].join("\n"));
    assert_eq!(one.calls.iter().map(|c| c.outcome.clone()).collect::<Vec<_>>(), [Outcome::Result(Body::text("done"))]);
    let other_state = answered.replace("st-9", "st-8");
    assert_eq!(trace(&[&request(1, ""), asked, &other_state, done].join("\n")).calls.len(), 2, "another state is another call");
    let task = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"k","status":"working"}}"#;
    let get = r#"{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"k"}}"#;
    let working = r#"{"jsonrpc":"2.0","id":2,"result":{"taskId":"k","status":"working"}}"#;
    let get_again = get.replace("\"id\":2", "\"id\":3");
    let ended =
        r#"{"jsonrpc":"2.0","id":3,"result":{"taskId":"k","status":"completed","result":{"content":[{"type":"text","text":"ended"}]}}}"#;
    let one = trace(&[&request(1, ""), task, get, working, &get_again, ended].join("\n"));
    assert_eq!(one.calls.iter().map(|c| c.outcome.clone()).collect::<Vec<_>>(), [Outcome::Result(Body::text("ended"))]);
}

// Ids, order and what is missing.

#[test]
fn results_find_their_calls_by_id_wherever_they_stand() {
    let call = |id: &str, n: u32| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"s__t","arguments":"{{\"n\":{n}}}"}}}}"#);
    let result = |id: &str, text: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#);
    let text = format!(
        r#"[{},{{"role":"assistant","tool_calls":[{},{}]}},{},{}]"#,
        result("late", "before its call"),
        call("a", 1),
        call("late", 2),
        result("nobody", "whose?"),
        result("a", "first")
    );
    let read = read(&text);
    let calls = &read.traces[0].calls;
    assert_eq!(calls.iter().map(decoded).collect::<Vec<_>>(), [Value::from("first"), Value::from("before its call")]);
    assert_eq!(codes(&read), ["result-without-call"]);
    assert!(read.notes[0].place.ends_with(" /2"), "{}", read.notes[0].place);
}

#[test]
fn two_calls_of_one_id_are_two_calls() {
    let call =
        |n: u32| format!(r#"{{"role":"assistant","tool_calls":[{{"id":"a","function":{{"name":"t","arguments":"{{\"n\":{n}}}"}}}}]}}"#);
    let result = |text: &str| format!(r#"{{"role":"tool","tool_call_id":"a","content":"{text}"}}"#);
    let read = read(&format!("[{},{},{},{},{}]", call(1), result("one"), call(2), result("two"), result("three")));
    let calls = &read.traces[0].calls;
    assert_eq!(calls.iter().map(|c| (c.id.as_str(), decoded(c))).collect::<Vec<_>>(), [("a", "one".into()), ("a~2", "two".into())]);
    assert_eq!(codes(&read), ["same-id", "second-result"]);
}

#[test]
fn calls_are_in_the_order_of_their_starts_only_where_every_call_has_one() {
    let call = |tool: &str, at: &str| format!(r#"{{"tool":"{tool}"{at}}}"#);
    let late = r#","started_at":"2030-01-01T00:00:02Z""#;
    let early = r#","started_at":"2030-01-01T01:00:01+01:00""#;
    assert_eq!(names(&trace(&format!(r#"{{"calls":[{},{}]}}"#, call("b", late), call("a", early)))), ["tools/a", "tools/b"]);
    assert_eq!(
        names(&trace(&format!(r#"{{"calls":[{},{},{}]}}"#, call("b", late), call("a", early), call("c", "")))),
        ["tools/b", "tools/a", "tools/c"]
    );
}

#[test]
fn a_call_without_a_result_is_missing_and_numbers_keep_their_digits() {
    let text = r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"t","arguments":"{\"n\": 123456789012345678901234567890, \"f\": 1.0, \"e\": 1E2}"}}]}]}"#;
    let call = trace(text).calls.remove(0);
    assert_eq!(call.outcome, Outcome::Missing);
    assert_eq!(json::to_string(&call.arguments.into()), r#"{"n":123456789012345678901234567890,"f":1.0,"e":1E2}"#);
}

#[test]
fn calls_with_unreadable_arguments_are_left_out_with_their_results() {
    let broken = chat(r#""{\"a\": NaN}""#, "\"never ran\"");
    let whole =
        format!(r#"[{},{}"#, r#"{"role":"assistant","tool_calls":[{"id":"ok","function":{"name":"t","arguments":""}}]}"#, &broken[1..]);
    let read = read(&whole);
    assert_eq!(names(&read.traces[0]), ["tools/t"]);
    assert_eq!(codes(&read), ["unreadable-arguments"]);
    assert_eq!(read.notes[0].severity, Severity::Question);
}

#[test]
fn several_runs_are_several_traces() {
    let run = |n: u32| format!(r#"{{"task_id":{n},"traj":{}}}"#, chat("\"{}\"", "\"x\""));
    assert_eq!(read(&format!("[{},{}]", run(1), run(2))).traces.iter().map(|t| t.id.clone().unwrap()).collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(read(&format!("{}\n{}\n", run(1), run(2))).traces.len(), 2);
}

// Files that are no recordings, or broken ones.

#[test]
fn broken_files_say_what_is_broken_and_where() {
    assert_eq!(problem(""), ("empty-file", "run.json".into()));
    assert_eq!(problem(" \n\t"), ("empty-file", "run.json".into()));
    assert_eq!(problem(b"{\"a\": \"\xff\"}"), ("invalid-utf8", "run.json: byte 7".into()));
    assert_eq!(problem("{\n\"messages\": [\n{\"role\""), ("invalid-json", "run.json: line 3 column 7".into()));
    assert_eq!(problem("{\"a\": NaN}").0, "invalid-json");
    assert_eq!(problem("{\"a\":1,\n\"a\":2}"), ("invalid-json", "run.json: line 2 column 5".into()));
    assert_eq!(problem("[".repeat(100_000)).0, "invalid-json");
    assert_eq!(problem("{\"a\":".repeat(100_000)).0, "invalid-json");
    assert_eq!(problem("Once upon a time.").0, "invalid-json");
    assert_eq!(problem("{}").0, "unknown-format");
    assert_eq!(problem("[[[]]]").0, "unknown-format");
    assert_eq!(problem("{\"calls\":[]}").0, "no-tool-calls");
    assert_eq!(problem("[{\"role\":\"user\",\"content\":\"hi\"}]").0, "no-tool-calls");
    assert!(problems("{\"calls\":[]}")[0].message.contains("`ltc-trace`"));
    assert!(problems("{}")[0].candidates.contains(&"openai-chat".to_owned()));
}

#[test]
fn an_unknown_format_names_the_nearest() {
    let problems = ingest::read("", b"{}", Some("open-ai-chat")).expect_err("no such format");
    assert_eq!(problems[0].code, "no-such-format");
    assert!(problems[0].help.as_deref().is_some_and(|h| h.contains("`openai-chat`")), "{:?}", problems[0].help);
}

#[test]
fn wrong_types_have_a_json_pointer() {
    let place = |text: &str| problem(text);
    assert_eq!(place(r#"{"calls":[{"tool":"t"},{"tool":7}]}"#), ("wrong-type", "run.json: /calls/1/tool".into()));
    assert_eq!(place(r#"{"calls":[{"tool":"t","arguments":[1]}]}"#), ("wrong-type", "run.json: /calls/0/arguments".into()));
    assert_eq!(place(r#"{"calls":[{"tool":"t","started_at":"soon"}]}"#), ("wrong-type", "run.json: /calls/0/started_at".into()));
    assert_eq!(
        place(r#"{"calls":[{"tool":"t"}],"servers":{"a/b":{"args":3,"command":"x"}}}"#),
        ("wrong-type", "run.json: /servers/a~1b/args".into())
    );
    assert_eq!(place(r#"{"calls":[{"server":"s"}],"format":"ltc.trace/1"}"#), ("missing-field", "run.json: /calls/0".into()));
    assert_eq!(place(r#"{"format":"ltc.trace/9","calls":[]}"#), ("unknown-version", "run.json: /format".into()));
    assert_eq!(place(r#"[{"role":"assistant","tool_calls":{"id":"x"}}]"#), ("wrong-type", "run.json: /0/tool_calls".into()));
    let line = |n: u32| format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"t","arguments":{n}}}}}"#);
    assert_eq!(
        place(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\"}}\n\n{}", line(1))),
        ("wrong-type", "run.json: line 3, /params/arguments".into())
    );
    let all = problems(r#"{"calls":[{"tool":7},{"tool":"t","turn":-1},5]}"#);
    assert_eq!(
        all.iter().map(|p| p.place.as_str()).collect::<Vec<_>>(),
        ["run.json: /calls/0/tool", "run.json: /calls/1/turn", "run.json: /calls/2"]
    );
}

#[test]
fn lines_that_cannot_be_read_are_named_and_a_cut_off_last_one_is_left_out() {
    let line = r#"{"type":"event_msg","payload":{"type":"mcp_tool_call_end","call_id":"c1","invocation":{"server":"s","tool":"t"},"result":{"Ok":{"content":[]}}}}"#;
    let cut = read(&format!("{line}\n{}", &line[..60]));
    assert_eq!((cut.traces[0].calls.len(), codes(&cut)), (1, vec!["cut-off-line"]));
    assert!(cut.notes[0].place.ends_with("line 2"));
    assert_eq!(problem(format!("{line}\n\n{}\n{line}\n", &line[..60])), ("invalid-json", "run.json: line 3 column 60".into()));
    assert_eq!(problem(format!("{line}\n{{\"a\": NaN}}")).0, "invalid-json");
    assert_eq!(read(&format!("\u{feff}{line}\r\n")).traces[0].calls.len(), 1);
}

#[test]
fn what_is_nested_too_deep_to_be_written_down_is_refused() {
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let arguments = |levels: usize| chat(&json::quote(&format!("{{\"a\":{}}}", deep(levels))), "\"x\"");
    assert_eq!(problem(arguments(125)).0, "too-deep");
    let trace = trace(&arguments(110));
    let written = json::to_string(&ltc_compiler::trace::to_json(&trace));
    assert_eq!(read(&written).traces, [trace]);
}

#[test]
fn names_are_only_names() {
    let odd = "a\u{7}\"/../${X}\n__t";
    let text =
        format!(r#"[{{"role":"assistant","tool_calls":[{{"id":"c","function":{{"name":{},"arguments":"{{}}"}}}}]}}]"#, json::quote(odd));
    let trace = trace(&text);
    assert_eq!((trace.calls[0].server.as_str(), trace.calls[0].tool.as_str()), ("a\u{7}\"/../${X}\n", "t"));
}

#[test]
fn unknown_fields_are_ignored_with_a_note() {
    let read = read(r#"{"format":"ltc.trace/1","calls":[{"tool":"t","colour":"red","result":{"content":[],"x":1}}],"y":2}"#);
    let places: Vec<&str> = read.notes.iter().map(|n| n.place.as_str()).collect();
    assert_eq!(places, ["run.json: /y", "run.json: /calls/0/colour", "run.json: /calls/0/result/x"]);
    assert!(codes(&read).iter().all(|code| *code == "unknown-field"));
}

#[test]
fn complaints_are_counted_when_there_are_many() {
    let many: Vec<String> = (0..1_000).map(|i| format!(r#"{{"tool":"t","x{i}":1}}"#)).collect();
    let read = read(&format!(r#"{{"calls":[{}]}}"#, many.join(",")));
    assert_eq!(read.notes.len(), 21);
    assert!(read.notes[20].message.contains("980"), "{}", read.notes[20].message);
}

// Servers and hints that are given beside a recording.

#[test]
fn given_servers_split_names_and_say_how_they_are_reached() {
    let call = |id: &str, name: &str| format!(r#"{{"id":"{id}","function":{{"name":"{name}","arguments":"{{}}"}}}}"#);
    let text = format!(
        r#"[{{"role":"assistant","tool_calls":[{},{},{}]}}]"#,
        call("a", "google-cloud-list"),
        call("b", "mcp_big_depot_find"),
        call("c", "think")
    );
    let mut found = trace(&text);
    assert_eq!(names(&found), ["tools/google-cloud-list", "big/depot_find", "tools/think"]);
    let given = value(
        r#"{"mcpServers":{"google":{"url":"https://g.example/mcp"},"google-cloud":{"command":"gc","args":["-v"],"tools":[{"name":"list"}]},"big_depot":{"url":"https://d.example/sse","type":"sse"}}}"#,
    );
    let diagnostics = ingest::apply_servers(&mut found, &given);
    assert_eq!(names(&found), ["google-cloud/list", "big_depot/find", "tools/think"]);
    assert_eq!(diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(), ["renamed-call", "renamed-call"]);
    let servers: Vec<(&str, bool, usize)> = found.servers.iter().map(|s| (s.name.as_str(), s.transport.is_some(), s.tools.len())).collect();
    assert_eq!(servers, [("big_depot", true, 0), ("google-cloud", true, 1), ("tools", false, 0)]);
    let written = json::to_string(&ltc_compiler::trace::to_json(&found));
    assert_eq!(read(&written).traces, [found.clone()]);
    assert_eq!(ingest::apply_servers(&mut found, &value(r#"{"google-cloud":{"args":1,"command":"x"}}"#))[0].place, "/google-cloud/args");
    assert_eq!(ingest::apply_servers(&mut found, &value("[]"))[0].code, "wrong-type");
}

#[test]
fn a_server_that_is_named_keeps_its_name() {
    let mut found = trace(r#"{"calls":[{"server":"issues-server","tool":"get"},{"server":"my_depot","tool":"find"}]}"#);
    ingest::apply_servers(&mut found, &value(r#"{"issues":{"command":"x"},"my depot":{"command":"y"}}"#));
    assert_eq!(names(&found), ["issues-server/get", "my depot/find"]);
}

#[test]
fn the_only_server_takes_the_calls_that_name_none() {
    let mut found = trace(&chat("\"{}\"", "\"x\"").replace("s__t", "API-post-search"));
    let diagnostics = ingest::apply_servers(&mut found, &value(r#"{"notion":{"command":"notion-mcp"}}"#));
    assert_eq!((names(&found), diagnostics[0].code), (vec!["notion/API-post-search".to_owned()], "only-server"));
    assert_eq!(found.servers.len(), 1);
}

#[test]
fn given_hints_belong_to_servers_of_the_trace() {
    let mut found = trace(r#"{"calls":[{"server":"depot","tool":"t"}],"servers":{"depot":{"compile_hints":"old"}}}"#);
    let hints = ltc_compiler::hints::read_all(&value(r#"{"depot":{"keep":["t"]},"depto":{"keep":["u"]}}"#)).expect("hints");
    let diagnostics = ingest::apply_hints(&mut found, hints);
    assert!(found.servers[0].hints.keep.contains("t") && found.servers[0].hints.note.is_none());
    assert_eq!(diagnostics.len(), 1);
    assert!(diagnostics[0].help.as_deref().is_some_and(|h| h.contains("`depot`")), "{:?}", diagnostics[0]);
}

// A recording that grows.

/// The head of a recording of `ltc record`, two calls with what became known of the server between them.
const GROWING: &str = r#"{"format":"ltc.trace/1","id":"r-1"}
{"servers":{"s":{"command":"x"}}}
{"server":"s","tool":"t","arguments":{"n":1.10},"result":{"content":[]},"started_at":"2026-01-02T03:04:05.000002Z"}
{"servers":{"s":{"command":"x","tools":[{"name":"t"},{"name":"u"}]}}}
{"server":"s","tool":"u","arguments":{},"result":{"content":[]},"started_at":"2026-01-02T03:04:05.000001Z"}
"#;

#[test]
fn a_recording_that_grows_is_read_as_far_as_it_is_written() {
    let read_whole = read(GROWING);
    let [whole] = read_whole.traces.as_slice() else { panic!("{read_whole:#?}") };
    // In the order in which they were made, not in that in which they ended.
    assert_eq!((whole.id.as_deref(), names(whole)), (Some("r-1"), vec!["s/u".to_owned(), "s/t".to_owned()]));
    assert_eq!(whole.servers[0].tools.len(), 2);
    assert_eq!(whole.calls[1].arguments, *value(r#"{"n":1.10}"#).as_object().expect("an object"));
    assert_eq!(codes(&read_whole), [""; 0]);
    // Wherever its writer was killed, all whole lines count.
    let (calls, end) = (GROWING.match_indices("\"tool\"").map(|(at, _)| at).collect::<Vec<_>>(), GROWING.len());
    let after_first_call = GROWING[calls[0]..].find('\n').map(|at| at + calls[0]).expect("a line");
    for cut in after_first_call..end {
        let count = read(&GROWING[..cut]).traces[0].calls.len();
        assert_eq!(count, 1 + usize::from(cut >= end - 1), "cut at {cut}");
    }
}

#[test]
fn several_recordings_that_grew_in_one_file_are_several_runs() {
    let second = GROWING.replace("r-1", "r-2");
    let read = read(&format!("{GROWING}{second}"));
    let ids: Vec<_> = read.traces.iter().map(|t| (t.id.as_deref().unwrap_or_default(), t.calls.len(), t.servers[0].tools.len())).collect();
    assert_eq!(ids, [("r-1", 2, 2), ("r-2", 2, 2)]);
}
