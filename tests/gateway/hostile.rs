//! Servers that die, hang, flood, lie and change, behind one gateway: whoever calls the others does not notice, and what was answered is recorded.

use crate::agent::{Agent, at, calls, register, register_fixture, register_restless, trace, traces, until};
use crate::support::{Folder, ended};
use ltc_workflow::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// How many messages of this method, with this word in them, have reached the server.
fn heard(log: &Path, method: &str, word: &str) -> usize {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|line| line.contains(&format!(r#""method":"{method}""#)) && line.contains(word)).count()
}

#[test]
fn a_server_that_dies_between_calls_or_in_one_is_one_failure_and_comes_back() {
    let folder = Folder::new();
    register_restless(&folder);
    register(&folder, "desk");
    let mut agent = Agent::greet(&folder);
    for round in 0..3 {
        // It dies behind its answer.
        assert!(!agent.call("mcp_r_last", r#"{"a":1}"#).1, "round {round}");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(agent.call("mcp_r_echo", r#"{"a":2}"#), (json::parse(br#"{"a":2}"#).expect("JSON"), false), "round {round}");
        let (said, is_error) = agent.call("mcp_r_leave", "{}");
        assert!(is_error && json::to_string(&said).contains("the server ended"), "{}", json::to_string(&said));
        assert!(!agent.call("mcp_desk_list_orders", r#"{"status":"late"}"#).1);
    }
    let document = trace(&folder, traces(&folder)[0].get("trace_id").and_then(Value::as_str).expect("an id"));
    let round = ["last", "echo", "leave!", "list_orders"];
    assert_eq!(calls(&document), round.repeat(3));
}

#[test]
fn while_one_server_hangs_the_others_answer_and_nobody_has_to_wait_for_it() {
    let folder = Folder::new();
    let (log, _) = register_restless(&folder);
    register(&folder, "desk");
    let mut agent = Agent::greet(&folder);
    let before = Instant::now();
    let held = agent.begin("mcp_r_hold", r#"{"a":1}"#, "{}");
    until("the call reaches the server", || (heard(&log, "tools/call", "hold") == 1).then_some(()));
    for _ in 0..5 {
        assert!(!agent.call("mcp_desk_list_orders", r#"{"status":"late"}"#).1);
        // Another call of the same server is answered beside it too.
        assert!(!agent.call("mcp_r_echo", "{}").1);
    }
    agent.cancel(&held);
    until("the server hears of it", || (heard(&log, "notifications/cancelled", "requestId") == 1).then_some(()));
    let (said, is_error) = agent.call("call_mcp_tool", r#"{"server_name":"r","tool_name":"hold","timeout_seconds":1}"#);
    assert!(is_error && json::to_string(&said).contains("did not answer within 1 s"), "{}", json::to_string(&said));
    until("the server hears of that too", || (heard(&log, "notifications/cancelled", "requestId") == 2).then_some(()));
    assert!(!agent.call("mcp_r_echo", "{}").1);
    assert!(before.elapsed() < Duration::from_secs(20), "{:?}", before.elapsed());
    // What was given up may have been done: it is in the recording, where it was.
    let document = trace(&folder, traces(&folder)[0].get("trace_id").and_then(Value::as_str).expect("an id"));
    let expected: Vec<&str> = ["list_orders", "echo"].repeat(5).into_iter().chain(["hold!", "hold!", "echo"]).collect();
    assert_eq!(calls(&document), expected);
}

#[test]
fn a_server_that_floods_or_answers_with_garbage_is_heard_out_and_confuses_nobody() {
    let folder = Folder::new();
    let (log, _) = register_restless(&folder);
    register_fixture(&folder, "u", &["stdio"]);
    let mut agent = Agent::greet(&folder);
    let asked = heard(&log, "tools/list", "");
    let before = Instant::now();
    let flood = agent.begin("mcp_r_flood", r#"{"n":4000}"#, r#"{"progressToken":"mine"}"#);
    let answers = agent.conversation.until_answer(&flood);
    assert!(
        answers.iter().all(|message| message.get("method").and_then(Value::as_str) != Some("notifications/progress")),
        "of another call"
    );
    assert!(answers.last().is_some_and(|answer| answer.get("result").is_some()));
    // A line of stderr for each of these, 9 MB of them.
    assert!(!agent.call("mcp_r_shout", r#"{"n":50000}"#).1);
    assert!(before.elapsed() < Duration::from_secs(20), "{:?}", before.elapsed());
    std::thread::sleep(Duration::from_secs(1));
    let asked = heard(&log, "tools/list", "") - asked;
    assert!((1..=20).contains(&asked), "4,000 words that the tools have changed are heard as {asked}");

    let (said, is_error) = agent.call("mcp_u_garbage", "{}");
    assert!(is_error && json::to_string(&said).contains("cannot be read"), "{}", json::to_string(&said));
    let (said, is_error) = agent.call("mcp_u_twice", "{}");
    assert_eq!((said.as_str(), is_error), (Some("one"), false));
    assert_eq!(agent.call("mcp_u_echo", r#"{"n":1.10}"#), (json::parse(br#"{"n":1.10}"#).expect("JSON"), false));
    assert_eq!(agent.call("mcp_u_banner", "{}").0.as_str(), Some("after the banner"));
    let (said, is_error) = agent.call("mcp_u_rpc_error", r#"{"words":"no"}"#);
    assert!(is_error && json::to_string(&said).contains("-32602"), "{}", json::to_string(&said));
}

#[test]
fn tools_that_come_while_a_client_is_there_are_told_and_can_be_called() {
    let folder = Folder::new();
    let (_, extra) = register_restless(&folder);
    let mut agent = Agent::greet(&folder);
    assert!(!agent.tools().iter().any(|tool| tool == "mcp_r_wings"));
    assert!(!agent.call("mcp_r_grow", r#"{"name":"wings"}"#).1);
    agent.hears_of_a_change();
    assert!(agent.tools().iter().any(|tool| tool == "mcp_r_wings"));
    assert!(!agent.call("mcp_r_wings", "{}").1);
    // It dies, and what is started in its place has others.
    std::fs::write(&extra, "fins\n").expect("the file is written");
    assert!(agent.call("mcp_r_leave", "{}").1);
    assert!(!agent.call("mcp_r_echo", "{}").1);
    agent.hears_of_a_change();
    let tools = agent.tools();
    assert!(tools.iter().any(|tool| tool == "mcp_r_fins") && !tools.iter().any(|tool| tool == "mcp_r_wings"), "{tools:?}");
    let gone = agent.ask("tools/call", r#"{"name":"mcp_r_wings","arguments":{}}"#);
    assert!(gone.get("error").is_some(), "{}", json::to_string(&gone));
}

#[test]
fn a_server_that_is_taken_out_while_a_client_is_there_is_let_go_of() {
    let folder = Folder::new();
    let (log, _) = register_restless(&folder);
    let mut agent = Agent::greet(&folder);
    assert!(!agent.call("mcp_r_echo", "{}").1);
    let words = format!("restless {}", log.display());
    let is_running = || {
        let processes = ended(std::process::Command::new("ps").args(["-eo", "args"]));
        processes.stdout.lines().any(|line| line.contains(&words) && !line.contains("ps -eo"))
    };
    assert!(is_running());
    assert_eq!(ended(&mut at(&folder, ["servers", "remove", "r"])).code, 0);
    let gone = agent.ask("tools/call", r#"{"name":"mcp_r_echo","arguments":{}}"#);
    assert!(gone.get("error").is_some(), "{}", json::to_string(&gone));
    until("its process ends", || (!is_running()).then_some(()));
    // Under the same name another one comes.
    register_fixture(&folder, "r", &["stdio"]);
    until("it is there", || agent.tools().iter().any(|tool| tool == "mcp_r_banner").then_some(()));
    assert!(!agent.call("mcp_r_echo", "{}").1);
}

#[test]
fn a_very_large_result_arrives_whole_and_is_recorded() {
    // Unoptimized, each of its bytes takes long.
    let size = if std::env::var_os("LTC_SLOW").is_some() { 50_000_000 } else { 10_000_000 };
    let folder = Folder::new();
    register_restless(&folder);
    let mut agent = Agent::greet(&folder);
    let before = Instant::now();
    let (said, is_error) = agent.call("mcp_r_large", &format!(r#"{{"n":{size}}}"#));
    println!("{:?} for {size} bytes", before.elapsed());
    assert!(!is_error && said.as_str().is_some_and(|text| text.len() == size));
    assert!(!agent.call("mcp_r_echo", "{}").1);
    let listed = until("both are recorded", || {
        let listed = traces(&folder).remove(0);
        (listed.get("calls") == Some(&Value::from(2_i64))).then_some(listed)
    });
    let document = trace(&folder, listed.get("trace_id").and_then(Value::as_str).expect("an id"));
    assert_eq!(calls(&document), ["large", "echo"]);
}

#[test]
fn progress_is_passed_on_to_whom_asked_for_it_under_its_own_token() {
    let folder = Folder::new();
    register_restless(&folder);
    let mut agent = Agent::greet(&folder);
    let id = agent.begin("mcp_r_steps", r#"{"n":3}"#, r#"{"progressToken":"mine"}"#);
    let heard = agent.conversation.until_answer(&id);
    let told: Vec<Vec<String>> = heard[..heard.len() - 1]
        .iter()
        .filter_map(|message| message.get("params"))
        .map(|told| {
            ["progressToken", "progress", "total", "message"]
                .map(|key| told.get(key).map(json::to_string).unwrap_or_default().trim_end_matches(".0").to_owned())
                .to_vec()
        })
        .collect();
    let part = |n: u32| vec!["\"mine\"".to_owned(), n.to_string(), "3".to_owned(), format!("\"part {n}\"")];
    assert_eq!(told, (1..=3).map(part).collect::<Vec<_>>());
    let token = heard.last().and_then(|answer| answer.get("result")?.get("structuredContent")?.get("token")).expect("a token");
    assert!(token.as_number().is_some(), "the server was given a token of ours: {}", json::to_string(token));
    // Who does not ask hears nothing, and the server is not asked either.
    let id = agent.begin("mcp_r_steps", r#"{"n":3}"#, "{}");
    let heard = agent.conversation.until_answer(&id);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0].get("result").and_then(|result| result.get("structuredContent")?.get("token")), Some(&Value::Null));

    // In a run, what a step says of itself lies between the ends of steps, and grows.
    let steps =
        "steps:\n  - id: one\n    call: r/steps\n    with: { n: 2 }\n  - id: two\n    call: r/steps\n    with: { n: 1 }\noutput: over\n";
    let workflow = folder.file("w.yaml", &format!("workflow: w\nversion: 1\nservers:\n  r: {{}}\n{steps}"));
    let deployed = ended(at(&folder, ["deploy"]).arg(&workflow));
    assert_eq!(deployed.code, 0, "{deployed:?}");
    let id = agent.begin("w", "{}", r#"{"progressToken":7}"#);
    let heard = agent.conversation.until_answer(&id);
    let param = |message: &Value, key: &str| message.get("params").and_then(|params| params.get(key)).cloned();
    let progress: Vec<&Value> = heard.iter().filter(|message| param(message, "progressToken") == Some(Value::from(7_i64))).collect();
    let words: Vec<String> = progress.iter().filter_map(|message| param(message, "message")?.as_str().map(str::to_owned)).collect();
    assert_eq!(words, ["one: part 1", "one: part 2", "one", "two: part 1", "two"], "{heard:?}");
    let counts: Vec<f64> = progress.iter().filter_map(|message| json::to_string(&param(message, "progress")?).parse().ok()).collect();
    assert!(counts.windows(2).all(|pair| pair[0] < pair[1]) && counts.len() == 5, "{counts:?}");
}

#[test]
fn whatever_is_killed_the_recording_is_whole_up_to_the_last_answer() {
    let folder = Folder::new();
    let (log, _) = register_restless(&folder);
    for (round, is_gateway) in [true, false].repeat(4).into_iter().enumerate() {
        let mut agent = Agent::greet(&folder);
        for n in 0..=round {
            assert!(!agent.call("mcp_r_echo", &format!(r#"{{"n":{n}}}"#)).1);
        }
        // A call is under way, too.
        let calls_before = heard(&log, "tools/call", "hold");
        agent.begin("mcp_r_hold", "{}", "{}");
        if is_gateway {
            agent.conversation.child.kill().expect("it is killed");
        } else {
            until("the call reaches the server", || (heard(&log, "tools/call", "hold") > calls_before).then_some(()));
            // What the gateway sees of a client that was killed: its stdin is closed.
            agent.conversation.hang_up();
        }
        agent.conversation.child.wait().expect("it ends");
        let listed = traces(&folder).remove(0);
        let document = trace(&folder, listed.get("trace_id").and_then(Value::as_str).expect("an id"));
        let mut expected = vec!["echo"; round + 1];
        if !is_gateway {
            expected.push("hold!");
        }
        assert_eq!(calls(&document), expected, "round {round}");
        assert_eq!(listed.get("open"), Some(&Value::from(is_gateway)), "round {round}");
        assert_eq!(traces(&folder).len(), round + 1);
    }
}
