//! Spans → traces: which spans are calls, which are one call, in which order.

use super::messages::{self, Said};
use super::{Kind, Span, Told, dialect};
use crate::ingest::names::Name;
use crate::ingest::node::Node;
use crate::ingest::problems::{self, Notes};
use crate::ingest::recorder::{Asked, Recorder};
use crate::ingest::{arguments, results, words};
use crate::trace::{Outcome, Tool, Trace};
use ltc_workflow::Value;
use ltc_workflow::json;
use smol_str::{SmolStr, format_smolstr};
use std::collections::{BTreeMap, BTreeSet};

/// An ancestor is looked for so many spans up.
const ANCESTORS: usize = 32;

/// A call that is being put together of the spans that tell of it.
struct Piece<'s> {
    told: Told,
    span: &'s Span,
    /// The kinds of the spans that were taken in.
    kinds: BTreeSet<Kind>,
}

/// The traces of `spans`, by trace id, in the order of their first spans; those without calls are left out.
pub(crate) fn assemble(spans: &[Span], notes: &mut Notes) -> Vec<Trace> {
    let mut groups: BTreeMap<&str, Vec<&Span>> = BTreeMap::new();
    for span in spans {
        groups.entry(&span.trace).or_default().push(span);
    }
    let mut groups: Vec<Vec<&Span>> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sort_by(|a, b| (a.start, &a.id).cmp(&(b.start, &b.id))));
    groups.sort_by_key(|group| group.first().and_then(|span| span.start));
    let clients = client_calls(spans);
    groups.iter().filter_map(|group| assemble_one(group, &clients, notes)).collect()
}

/// Session, request and tool of the calls that clients made: a server's span of the same is the same call, even in another trace.
fn client_calls(spans: &[Span]) -> BTreeSet<SmolStr> {
    spans.iter().filter(|s| s.kind == Kind::Client).filter_map(wire_key).collect()
}

fn wire_key(span: &Span) -> Option<SmolStr> {
    let (session, request) = (span.str("mcp.session.id")?, span.get("jsonrpc.request.id")?);
    let name = dialect::name(span)?;
    Some(format_smolstr!("{session} {} {name}", json::to_string(request)))
}

fn assemble_one(group: &[&Span], clients: &BTreeSet<SmolStr>, notes: &mut Notes) -> Option<Trace> {
    let mut recorder = Recorder::default();
    recorder.id = group.first().map(|span| span.trace.clone()).filter(|id| !id.is_empty());
    let pieces = pieces(group, clients);
    // What went into a tool and came out of it is no conversation, whatever it looks like.
    let of_model = |span: &&Span| if dialect::name(span).is_some() { Default::default() } else { messages::of_span(span) };
    let said: Vec<(Vec<Said>, Vec<Said>)> = group.iter().map(of_model).collect();
    keep_words(&mut recorder, group, &said);
    let mut tools: BTreeMap<SmolStr, SmolStr> = BTreeMap::new();
    if pieces.is_empty() {
        from_messages(&mut recorder, group, &said);
    } else {
        from_pieces(&mut recorder, &pieces, &said, &mut tools);
    }
    if recorder.calls().is_empty() {
        return None;
    }
    describe(&mut recorder, group, &tools);
    Some(recorder.finish(notes))
}

/// The spans of tools; one whose ancestor tells of the same call adds what that one does not know.
fn pieces<'s>(group: &[&'s Span], clients: &BTreeSet<SmolStr>) -> Vec<Piece<'s>> {
    let parents: BTreeMap<&str, &str> = group.iter().map(|span| (span.id.as_str(), span.parent.as_str())).collect();
    let mut pieces: Vec<Piece<'s>> = Vec::new();
    let mut by_span: BTreeMap<&str, usize> = BTreeMap::new();
    for span in group {
        let Some(told) = dialect::told(span) else {
            continue;
        };
        if span.kind == Kind::Server
            && wire_key(span).is_some_and(|key| clients.contains(&key))
            && !has_tool_above(span, &parents, &by_span)
        {
            continue;
        }
        let above = ancestors(span, &parents).find_map(|id| by_span.get(id).copied());
        let same = above.filter(|at| pieces.get(*at).is_some_and(|piece| is_same(piece, &told, span)));
        match same.and_then(|at| Some((at, pieces.get_mut(at)?))) {
            Some((at, piece)) => {
                piece.kinds.insert(span.kind);
                piece.told = merged(&piece.told, told);
                by_span.insert(&span.id, at);
            }
            None => {
                by_span.insert(&span.id, pieces.len());
                pieces.push(Piece { told, span, kinds: BTreeSet::from([span.kind]) });
            }
        }
    }
    pieces
}

fn ancestors<'s>(span: &'s Span, parents: &'s BTreeMap<&str, &str>) -> impl Iterator<Item = &'s str> {
    std::iter::successors(Some(span.parent.as_str()), |id| parents.get(*id).copied()).take(ANCESTORS)
}

fn has_tool_above(span: &Span, parents: &BTreeMap<&str, &str>, by_span: &BTreeMap<&str, usize>) -> bool {
    ancestors(span, parents).any(|id| by_span.contains_key(id))
}

/// One call has one span of a kind, and its spans agree on the tool and, where both know them, on the arguments.
fn is_same(piece: &Piece<'_>, told: &Told, span: &Span) -> bool {
    let bare = |name: &SmolStr| name.rsplit("__").next().map(SmolStr::new);
    let agree = match (&piece.told.arguments, &told.arguments) {
        (Some(a), Some(b)) => arguments::read(Some(a)) == arguments::read(Some(b)),
        _ => true,
    };
    agree && bare(&piece.told.name) == bare(&told.name) && !piece.kinds.contains(&span.kind)
}

/// The outer span knows the call's id; the inner one is nearer to the server, and knows its name and its result as they were. A result
/// says more than the status of a span.
fn merged(outer: &Told, inner: Told) -> Told {
    let from_inner = inner.has_result || (!outer.has_result && inner.outcome.is_some());
    Told {
        id: outer.id.clone().or(inner.id),
        name: outer.name.clone(),
        server: outer.server.clone().or(inner.server),
        arguments: outer.arguments.clone().or(inner.arguments),
        outcome: if from_inner { inner.outcome } else { outer.outcome.clone() },
        has_result: outer.has_result || inner.has_result,
    }
}

/// The user's words: those of the first span that has any.
fn keep_words(recorder: &mut Recorder, group: &[&Span], said: &[(Vec<Said>, Vec<Said>)]) {
    for (input, _) in said {
        for part in input {
            if let Said::Words(text) = part {
                words::keep(recorder, &Value::String(text.clone()));
            }
        }
        if recorder.has_words() {
            return;
        }
    }
    let plain = group
        .iter()
        .filter(|s| dialect::name(s).is_none())
        .find_map(|s| s.str("input.value").filter(|t| !t.trim_start().starts_with(['{', '['])));
    recorder.words(plain.unwrap_or_default());
}

fn from_pieces(recorder: &mut Recorder, pieces: &[Piece<'_>], said: &[(Vec<Said>, Vec<Said>)], tools: &mut BTreeMap<SmolStr, SmolStr>) {
    let turns = turns(pieces);
    let parts = || said.iter().flat_map(|(input, output)| input.iter().chain(output));
    let given: BTreeMap<&SmolStr, &Value> =
        parts().filter_map(|p| if let Said::Call { id: Some(id), arguments, .. } = p { Some((id, arguments)) } else { None }).collect();
    let returned: BTreeMap<&SmolStr, (&Value, bool)> =
        parts().filter_map(|p| if let Said::Result { id, value, is_error } = p { Some((id, (value, *is_error))) } else { None }).collect();
    for (piece, turn) in pieces.iter().zip(turns) {
        let told = &piece.told;
        let split = recorder.split(&told.name);
        let name = match &told.server {
            Some(server) if split == Name::plain(&told.name) => Name::of(server, &told.name),
            _ => split,
        };
        tools.insert(told.name.clone(), name.server.clone());
        let arguments = told.arguments.as_ref().or_else(|| given.get(told.id.as_ref()?).copied());
        if arguments.is_none() {
            recorder.notes.push(problems::no_arguments(piece.span.place.clone(), &name.tool));
        }
        let asked = Asked { id: told.id.clone(), started_at: piece.span.start, turn };
        let Some(index) = recorder.ask(asked, &name, arguments, &piece.span.place) else {
            continue;
        };
        let from_message =
            || told.id.as_ref().and_then(|id| returned.get(id)).map(|(value, is_error)| results::peel(value).outcome(*is_error));
        let outcome = told.outcome.clone().or_else(from_message).unwrap_or_else(|| {
            recorder.notes.push(problems::no_result(piece.span.place.clone(), &name.tool));
            Outcome::Missing
        });
        recorder.end(index, outcome, piece.span.end);
    }
}

/// Siblings that were under way at once are one turn.
fn turns(pieces: &[Piece<'_>]) -> Vec<Option<u32>> {
    let mut open: BTreeMap<&str, (usize, Option<i128>)> = BTreeMap::new();
    let mut groups: Vec<usize> = Vec::new();
    let mut count = 0;
    for piece in pieces {
        let (start, end) = (piece.span.start, piece.span.end);
        if start.is_none() || end.is_none() {
            return vec![None; pieces.len()];
        }
        let entry = open.entry(&piece.span.parent).or_insert((0, None));
        if entry.1.is_none() || start >= entry.1 {
            count += 1;
            *entry = (count, end);
        }
        entry.1 = entry.1.min(end);
        groups.push(entry.0);
    }
    groups.into_iter().map(|group| u32::try_from(group).ok()).collect()
}

/// The calls in the messages of models: each id once, in the order in which models made them.
fn from_messages(recorder: &mut Recorder, group: &[&Span], said: &[(Vec<Said>, Vec<Said>)]) {
    let (mut seen, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for (span, (input, output)) in group.iter().zip(said) {
        for (parts, is_output) in [(input, false), (output, true)] {
            let mut turn = None;
            for part in parts {
                match part {
                    Said::Words(_) => turn = None,
                    Said::Call { id, name, arguments } => {
                        let is_new = id.as_ref().map_or(is_output, |id| seen.insert(id.clone()));
                        if is_new {
                            let turn = *turn.get_or_insert_with(|| recorder.next_turn());
                            let name = recorder.split(name);
                            let asked = Asked { id: id.clone(), started_at: None, turn: Some(turn) };
                            recorder.ask(asked, &name, Some(arguments), &span.place);
                        }
                    }
                    Said::Result { id, value, is_error } => {
                        turn = None;
                        if answered.insert(id.clone()) {
                            recorder.result(id, results::peel(value).outcome(*is_error), None, span.place.clone());
                        }
                    }
                }
            }
        }
    }
}

/// Descriptions of tools, on the spans of models and of the tools themselves.
fn describe(recorder: &mut Recorder, group: &[&Span], servers: &BTreeMap<SmolStr, SmolStr>) {
    let mut found: BTreeMap<SmolStr, Tool> = BTreeMap::new();
    for span in group {
        let definitions = ["gen_ai.tool.definitions", "gen_ai.request.tools", "ai.prompt.tools"].iter().filter_map(|key| span.get(key));
        let flat = (0..256).map_while(|i| span.get(&format!("llm.tools.{i}.tool.json_schema")));
        for value in definitions.chain(flat) {
            let parsed = value.as_str().and_then(|text| json::parse(text.as_bytes()).ok());
            let value = parsed.as_ref().unwrap_or(value);
            let items = value.as_array().unwrap_or(std::slice::from_ref(value));
            for item in items {
                let parsed = item.as_str().and_then(|text| json::parse(text.as_bytes()).ok());
                if let Some(tool) = crate::ingest::tools::read(&Node::root(parsed.as_ref().unwrap_or(item), None)) {
                    found.insert(tool.name.clone(), tool);
                }
            }
        }
        let description = span.str("gen_ai.tool.description").or(span.str("tool.description"));
        if let (Some(description), Some(name)) = (description, dialect::name(span).map(SmolStr::new)) {
            let schema =
                span.str("tool.parameters").and_then(|text| json::parse(text.as_bytes()).ok()).filter(|s| s.get("properties").is_some());
            let tool = Tool { name: name.clone(), description: Some(description.to_owned()), input_schema: schema, ..Tool::default() };
            found.entry(name).or_insert(tool);
        }
    }
    for (name, tool) in found {
        match servers.get(&name) {
            Some(server) => {
                let name = recorder.split(&name).tool;
                recorder.tool(server, Tool { name, ..tool });
            }
            None => {
                let split = recorder.split(&name);
                recorder.tool(&split.server, Tool { name: split.tool, ..tool });
            }
        }
    }
}
