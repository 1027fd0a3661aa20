//! What the relay adds to a call, beside the direct call in the same run. With `LTC_SLOW` it has to keep to what is promised; always it is printed
//! (`cargo test --release --test record delay -- --nocapture`). `LTC_DELAY_SERVER` names another server than those of the tests, with a tool `echo`.
//!
//! What is promised is promised beside a server that works for 0.1 ms on a call, as real ones do. That of the tests which answers at once has its answer
//! before the relay could read it once, so there a third process on two processors shows; it is measured, and nothing is promised.

use crate::conversation::Conversation;
use crate::support::{Folder, fixture_server, ltc};
use crate::timing::{Compared, compared};
use std::process::Command;
use std::time::Duration;

/// What is added to calls of `server`.
fn delay(server: &[String]) -> Compared {
    let must = std::env::var_os("LTC_SLOW").is_some();
    let folder = Folder::new();
    let mut recorder = ltc(["record", "-o"]);
    recorder.arg(folder.path().join("r.jsonl")).arg("--").args(server);
    let [mut plain, mut relayed] = [Command::new(&server[0]).args(&server[1..]), &mut recorder].map(Conversation::with);
    for conversation in [&mut plain, &mut relayed] {
        conversation.shake_hands();
    }
    let compared = compared(&mut plain, &mut relayed, ["echo", "echo"], if must { 3000 } else { 200 });
    println!("{}\n{compared}", server.join(" "));
    compared
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
        assert!(measured.added() <= Duration::from_micros(300), "{measured}");
        assert!(measured.factor() <= 1.3, "{measured}");
    }
}
