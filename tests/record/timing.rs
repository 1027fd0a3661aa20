//! What something in between adds to a call, beside the direct call in the same run.

use crate::conversation::Conversation;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many calls are under way at once, in the second measurement.
const AT_ONCE: usize = 20;

/// Medians: of direct calls, and of calls through what is in between.
pub struct Compared {
    one: [Duration; 2],
    many: [Duration; 2],
    count: usize,
}

impl Compared {
    /// What is added to a call, one after the other.
    pub fn added(&self) -> Duration {
        self.one[1].saturating_sub(self.one[0])
    }

    /// How many times the direct call, with many under way at once.
    pub fn factor(&self) -> f64 {
        self.many[1].as_secs_f64() / self.many[0].as_secs_f64()
    }
}

impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Compared { one: [direct, through], many: [direct_of_many, through_of_many], count } = self;
        writeln!(f, "one at a time: {direct:?} direct, {through:?} through it, {:?} added in the median of {count}", self.added())?;
        write!(
            f,
            "{AT_ONCE} at once: {direct_of_many:?} direct, {through_of_many:?} through it, {:.2} times, in the median of {count}",
            self.factor()
        )
    }
}

/// Calls the tool `names[0]` of `direct` and `names[1]` of `through`, `count` times each. Both have shaken hands.
pub fn compared(direct: &mut Conversation, through: &mut Conversation, names: [&str; 2], count: usize) -> Compared {
    let (mut one, mut many) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for (conversation, name) in [&mut *direct, &mut *through].into_iter().zip(names) {
        one_by_one(conversation, name, 50);
    }
    // In turns, so that whatever else goes on meets both.
    for _ in 0..4 {
        for (at, conversation) in [&mut *direct, &mut *through].into_iter().enumerate() {
            one[at].extend(one_by_one(conversation, names[at], count / 4));
        }
        for (at, conversation) in [&mut *direct, &mut *through].into_iter().enumerate() {
            many[at].extend(many_at_once(conversation, names[at], count / 4));
        }
    }
    Compared { one: one.map(median), many: many.map(median), count }
}

fn call(name: &str, id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{"message":"number {id}"}}}}}}"#)
}

/// The time of each call, one after the other.
fn one_by_one(conversation: &mut Conversation, name: &str, count: usize) -> Vec<Duration> {
    let time = |id| {
        let began = Instant::now();
        conversation.say(&call(name, id));
        conversation.line();
        began.elapsed()
    };
    (1..=count).map(time).collect()
}

/// The time of each call, with so many under way at once.
fn many_at_once(conversation: &mut Conversation, name: &str, count: usize) -> Vec<Duration> {
    let mut began = BTreeMap::new();
    let mut times = Vec::new();
    for id in 1..=count + AT_ONCE {
        if began.len() == AT_ONCE || id > count {
            // Answers may come in any order.
            let line = conversation.line();
            let answered =
                line.split(r#""id":"#).nth(1).map(|rest| rest.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>());
            let answered: usize = answered.and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("no answer: {line}"));
            times.extend(began.remove(&answered).map(|began: Instant| began.elapsed()));
        }
        if id <= count {
            began.insert(id, Instant::now());
            conversation.say(&call(name, id));
        }
    }
    assert_eq!(times.len(), count, "each call is answered once");
    times
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
