//! One run of a long workflow that is killed and gone on with, and all that has to hold of it.

use super::support::{Ended, Folder, fixture_server, ltc};
use ltc_runtime::store::{EscalationFilter, Event, Lease, RunId, Store, What, WorkerId};
use ltc_workflow::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

const WORKFLOW: &str = r#"
  - id: look
    call: a/look
  - id: each
    for: { each: n, in: "${{ steps.look.items }}", at_once: 3, gather: "${{ [steps.add.made, steps.inner] }}" }
    steps:
      - id: tick
        call: b/tick
      - id: put
        call: b/put
        with: { name: "${{ n }}", value: "${{ steps.tick.count }}" }
      - id: add
        call: a/add
        with: { name: "n${{ n }}" }
      - id: inner
        for: { each: m, in: "${{ [1, 2] }}", gather: "${{ steps.deep.made }}" }
        steps:
          - id: deep
            call: b/add
            with: { name: "n${{ n }}-${{ m }}" }
  - id: again
    call: a/flaky
    with: { name: third }
    retry: { attempts: 3, backoff: 10ms }
  - id: pause
    wait: PAUSE
  - id: caught
    call: b/broken
    catch:
      steps:
        - id: mend
          call: b/add
          with: { name: mended }
  - id: both
    parallel:
      - steps:
          - id: left
            call: a/add
            with: { name: left }
          - id: ask
            escalate: { role: reviewer, message: "May I?" }
          - id: asked
            call: a/add
            with: { name: "${{ steps.ask.name }}" }
      - steps:
          - id: right
            call: b/add
            with: { name: right }
          - id: sub
            run: child
            with: { name: sub }
  - id: last
    call: a/add
    with: { name: last }
output: "${{ [steps.each, steps.again.made, steps.mend.made, steps.left.made, steps.asked.made, steps.right.made, steps.sub, steps.last.made] }}"
"#;

const CHILD: &str = r#"
inputs: { name: {} }
steps:
  - id: one
    call: b/add
    with: { name: "${{ inputs.name }} one" }
  - id: nap
    wait: 30ms
  - id: two
    call: a/add
    with: { name: "${{ inputs.name }} two" }
output: "${{ [steps.one.made, steps.two.made] }}"
"#;

/// What the workflow gives, as its text says.
const OUTPUT: &str = r#"[[["n1",["n1-1","n1-2"]],["n2",["n2-1","n2-2"]],["n3",["n3-1","n3-2"]],["n4",["n4-1","n4-2"]]],"third","mended","left","asked","right",["sub one","sub two"],"last"]"#;

/// When the process is killed.
#[derive(Clone, Copy, Debug)]
pub enum Kill {
    /// At the nth call that reaches a server of this process.
    Call { server: &'static str, nth: u64, when: When },
    /// At the call of a step.
    Step { server: &'static str, key: &'static str, when: When },
    /// So long after it was started.
    Time(Duration),
}

/// When during a call.
#[derive(Clone, Copy, Debug)]
pub enum When {
    Before,
    After,
    /// So long after the effect: around the answer, the record of the end, and the start of what comes next.
    Micros(u64),
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Before => f.write_str("before"),
            When::After => f.write_str("after"),
            When::Micros(micros) => write!(f, "{micros}"),
        }
    }
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub kills: usize,
    pub in_doubt: usize,
    pub in_doubt_done: usize,
    pub repeated_reads: usize,
    pub writes: usize,
    pub ends_checked: usize,
}

impl Figures {
    pub fn add(&mut self, other: &Figures) {
        self.kills += other.kills;
        self.in_doubt += other.in_doubt;
        self.in_doubt_done += other.in_doubt_done;
        self.repeated_reads += other.repeated_reads;
        self.writes += other.writes;
        self.ends_checked += other.ends_checked;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { kills, in_doubt, in_doubt_done, repeated_reads, writes, ends_checked } = self;
        write!(
            f,
            "{kills} kills; {writes} writes, each done once; {in_doubt} in doubt and asked about, of which {in_doubt_done} had been done; \
             {repeated_reads} reads and idempotent calls made again; {ends_checked} recorded ends after which nothing was called"
        )
    }
}

/// A line of the servers' log.
struct Line {
    is_begin: bool,
    key: String,
    tool: String,
    value: Value,
}

impl Line {
    fn writes(&self) -> bool {
        !["look", "tick", "put"].contains(&self.tool.as_str())
    }
}

/// A run that is killed.
pub struct Trial {
    name: String,
    _folder: Folder,
    workflow: PathBuf,
    log: PathBuf,
    address: String,
    is_shared: bool,
    store: Arc<dyn Store>,
    threads: tokio::runtime::Runtime,
    /// Where a kill found how much in the log, and which steps had ended by the journal.
    kills: Vec<(usize, BTreeSet<String>)>,
    /// Steps that a kill left in doubt, and steps of which a person was asked.
    doubts: BTreeSet<String>,
    asked: BTreeSet<String>,
    /// How often a person said that a step is to be done again.
    agains: BTreeMap<String, usize>,
    output: Option<String>,
    pub figures: Figures,
}

const RUN: &str = "the-run";

impl Trial {
    pub fn new(address: Option<String>, name: &str) -> Trial {
        Trial::with_pause(address, name, "100ms")
    }

    pub fn with_pause(address: Option<String>, name: &str, pause: &str) -> Trial {
        let folder = Folder::new();
        let log = folder.path().join("calls");
        File::create(&log).expect("a log");
        let command = json::quote(&fixture_server().display().to_string());
        let server = |name: &str| {
            let log = json::quote(&log.display().to_string());
            let effects = "{ look: read, tick: read, put: idempotent, add: write, flaky: write, broken: write }";
            format!("  {name}:\n    command: {command}\n    args: [counting, {name}, {log}]\n    effects: {effects}\n")
        };
        let head = |name: &str| format!("workflow: {name}\nversion: 1\nservers:\n{}{}", server("a"), server("b"));
        let steps = WORKFLOW.replace("PAUSE", pause);
        let workflow = folder.file("long.yaml", &format!("{}steps:{steps}", head("long")));
        folder.file("child.yaml", &format!("{}{}", head("child"), CHILD.trim_start()));
        let is_shared = address.is_some();
        let address = address.unwrap_or_else(|| folder.path().join("ltc.db").display().to_string());
        let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
        let store = threads.block_on(ltc_runtime::store::open(&address)).expect("the store opens");
        Trial {
            name: name.to_owned(),
            _folder: folder,
            workflow,
            log,
            address,
            is_shared,
            store,
            threads,
            kills: Vec::new(),
            doubts: BTreeSet::new(),
            asked: BTreeSet::new(),
            agains: BTreeMap::new(),
            output: None,
            figures: Figures::default(),
        }
    }

    /// Goes on with the run until it is killed, waits for an answer (and is answered), or ends; gives whether it has ended.
    pub fn step(&mut self, kill: Option<Kill>) -> bool {
        let is_there = self.threads.block_on(self.store.run(&RunId(RUN.into()))).expect("a store").is_some();
        let mut command = if is_there { ltc(["resume", RUN]) } else { ltc(["run", "--id", RUN]) };
        if !is_there {
            command.arg(&self.workflow);
        }
        command.args(["--store", &self.address]).stdout(Stdio::piped()).stderr(Stdio::piped());
        match kill {
            Some(Kill::Call { server, nth, when }) => drop(command.env("COUNTING_KILL", format!("{server}:{nth}:{when}"))),
            Some(Kill::Step { server, key, when }) => drop(command.env("COUNTING_KILL", format!("{server}:={key}:{when}"))),
            Some(Kill::Time(_)) | None => {}
        }
        let mut child = command.spawn().expect("the command can be started");
        if let Some(Kill::Time(after)) = kill {
            std::thread::sleep(after);
            // It may have ended.
            let _ = child.kill();
        }
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the command writes UTF-8");
        let is_killed = output.status.signal() == Some(9);
        let ended = Ended { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) };
        // Each server holds a shared lock while it lives; what one that nobody talks to any more still does is done then.
        File::open(&self.log).and_then(|log| log.lock()).expect("a lock");
        match (is_killed, ended.code) {
            (true, _) => self.killed(),
            (false, 0) => self.output = Some(ended.stdout),
            (false, 4) => self.answer(),
            (false, _) => panic!("{}: {ended:?}", self.name),
        }
        self.output.is_some()
    }

    /// Goes on without kills, to the end, and checks what was done.
    pub fn finished(mut self) -> Figures {
        for _ in 0..10 {
            if self.output.is_some() || self.step(None) {
                break;
            }
        }
        self.check();
        self.figures
    }

    fn events(&self) -> Vec<Event> {
        self.threads.block_on(self.store.events(&RunId(RUN.into()))).expect("a journal")
    }

    fn lines(&self) -> Vec<Line> {
        let text = std::fs::read_to_string(&self.log).expect("a log");
        let line = |line: &str| {
            let value = json::parse(line.as_bytes()).expect("a line of the log");
            let text = |name: &str| value.get(name).and_then(Value::as_str).expect("a text").to_owned();
            Line {
                is_begin: text("what") == "begin",
                key: text("key"),
                tool: text("tool"),
                value: value.get("value").cloned().unwrap_or_default(),
            }
        };
        text.lines().map(line).collect()
    }

    fn killed(&mut self) {
        self.figures.kills += 1;
        if self.is_shared {
            // A server may still be at the last words of the dead one. Whoever takes the run waits for those and shuts out others; this lease has run out already.
            let now = ltc_runtime::clock::Moment::now();
            let lease = Lease { worker: WorkerId("the test".into()), until: now };
            self.threads.block_on(self.store.claim_run(&RunId(RUN.into()), lease, now.after(Duration::from_secs(60)))).expect("a store");
        }
        let (mut started, mut ended, mut doubts) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for event in self.events() {
            let key = event.key.0.to_string();
            match event.what {
                What::Started => {
                    started.insert(key.clone());
                    doubts.insert(key);
                }
                What::Succeeded(_) | What::Failed(_) => {
                    doubts.remove(&key);
                    ended.insert(key);
                }
                What::Again => {
                    doubts.remove(&key);
                }
                What::SleepUntil(_) | What::Escalated(_) | What::Cancelled => {}
            }
        }
        let lines = self.lines();
        for line in lines.iter().filter(|line| line.is_begin && line.writes()) {
            assert!(started.contains(&line.key), "{}: {} was called, and the journal did not know that it would be", self.name, line.key);
        }
        self.doubts.extend(doubts);
        self.kills.push((lines.len(), ended));
    }

    fn answer(&mut self) {
        let filter = EscalationFilter { role: None, status: None, run: None, now: ltc_runtime::clock::Moment::now(), limit: 1000 };
        let asked = self.threads.block_on(self.store.escalations(filter)).expect("questions");
        let lines = self.lines();
        for question in asked.into_iter().filter(|asked| asked.ended_at.is_none()) {
            let step = question.asked_by.expect("a run asks").1.0.to_string();
            let answer = if question.question.kind == "in-doubt" {
                self.figures.in_doubt += 1;
                self.asked.insert(step.clone());
                match lines.iter().find(|line| line.key == step && !line.is_begin) {
                    Some(done) => {
                        self.figures.in_doubt_done += 1;
                        format!(r#"{{"outcome":"done","result":{}}}"#, json::to_string(&done.value))
                    }
                    None => {
                        *self.agains.entry(step).or_default() += 1;
                        r#"{"outcome":"again"}"#.to_owned()
                    }
                }
            } else {
                r#"{"name":"asked"}"#.to_owned()
            };
            let resolved = super::support::ended(ltc(["resolve", &question.id.0, &answer]).args(["--store", &self.address]));
            assert_eq!(resolved.code, 0, "{}: {resolved:?}", self.name);
        }
    }

    fn check(&mut self) {
        let name = &self.name;
        assert_eq!(self.output.as_deref().map(str::trim_end), Some(OUTPUT), "{name}");
        assert!(self.doubts.is_subset(&self.asked), "{name}: in doubt were {:?}, asked about {:?}", self.doubts, self.asked);
        let lines = self.lines();
        for (position, ended) in &self.kills {
            self.figures.ends_checked += ended.len();
            let again = lines[*position..].iter().find(|line| ended.contains(&line.key));
            assert!(again.is_none(), "{name}: {} had ended, and was called again", again.map_or("", |line| &line.key));
        }
        let (mut begun, mut done) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new());
        let mut first: BTreeMap<&str, &Value> = BTreeMap::new();
        for line in &lines {
            *(if line.is_begin { &mut begun } else { &mut done }).entry(&line.key).or_default() += 1;
            if line.is_begin {
                let known = *first.entry(&line.key).or_insert(&line.value);
                assert_eq!(*known, line.value, "{name}: {} was called with other arguments", line.key);
            }
        }
        let writes: BTreeSet<&str> = lines.iter().filter(|line| line.writes()).map(|line| line.key.as_str()).collect();
        for key in &writes {
            let agains = self.agains.get(*key).copied().unwrap_or_default();
            assert!(begun[key] <= 1 + agains, "{name}: {key} was called {} times", begun[key]);
            let is_failing = ["again", "again@2", "caught"].contains(key);
            assert_eq!(done.get(key).copied().unwrap_or_default(), usize::from(!is_failing), "{name}: {key}");
        }
        // Four in the first loop, eight within it, three attempts, `caught`, `mend`, `left`, `asked`, `right`, two of the child, `last`.
        assert_eq!(writes.len(), 23, "{name}: {writes:?}");
        self.figures.writes += writes.len();
        self.figures.repeated_reads += begun.iter().filter(|(key, _)| !writes.contains(*key)).map(|(_, times)| times - 1).sum::<usize>();
        let mut ends = BTreeMap::new();
        for event in self.events().into_iter().filter(|event| matches!(event.what, What::Succeeded(_) | What::Failed(_))) {
            *ends.entry(event.key.0.to_string()).or_insert(0) += 1;
        }
        let twice: Vec<_> = ends.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "{name}: {twice:?}");
        assert!(writes.iter().all(|key| ends.contains_key(*key)), "{name}");
    }
}
