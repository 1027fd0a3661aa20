//! Calls, results and words as they come → a trace. Every reader of a format feeds one of these; what is the same for all formats is here:
//! results find their call by its id, ids are unique, names are split, calls are in order.

use super::arguments;
use super::names::{self, Name, free_id};
use super::node::Node;
use super::problems::{self, Notes};
use super::turns;
use crate::trace::{Call, Outcome, Server, Tool, Trace};
use ltc_workflow::Object;
use ltc_workflow::Value;
use ltc_workflow::document::Transport;
use ltc_workflow::json;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// So many names of servers are used for splitting names of tools: a hostile file could give more than can be compared.
const KNOWN: usize = 1_000;

/// A call as a recording has it, before it is known how it ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Its id, where it has one.
    pub id: Option<SmolStr>,
    /// When it started, in nanoseconds since 1970.
    pub started_at: Option<i128>,
    /// The message of parallel calls that it belongs to.
    pub turn: Option<u32>,
}

/// How a call ended, and when.
#[derive(Clone, Debug)]
struct Ended {
    outcome: Outcome,
    at: Option<i128>,
    place: String,
}

/// A trace that is being put together.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    /// The trace's id.
    pub id: Option<SmolStr>,
    /// The final output, where it is data.
    pub output: Option<Value>,
    /// The structured input.
    pub input: Option<Object>,
    /// What could not be read, or only with a guess.
    pub notes: Notes,
    calls: Vec<Call>,
    ids: BTreeMap<SmolStr, u32>,
    unnamed: u32,
    open: BTreeMap<SmolStr, VecDeque<usize>>,
    early: BTreeMap<SmolStr, VecDeque<Ended>>,
    left_out: BTreeSet<SmolStr>,
    servers: BTreeMap<SmolStr, Server>,
    tool_places: BTreeMap<(SmolStr, SmolStr), usize>,
    known: BTreeSet<SmolStr>,
    words: Vec<String>,
    unsure: BTreeSet<SmolStr>,
    turn: u32,
}

impl Recorder {
    /// Keeps the user's words; the same words twice in a row are once.
    pub fn words(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() && self.words.last().is_none_or(|last| last != text) {
            self.words.push(text.to_owned());
        }
    }

    /// Whether there are words of the user yet.
    pub fn has_words(&self) -> bool {
        !self.words.is_empty()
    }

    /// Begins a message of parallel calls.
    pub fn next_turn(&mut self) -> u32 {
        self.turn = self.turn.saturating_add(1);
        self.turn
    }

    /// The message of parallel calls that is under way, if one is.
    pub fn turn(&self) -> Option<u32> {
        (self.turn > 0).then_some(self.turn)
    }

    /// A server that there is, though perhaps nothing is known of it but its name.
    pub fn server(&mut self, name: &str) -> &mut Server {
        self.knows(name);
        self.entry(name)
    }

    fn entry(&mut self, name: &str) -> &mut Server {
        self.servers.entry(name.into()).or_insert_with(|| Server { name: name.into(), ..Server::default() })
    }

    /// The servers that the recording names, for splitting names.
    pub fn knows(&mut self, server: &str) {
        if !server.is_empty() && self.known.len() < KNOWN {
            self.known.insert(server.into());
        }
    }

    /// How a server is reached, unless that is known.
    pub fn transport(&mut self, server: &str, transport: Transport) {
        self.server(server).transport.get_or_insert(transport);
    }

    /// A description of a tool; a later one of the same name replaces an earlier one.
    pub fn tool(&mut self, server: &str, tool: Tool) {
        let key = (SmolStr::new(server), tool.name.clone());
        let place = self.tool_places.get(&key).copied();
        let tools = &mut self.entry(server).tools;
        match place.and_then(|place| tools.get_mut(place)) {
            Some(old) => *old = tool,
            None => {
                tools.push(tool);
                let place = tools.len().saturating_sub(1);
                self.tool_places.insert(key, place);
            }
        }
    }

    /// Descriptions of tools whose names have their server in them.
    pub fn tools<'v>(&mut self, tools: impl IntoIterator<Item = Node<'v>>) {
        for node in tools {
            if let Some(tool) = super::tools::read(&node) {
                let name = names::split(&tool.name, &self.known);
                self.tool(&name.server, Tool { name: name.tool, ..tool });
            }
        }
    }

    /// A name as an agent sees it, split.
    pub fn split(&mut self, name: &str) -> Name {
        let split = names::split(name, &self.known);
        if split.unsure && self.unsure.insert(name.into()) {
            self.notes.push(problems::unsure_name(name, &split.server, &split.tool));
        }
        split
    }

    /// A call with arguments in any spelling. Where they are unreadable the call is left out, with a complaint, and so is its result.
    pub fn ask(&mut self, asked: Asked, name: &Name, given: Option<&Value>, place: &str) -> Option<usize> {
        match arguments::read(given) {
            Ok(arguments) => Some(self.call(asked, name, arguments, place)),
            Err(why) => {
                self.notes.push(problems::bad_arguments(place.to_owned(), &name.tool, &why));
                self.left_out.extend(asked.id);
                None
            }
        }
    }

    /// A call. Its id is made unique, and a result that came before it is joined.
    pub fn call(&mut self, asked: Asked, name: &Name, arguments: Object, place: &str) -> usize {
        let index = self.calls.len();
        let id = self.fresh_id(asked.id.as_ref(), place);
        let mut call = Call {
            id,
            server: name.server.clone(),
            tool: name.tool.clone(),
            arguments,
            outcome: Outcome::Missing,
            started_at: asked.started_at,
            ended_at: None,
            turn: asked.turn,
        };
        if let Some(id) = asked.id.filter(|id| !id.is_empty()) {
            match self.early.get_mut(&id).and_then(VecDeque::pop_front) {
                Some(ended) => (call.outcome, call.ended_at) = (ended.outcome, ended.at),
                None => self.open.entry(id).or_default().push_back(index),
            }
        }
        self.calls.push(call);
        index
    }

    fn fresh_id(&mut self, id: Option<&SmolStr>, place: &str) -> SmolStr {
        let Some(wanted) = id.filter(|id| !id.is_empty()) else {
            let id = free_id("call_", &mut self.unnamed, |id| self.ids.contains_key(id));
            self.ids.insert(id.clone(), 1);
            return id;
        };
        let Some(number) = self.ids.get(wanted) else {
            self.ids.insert(wanted.clone(), 1);
            return wanted.clone();
        };
        let mut number = *number;
        let id = free_id(&format!("{wanted}~"), &mut number, |id| self.ids.contains_key(id));
        self.notes.push(problems::same_id(place.to_owned(), wanted, &id));
        self.ids.insert(wanted.clone(), number);
        self.ids.insert(id.clone(), 1);
        id
    }

    /// A result for the call `id`: the first call of that id that has none. It may come before its call.
    pub fn result(&mut self, id: &str, outcome: Outcome, at: Option<i128>, place: String) {
        if self.left_out.contains(id) {
            return;
        }
        match self.open.get_mut(id) {
            Some(queue) => match queue.pop_front() {
                Some(index) => self.end(index, outcome, at),
                None => self.notes.push(problems::second_result(place, id)),
            },
            None => self.early.entry(id.into()).or_default().push_back(Ended { outcome, at, place }),
        }
    }

    /// How the call at `index` ended, in place of what was known.
    pub fn end(&mut self, index: usize, outcome: Outcome, at: Option<i128>) {
        if let Some(call) = self.calls.get_mut(index) {
            call.outcome = outcome;
            call.ended_at = at.or(call.ended_at);
        }
    }

    /// The call at `index`.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Call> {
        self.calls.get_mut(index)
    }

    /// The calls so far.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The trace: in order, with an entry for every server. What was complained about is moved to `notes`.
    pub fn finish(mut self, notes: &mut Notes) -> Trace {
        for (id, ended) in &self.early {
            for ended in ended {
                self.notes.push(problems::result_without_call(ended.place.clone(), id));
            }
        }
        for note in self.notes.into_list() {
            notes.push(note);
        }
        let task = (!self.words.is_empty()).then(|| self.words.join("\n\n"));
        let servers = self.servers.into_values().collect();
        let mut trace = Trace { id: self.id, task, input: self.input, output: self.output, servers, calls: self.calls };
        trace.calls.iter_mut().for_each(make_blocks);
        turns::fill(&mut trace.calls);
        settle(&mut trace);
        trace
    }
}

/// Blocks are objects: what a file has in place of one becomes a block of text.
fn make_blocks(call: &mut Call) {
    let (Outcome::Result(body) | Outcome::ToolError(body)) = &mut call.outcome else {
        return;
    };
    for block in &mut body.content {
        if block.as_object().is_none() {
            let text = block.as_str().map_or_else(|| json::to_string(block), str::to_owned);
            *block = [("type", Value::from("text")), ("text", Value::string(text))].into_iter().collect::<Object>().into();
        }
    }
}

/// Puts a trace into the form that [`Trace`] promises: calls in the order of `started_at` where every one has one, servers in the order of
/// their names, one for each that is called.
pub(crate) fn settle(trace: &mut Trace) {
    if trace.calls.iter().all(|c| c.started_at.is_some()) {
        trace.calls.sort_by_key(|c| c.started_at);
    }
    let listed: BTreeSet<SmolStr> = trace.servers.iter().map(|s| s.name.clone()).collect();
    let called: BTreeSet<SmolStr> = trace.calls.iter().map(|c| c.server.clone()).collect();
    trace.servers.extend(called.difference(&listed).map(|name| Server { name: name.clone(), ..Server::default() }));
    trace.servers.sort_by(|a, b| a.name.cmp(&b.name));
}
