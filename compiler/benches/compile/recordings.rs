//! Recordings of any size, made up: what a support desk's agent does with its tickets.
//!
//! `mixed` is what agents do: lists, loops over them, lines of calls that hand ids on, an answer in prose now and then. `line` has no
//! loop, `loop` is one loop over a long list, `pages` is a list of many pages, `code` reads and edits files and
//! greps in them, so that long texts share most of their words, `huge` has one result of 50 MB.

use std::fmt::Write;

/// A recording that can be made.
pub struct Recording {
    /// Its shape and its number of calls.
    pub name: String,
    /// Makes the file.
    pub bytes: Box<dyn Fn() -> Vec<u8>>,
}

/// Writes so many calls of a shape.
type Shape = fn(&mut File, usize);

/// All of them.
pub fn all() -> Vec<Recording> {
    let shapes: [(&str, Shape, &[usize]); 5] = [
        ("mixed", mixed, &[10, 100, 1_000, 10_000]),
        ("line", line, &[1_000, 10_000]),
        ("loop", long_loop, &[1_000, 10_000]),
        ("pages", pages, &[1_000]),
        ("code", code, &[50, 500]),
    ];
    let mut all = Vec::new();
    for (shape, make, sizes) in shapes {
        for calls in sizes {
            all.push(recording(format!("{shape}-{calls}"), move |file| make(file, *calls)));
        }
    }
    all.push(recording("huge-list".to_owned(), |file| huge(file, huge_list)));
    all.push(recording("huge-prose".to_owned(), |file| huge(file, huge_prose)));
    all
}

fn recording(name: String, make: impl Fn(&mut File) + 'static) -> Recording {
    let bytes = move || {
        let mut file = File::default();
        make(&mut file);
        file.finish()
    };
    Recording { name, bytes: Box::new(bytes) }
}

/// Calls that are being written down.
#[derive(Default)]
pub struct File {
    calls: Vec<String>,
    made: u64,
}

impl File {
    fn call(&mut self, tool: &str, arguments: &str, text: &str) {
        let number = self.calls.len();
        let text = quote(text);
        self.calls.push(format!(
            r#"{{"id":"call_{number}","server":"desk","tool":"{tool}","arguments":{arguments},"result":{{"content":[{{"type":"text","text":{text}}}],"isError":false}}}}"#
        ));
    }

    /// An id that says much.
    fn id(&mut self, kind: &str) -> String {
        self.made += 1;
        let mut x = self.made.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995;
        x ^= x >> 29;
        format!("{kind}_{:012x}", x.wrapping_mul(0xbf58_476d_1ce4_e5b9) & 0xffff_ffff_ffff)
    }

    fn len(&self) -> usize {
        self.calls.len()
    }

    fn finish(self) -> Vec<u8> {
        let read = ["list_tickets", "get_ticket", "get_person", "list_page", "search", "get_file"];
        let write = ["assign", "notify", "file_report", "tag", "edit_file"];
        let tool = |name: &&str, reads: bool| {
            format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{{"readOnlyHint":{reads}}}}}"#)
        };
        let tools: Vec<String> = read.iter().map(|t| tool(t, true)).chain(write.iter().map(|t| tool(t, false))).collect();
        let head =
            r#"{"format":"ltc.trace/1","input":{"queue":"claims-7f21","team":"north-42"},"servers":{"desk":{"command":"desk","tools":["#;
        format!("{head}{}]}}}},\"calls\":[\n{}\n]}}\n", tools.join(","), self.calls.join(",\n")).into_bytes()
    }
}

/// A result of about 1 KiB that begins with these fields.
fn padded(fields: &str, seed: usize) -> String {
    const WORDS: [&str; 16] = [
        "the", "customer", "wrote", "that", "an", "invoice", "of", "March", "was", "paid", "twice", "and", "asks", "for", "refund", "soon",
    ];
    let mut text = format!("{{{fields},\"priority\":{},\"open\":{},\"history\":[", seed % 4, seed.is_multiple_of(3));
    for entry in 0..3 {
        let comma = if entry > 0 { "," } else { "" };
        let _ = write!(
            text,
            "{comma}{{\"at\":\"2026-02-{:02}T10:{:02}:00Z\",\"by\":\"agent {}\",\"rating\":{}.{}}}",
            seed % 27 + 1,
            entry,
            seed % 9,
            seed % 5,
            entry
        );
    }
    text.push_str("],\"description\":\"");
    let mut word = seed;
    while text.len() < 1_000 {
        word = word.wrapping_mul(31).wrapping_add(7);
        text.push_str(WORDS[word % WORDS.len()]);
        text.push(' ');
    }
    text.push_str("\"}");
    text
}

/// A list of tickets of about 1 KiB.
fn tickets(ids: &[String], seed: usize) -> String {
    let items: Vec<String> =
        ids.iter().enumerate().map(|(i, id)| format!(r#"{{"ticket":"{id}","state":"open","age":{}}}"#, (seed + i * 7) % 90)).collect();
    padded(&format!(r#""queue":"claims-7f21","tickets":[{}]"#, items.join(",")), seed)
}

/// Lists, loops over them, and lines of calls that hand ids on.
fn mixed(file: &mut File, calls: usize) {
    let mut round = 0;
    while file.len() < calls {
        round += 1;
        let ids: Vec<String> = (0..3).map(|_| file.id("tk")).collect();
        file.call("list_tickets", &format!(r#"{{"queue":"claims-7f21","limit":3,"page":{round}}}"#), &tickets(&ids, round));
        let mut assigned = Vec::new();
        for id in &ids {
            let person = file.id("usr");
            file.call(
                "get_ticket",
                &format!(r#"{{"ticket":"{id}"}}"#),
                &padded(&format!(r#""ticket":"{id}","opened_by":"{person}""#), round),
            );
            file.call("assign", &format!(r#"{{"ticket":"{id}","person":"{person}","team":"north-42"}}"#), &padded(r#""done":true"#, round));
            assigned.push(person);
        }
        let report = file.id("rp");
        file.call(
            "file_report",
            &format!(r#"{{"title":"Round {round}","people":{assigned:?}}}"#),
            &format!("Report {report} was filed.\nIt is read by the team on Monday."),
        );
        file.call(
            "notify",
            &format!(r#"{{"team":"north-42","text":"See https://desk.example.com/reports/{report} for details"}}"#),
            &padded(r#""sent":true"#, round),
        );
        file.call("tag", &format!(r#"{{"report":"{report}","tag":"weekly"}}"#), &padded(r#""tagged":true"#, round));
    }
    file.calls.truncate(calls);
}

/// Each call takes an id out of the result before.
fn line(file: &mut File, calls: usize) {
    let mut person = file.id("usr");
    let mut text = format!(r#"{{"team":"north-42","person":"{person}"}}"#);
    for round in 0..calls {
        let next = file.id("usr");
        let tool = ["assign", "notify", "tag"][round % 3];
        file.call(tool, &text, &padded(&format!(r#""told":"{person}","next":"{next}""#), round));
        text = format!(r#"{{"team":"north-42","person":"{next}","note":"after {person}"}}"#);
        person = next;
    }
}

/// One loop over a long list.
fn long_loop(file: &mut File, calls: usize) {
    let ids: Vec<String> = (0..calls / 2).map(|_| file.id("tk")).collect();
    file.call("list_tickets", r#"{"queue":"claims-7f21"}"#, &tickets(&ids, 1));
    for (round, id) in ids.iter().enumerate() {
        let person = file.id("usr");
        file.call("get_ticket", &format!(r#"{{"ticket":"{id}"}}"#), &padded(&format!(r#""ticket":"{id}","opened_by":"{person}""#), round));
        file.call("assign", &format!(r#"{{"ticket":"{id}","person":"{person}"}}"#), &padded(r#""done":true"#, round));
    }
}

/// A list of many pages, and a report of everything on them.
fn pages(file: &mut File, calls: usize) {
    let mut cursor = None::<String>;
    let mut all = Vec::new();
    for page in 1..calls {
        let ids: Vec<String> = (0..4).map(|_| file.id("tk")).collect();
        let next = (page + 1 < calls).then(|| file.id("cur"));
        let items: Vec<String> = ids.iter().map(|id| format!(r#"{{"ticket":"{id}"}}"#)).collect();
        let shown = next.as_ref().map_or("null".to_owned(), |n| format!("\"{n}\""));
        let asked = cursor.as_ref().map(|c| format!(r#","cursor":"{c}""#)).unwrap_or_default();
        file.call(
            "list_page",
            &format!(r#"{{"queue":"claims-7f21"{asked}}}"#),
            &padded(&format!(r#""next":{shown},"tickets":[{}]"#, items.join(",")), page),
        );
        all.extend(ids);
        cursor = next;
    }
    file.call("file_report", &format!(r#"{{"title":"All","people":{all:?}}}"#), r#"{"done":true}"#);
}

/// Files are searched, read and edited: results of 8 KiB and arguments of 1 KiB, made of the same few names.
fn code(file: &mut File, calls: usize) {
    let source = |seed: usize, lines: usize| {
        let line = |n: usize| {
            let (a, b) = (NAMES[(seed * 7 + n * 3) % NAMES.len()], NAMES[(seed + n * 5) % NAMES.len()]);
            format!("    let {a}_{} = self.{b}(&{a}, {n})?; // {b} of the {a}\n", seed % 9)
        };
        (0..lines).map(line).collect::<String>()
    };
    for round in 0..calls / 3 {
        let path = format!("src/{}/{}.rs", NAMES[round % NAMES.len()], NAMES[(round * 3) % NAMES.len()]);
        let hits: Vec<String> = (0..20)
            .map(|n| format!(r#"{{"path":"src/{}.rs","line":{n},"text":{}}}"#, NAMES[n % NAMES.len()], quote(&source(n, 1))))
            .collect();
        file.call("search", &format!(r#"{{"pattern":"{}"}}"#, NAMES[round % NAMES.len()]), &format!(r#"{{"hits":[{}]}}"#, hits.join(",")));
        file.call("get_file", &format!(r#"{{"path":"{path}"}}"#), &source(round, 130));
        let (old, new) = (quote(&source(round, 8)), quote(&source(round + 1, 10)));
        file.call(
            "edit_file",
            &format!(r#"{{"path":"{path}","old":{old},"new":{new}}}"#),
            &format!("The file {path} was changed:\n{}", source(round + 1, 20)),
        );
    }
}

/// What things are called in a program.
const NAMES: [&str; 12] =
    ["parser", "reader", "index", "token", "walker", "source_map", "diagnostics", "template", "resolve", "lower_step", "plan", "evaluate"];

/// One result of 50 MB, of which two values are used.
fn huge(file: &mut File, text: fn(&mut File, &str, &str) -> String) {
    let (ticket, person) = (file.id("tk"), file.id("usr"));
    let text = text(file, &ticket, &person);
    file.call("list_tickets", r#"{"queue":"claims-7f21"}"#, &text);
    file.call("get_ticket", &format!(r#"{{"ticket":"{ticket}"}}"#), &padded(&format!(r#""ticket":"{ticket}","opened_by":"{person}""#), 1));
    file.call("assign", &format!(r#"{{"ticket":"{ticket}","person":"{person}"}}"#), &padded(r#""done":true"#, 1));
}

const HUGE: usize = 50_000_000;

fn huge_list(file: &mut File, ticket: &str, person: &str) -> String {
    let mut text = format!(r#"{{"tickets":[{{"ticket":"{ticket}","state":"oldest","holder":"{person}"}}"#);
    let mut count = 0;
    while text.len() < HUGE {
        count += 1;
        let (id, holder) = (file.id("tk"), file.id("usr"));
        let _ = write!(
            text,
            r#",{{"ticket":"{id}","state":"open","holder":"{holder}","age":{count},"labels":["billing","march"],"score":{}.5}}"#,
            count % 77
        );
    }
    text.push_str("]}");
    text
}

fn huge_prose(file: &mut File, ticket: &str, person: &str) -> String {
    let mut text = format!("Oldest ticket: {ticket}\nHeld by {person}.\n\n");
    let mut count = 0;
    while text.len() < HUGE {
        count += 1;
        let id = file.id("tk");
        let _ = writeln!(
            text,
            "{count}. {id} was opened on 2026-02-{:02} by agent {}; the customer asks for a refund soon.",
            count % 27 + 1,
            count % 9
        );
    }
    text
}

fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}
