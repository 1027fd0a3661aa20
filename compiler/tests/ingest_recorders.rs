//! The peculiarities of single recorders, each in the smallest recording that has it.

#![allow(clippy::disallowed_methods, reason = "the fixtures are files")]

use ltc_compiler::diagnostics::Severity;
use ltc_compiler::ingest::{self, Ingested};
use ltc_compiler::trace::{Body, Outcome, Trace, to_json};
use ltc_workflow::json;

fn read(text: &str) -> Ingested {
    ingest::read("", text.as_bytes(), None).unwrap_or_else(|problems| panic!("{text}: {problems:#?}"))
}

fn trace(text: &str) -> Trace {
    read(text).traces.remove(0)
}

fn names(trace: &Trace) -> Vec<String> {
    trace.calls.iter().map(|c| format!("{}/{}", c.server, c.tool)).collect()
}

fn outcomes(trace: &Trace) -> Vec<Outcome> {
    trace.calls.iter().map(|c| c.outcome.clone()).collect()
}

fn text(text: &str) -> Outcome {
    Outcome::Result(Body::text(text))
}

fn tool_call(id: &str, tool: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#)
}

fn answer(id: &str, text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
}

#[test]
fn both_sides_of_the_wire_count_their_ids_for_themselves() {
    let sampling = r#"{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}"#;
    let sampled = r#"{"jsonrpc":"2.0","id":2,"result":{"role":"assistant","content":{"type":"text","text":"no"},"model":"m"}}"#;
    let lines = [tool_call("2", "t"), sampling.into(), sampled.into(), answer("2", "yes"), tool_call("\"2\"", "u"), answer("\"2\"", "too")];
    assert_eq!(outcomes(&trace(&lines.join("\n"))), [text("yes"), text("too")]);
}

#[test]
fn responses_may_come_in_another_order_in_batches_and_never() {
    let lines = [
        format!("[{},{}]", tool_call("1", "a"), tool_call("2", "b")),
        tool_call("3", "c"),
        format!("[{},{}]", answer("2", "two"), r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad"}}"#),
    ];
    let found = trace(&lines.join("\n"));
    assert_eq!(outcomes(&found), [Outcome::RpcError { code: -32602, message: "bad".into() }, text("two"), Outcome::Missing]);
    assert_eq!(found.calls.iter().map(|c| c.turn).collect::<Vec<_>>(), [Some(1); 3]);
}

#[test]
fn a_new_session_begins_its_ids_anew() {
    let hello = |name: &str| {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
        format!("{hello}\n{{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{{\"serverInfo\":{{\"name\":\"{name}\"}}}}}}")
    };
    let lines = [hello("one"), tool_call("1", "a"), hello("two"), tool_call("1", "b"), answer("1", "of two")];
    let found = trace(&lines.join("\n"));
    assert_eq!(names(&found), ["one/a", "two/b"]);
    assert_eq!(outcomes(&found), [Outcome::Missing, text("of two")]);
}

#[test]
fn codex_prefers_the_event_and_knows_refusals_and_namespaces() {
    let event = |id: &str, result: &str| {
        format!(
            r#"{{"timestamp":"2031-01-01T00:00:05Z","type":"event_msg","payload":{{"type":"mcp_tool_call_end","call_id":"{id}","invocation":{{"server":"s","tool":"t","arguments":{{}}}},"duration":{{"secs":2,"nanos":0}},"result":{result}}}}}"#
        )
    };
    let item = |payload: &str| format!(r#"{{"timestamp":"2031-01-01T00:00:06Z","type":"response_item","payload":{payload}}}"#);
    let lines = [
        event("a", r#"{"Ok":{"content":[{"type":"text","text":"[{\"type\":\"text\",\"text\":\"kept\"}]"}],"isError":false}}"#),
        item(r#"{"type":"function_call","name":"mcp__s__t","arguments":"{}","call_id":"a"}"#),
        item(r#"{"type":"function_call_output","call_id":"a","output":"something else"}"#),
        event("b", r#"{"Err":"user rejected MCP tool call"}"#),
        item(r#"{"type":"function_call","name":"js","namespace":"mcp__repl","arguments":"{}","call_id":"c"}"#),
        item(r#"{"type":"function_call_output","call_id":"c","output":"[{\"type\":\"text\",\"text\":\"6\"}]"}"#),
    ];
    let found = trace(&lines.join("\n"));
    assert_eq!(names(&found), ["s/t", "s/t", "repl/js"]);
    assert_eq!(outcomes(&found), [text(r#"[{"type":"text","text":"kept"}]"#), Outcome::Refused, text("6")]);
    assert_eq!(found.calls[0].started_at.map(|at| found.calls[0].ended_at.unwrap() - at), Some(2_000_000_000));
}

#[test]
fn vs_code_knows_labels_that_were_cut_short_and_what_was_denied() {
    let part = |id: &str, tool: &str, label: &str, confirmed: u8| {
        format!(
            r#"{{"kind":"toolInvocationSerialized","toolId":"{tool}","toolCallId":"{id}","isConfirmed":{{"type":{confirmed}}},"isComplete":true,"source":{{"type":"mcp","serverLabel":"{label}"}},"resultDetails":{{"input":"{{}}","output":[{{"type":"embed","isText":true,"value":"x"}}]}}}}"#
        )
    };
    let parts = [part("a", "mcp_my_big_depot__find_part", "My Big Depot of Parts", 4), part("b", "mcp_lab_drop", "lab", 0)].join(",");
    let found = trace(&format!(
        r#"{{"version":3,"sessionId":"v","requests":[{{"requestId":"r","message":{{"text":"Go."}},"response":[{parts}]}}]}}"#
    ));
    assert_eq!(names(&found), ["My Big Depot of Parts/find_part", "lab/drop"]);
    assert_eq!(outcomes(&found), [text("x"), Outcome::Refused]);
}

#[test]
fn claude_code_counts_what_subagents_did_once() {
    let message = |id: &str, role: &str, content: &str| format!(r#"{{"id":"{id}","role":"{role}","content":[{content}]}}"#);
    let call = message("m1", "assistant", r#"{"type":"tool_use","id":"c","name":"mcp__a__b__c","input":{}}"#);
    let result = message("", "user", r#"{"type":"tool_result","tool_use_id":"c","content":"ok"}"#);
    let lines = [
        r#"{"type":"system","subtype":"init","session_id":"s","mcp_servers":[{"name":"a__b","status":"connected"}]}"#.to_owned(),
        format!(
            r#"{{"type":"progress","uuid":"p1","sessionId":"s","data":{{"type":"agent_progress","agentId":"g","message":{{"type":"assistant","uuid":"x1","message":{call}}}}}}}"#
        ),
        format!(
            r#"{{"type":"progress","uuid":"p2","sessionId":"s","data":{{"type":"agent_progress","agentId":"g","message":{{"type":"user","uuid":"x2","message":{result}}}}}}}"#
        ),
        format!(r#"{{"type":"assistant","uuid":"x1","isSidechain":true,"sessionId":"s","message":{call}}}"#),
        format!(r#"{{"type":"user","uuid":"x2","isSidechain":true,"sessionId":"s","message":{result}}}"#),
        r#"{"type":"user","uuid":"u","isSidechain":true,"sessionId":"s","message":{"role":"user","content":"What the agent told it."}}"#
            .to_owned(),
        r#"{"type":"user","uuid":"v","sessionId":"s","message":{"role":"user","content":"What the user said."}}"#.to_owned(),
    ];
    let read = read(&lines.join("\n"));
    let found = &read.traces[0];
    assert_eq!((names(found), outcomes(found), &read.notes), (vec!["a__b/c".to_owned()], vec![text("ok")], &vec![]));
    assert_eq!(found.task.as_deref(), Some("What the user said."));
}

#[test]
fn tokens_and_headers_stay_out_of_the_trace() {
    let folder = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/ingest/anthropic-messages/connector.json");
    let recording = std::fs::read_to_string(folder).expect("a recording");
    assert!(recording.contains("not-to-be-kept"));
    let written = json::to_string(&to_json(&trace(&recording)));
    assert!(written.contains("https://lab.example/mcp") && !written.contains("not-to-be-kept"), "{written}");
}

#[test]
fn spans_without_content_are_a_question_and_take_it_from_messages() {
    let span = |id: &str, attributes: &str| {
        format!(
            r#"{{"trace_id":"t","span_id":"{id}","name":"execute_tool t","start_time":1700000000000000000,"end_time":1700000001000000000,"attributes":{attributes}}}"#
        )
    };
    let tool = span("a", r#"{"gen_ai.operation.name":"execute_tool","gen_ai.tool.name":"t","gen_ai.tool.call.id":"c1"}"#);
    let bare = read(&format!("[{tool}]"));
    assert_eq!(
        bare.notes.iter().map(|n| (n.severity, n.code)).collect::<Vec<_>>(),
        [(Severity::Question, "arguments-not-recorded"), (Severity::Warning, "result-not-recorded")]
    );
    let output = r#"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\" c1\",\"name\":\"t\",\"arguments\":{\"n\":1}}]}]"#;
    let input = r#"[{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_call_response\",\"id\":\" c1\",\"result\":\"done\"}]}]"#;
    let model = |id: &str, key: &str, messages: &str| span(id, &format!(r#"{{"gen_ai.operation.name":"chat","{key}":"{messages}"}}"#));
    let found = read(&format!("[{tool},{},{}]", model("b", "gen_ai.output.messages", output), model("c", "gen_ai.input.messages", input)));
    assert_eq!(json::to_string(&found.traces[0].calls[0].arguments.clone().into()), r#"{"n":1}"#);
    assert_eq!((outcomes(&found.traces[0]), found.notes), (vec![text("done")], vec![]));
}

#[test]
fn a_server_alone_and_several_trace_ids_are_runs_of_their_own() {
    let span = |trace: &str, kind: u8| {
        format!(
            r#"{{"traceId":"{trace}","spanId":"1","name":"tools/call t","kind":{kind},"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000001000000000","attributes":[{{"key":"mcp.method.name","value":{{"stringValue":"tools/call"}}}},{{"key":"gen_ai.tool.name","value":{{"stringValue":"t"}}}},{{"key":"mcp.session.id","value":{{"stringValue":"s"}}}},{{"key":"jsonrpc.request.id","value":{{"stringValue":"7"}}}},{{"key":"gen_ai.tool.call.arguments","value":{{"stringValue":"{{}}"}}}}]}}"#
        )
    };
    let file = |spans: &str| {
        format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"depot"}}}}]}},"scopeSpans":[{{"spans":[{spans}]}}]}}]}}"#
        )
    };
    assert_eq!(read(&file(&[span("a", 3), span("b", 3)].join(","))).traces.len(), 2);
    assert_eq!(
        read(&file(&[span("a", 3), span("b", 2)].join(","))).traces.len(),
        1,
        "the server's span of the same request is the same call"
    );
    assert_eq!(names(&trace(&file(&span("b", 2)))), ["s/t"]);
}

#[test]
fn a_langgraph_run_is_read_from_the_messages_of_its_models() {
    let message = |class: &str, kwargs: &str| {
        format!(r#"{{"lc":1,"type":"constructor","id":["langchain_core","messages","{class}"],"kwargs":{kwargs}}}"#)
    };
    let messages = [
        message("HumanMessage", r#"{"content":"Count the ships."}"#),
        message("AIMessage", r#"{"content":"","tool_calls":[{"name":"port__count","args":{"pier":4},"id":"c1"}]}"#),
        message("ToolMessage", r#"{"content":"7 ships","tool_call_id":"c1","status":"error"}"#),
    ];
    let input = json::quote(&format!(r#"{{"messages":[{}]}}"#, messages.join(",")));
    let observation =
        format!(r#"{{"id":"o","traceId":"t","type":"GENERATION","name":"m","startTime":"2031-01-01T00:00:00Z","input":{input}}}"#);
    let found = trace(&format!(r#"{{"trace":{{"id":"t","input":null}},"observations":[{observation}]}}"#));
    assert_eq!((names(&found), outcomes(&found)), (vec!["port/count".to_owned()], vec![Outcome::ToolError(Body::text("7 ships"))]));
}

#[test]
fn a_tools_own_keys_are_no_wrappers() {
    let span = |arguments: &str, result: &str| {
        let attributes = format!(
            r#"{{"gen_ai.operation.name":"execute_tool","gen_ai.tool.name":"t","gen_ai.tool.call.arguments":{},"gen_ai.tool.call.result":{}}}"#,
            json::quote(arguments),
            json::quote(result)
        );
        format!(r#"[{{"trace_id":"t","span_id":"a","name":"x","start_time":1700000000000000000,"attributes":{attributes}}}]"#)
    };
    let (arguments, result) = (r#"{"input":"{\"a\":1}"}"#, r#"{"output":{"b":2}}"#);
    let found = trace(&span(arguments, result));
    assert_eq!(json::to_string(&found.calls[0].arguments.clone().into()), arguments);
    assert_eq!(outcomes(&found), [text(result)]);
}
