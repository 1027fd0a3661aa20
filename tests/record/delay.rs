//! What the relay adds to a call, beside the direct call in the same run. With `LTC_SLOW` it has to keep to what is promised; always it is printed
//! (`cargo test --release --test record delay -- --nocapture`). `LTC_DELAY_SERVER` names another server than those of the tests, with a tool `echo`.
//!
//! What is promised is promised beside a server that works for 0.1 ms on a call, as real ones do. That of the tests which answers at once has its answer
//! before the relay could read it once, so there a third process on two processors shows; it is measured, and nothing is promised.

use crate::conversation::Conversation;
use crate::support::{Folder, fixture_server, ltc};
use std::process::Command;
use std::time::{Duration, Instant};

fn call(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"number {id}"}}}}}}"#)
}

/// The time of each call, one after the other.
fn one_by_one(conversation: &mut Conversation, count: usize) -> Vec<Duration> {
    let time = |id| {
        let began = Instant::now();
        conversation.say(&call(id));
        conversation.line();
        began.elapsed()
    };
    (1..=count).map(time).collect()
}

/// The time of each call, with twenty under way at once.
fn twenty_at_once(conversation: &mut Conversation, count: usize) -> Vec<Duration> {
    let mut began: std::collections::VecDeque<Instant> = std::collections::VecDeque::new();
    let mut times = Vec::new();
    for id in 1..=count + 20 {
        if began.len() == 20 || id > count {
            conversation.line();
            // The server answers in order.
            times.extend(began.pop_front().map(|began| began.elapsed()));
        }
        if id <= count {
            began.push_back(Instant::now());
            conversation.say(&call(id));
        }
    }
    times
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// How much is added to a call in the median, and how many times as long twenty at once take.
fn delay(server: &[String]) -> (Duration, f64) {
    let must = std::env::var_os("LTC_SLOW").is_some();
    let count = if must { 3000 } else { 200 };
    let folder = Folder::new();
    let mut recorder = ltc(["record", "-o"]);
    recorder.arg(folder.path().join("r.jsonl")).arg("--").args(server);
    let [mut plain, mut relayed] = [Command::new(&server[0]).args(&server[1..]), &mut recorder].map(Conversation::with);
    for conversation in [&mut plain, &mut relayed] {
        conversation.shake_hands();
        one_by_one(conversation, 50);
    }
    let (mut alone, mut alone_relayed, mut many, mut many_relayed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    // In turns, so that whatever else goes on meets both.
    for _ in 0..4 {
        alone.extend(one_by_one(&mut plain, count / 4));
        alone_relayed.extend(one_by_one(&mut relayed, count / 4));
        many.extend(twenty_at_once(&mut plain, count / 4));
        many_relayed.extend(twenty_at_once(&mut relayed, count / 4));
    }
    let [alone, alone_relayed, many, many_relayed] = [alone, alone_relayed, many, many_relayed].map(median);
    let added = alone_relayed.saturating_sub(alone);
    let factor = many_relayed.as_secs_f64() / many.as_secs_f64();
    println!("{}", server.join(" "));
    println!("one at a time: {alone:?} direct, {alone_relayed:?} relayed, {added:?} added in the median of {count}");
    println!("20 at once: {many:?} direct, {many_relayed:?} relayed, {factor:.2} times, in the median of {count}");
    (added, factor)
}

#[test]
fn the_delay_of_a_call_is_small() {
    let server = fixture_server().display().to_string();
    let own = |arguments: &[&str]| [&[server.as_str()], arguments].concat().into_iter().map(str::to_owned).collect::<Vec<String>>();
    delay(&own(&["stdio"]));
    let measured = match std::env::var("LTC_DELAY_SERVER") {
        Ok(words) => delay(&words.split_whitespace().map(str::to_owned).collect::<Vec<String>>()),
        Err(_) => delay(&own(&["busy", "100"])),
    };
    if std::env::var_os("LTC_SLOW").is_some() {
        let (added, factor) = measured;
        assert!(added <= Duration::from_micros(300), "{added:?} were added");
        assert!(factor <= 1.3, "{factor:.2} times the direct call");
    }
}
