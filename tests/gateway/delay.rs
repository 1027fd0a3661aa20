//! What the gateway adds to a call, beside the direct call in the same run: each call through it is in the store before its answer comes. It is always printed
//! (`cargo test --release --test gateway delay -- --nocapture`); with `LTC_SLOW` it has to keep to what is promised. `LTC_DELAY_SERVER` names another server than that
//! of the tests, with a tool `echo`.

use crate::agent::{Agent, at, calls, trace, traces};
use crate::conversation::Conversation;
use crate::support::{Folder, ended, fixture_server};
use crate::timing::compared;
use ltc_workflow::Value;
use std::process::Command;
use std::time::Duration;

#[test]
fn the_delay_of_a_call_is_small() {
    let must = std::env::var_os("LTC_SLOW").is_some();
    let count = if must { 3000 } else { 200 };
    let own = format!("{} stdio", fixture_server().display());
    let words = std::env::var("LTC_DELAY_SERVER").unwrap_or(own);
    let words: Vec<&str> = words.split_whitespace().collect();
    let folder = Folder::new();
    assert_eq!(ended(at(&folder, ["servers", "add", "s", "--"]).args(&words)).code, 0);
    assert_eq!(ended(&mut at(&folder, ["servers", "test", "s"])).code, 0);
    let mut direct = Conversation::with(Command::new(words[0]).args(&words[1..]));
    direct.shake_hands();
    let mut agent = Agent::greet(&folder);
    let compared = compared(&mut direct, &mut agent.conversation, ["echo", "mcp_s_echo"], count);
    println!("{compared}");
    if must {
        assert!(compared.added() <= Duration::from_micros(300), "{compared}");
        assert!(compared.factor() <= 1.3, "{compared}");
    }
    let listed = traces(&folder).remove(0);
    let document = trace(&folder, listed.get("trace_id").and_then(Value::as_str).expect("an id"));
    assert_eq!(calls(&document), vec!["echo"; 50 + 2 * count]);
}
