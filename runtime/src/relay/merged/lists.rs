//! Lists of several servers, page by page, as one; and what several servers say of themselves, as one.

use super::super::message::{self, at, result};
use super::super::naming::apart;
use super::servers::Event;
use super::{Hub, INVALID_PARAMS, SERVER_FAILED, Then};
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::time::Duration;

/// How long a server may take to say what it has.
const LONGEST_LIST: Duration = Duration::from_secs(30);
/// The most pages of one server.
const MOST_PAGES: usize = 1000;

/// What is asked of all servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
    /// What the servers are, in the era without a handshake.
    Discovery,
}

impl List {
    const ALL: [List; 5] = [List::Tools, List::Prompts, List::Resources, List::Templates, List::Discovery];

    pub fn asked_by(method: &str) -> Option<List> {
        List::ALL.into_iter().find(|list| list.method() == method)
    }

    pub fn method(self) -> &'static str {
        match self {
            List::Tools => "tools/list",
            List::Prompts => "prompts/list",
            List::Resources => "resources/list",
            List::Templates => "resources/templates/list",
            List::Discovery => "server/discover",
        }
    }

    pub fn one(self) -> &'static str {
        match self {
            List::Tools => "tool",
            List::Prompts => "prompt",
            List::Resources => "resource",
            List::Templates => "template",
            List::Discovery => "server",
        }
    }

    fn key(self) -> &'static str {
        match self {
            List::Tools => "tools",
            List::Prompts => "prompts",
            List::Resources => "resources",
            List::Templates => "resourceTemplates",
            List::Discovery => "capabilities",
        }
    }

    fn capability(self) -> Option<&'static str> {
        match self {
            List::Tools => Some("tools"),
            List::Prompts => Some("prompts"),
            List::Resources | List::Templates => Some("resources"),
            List::Discovery => None,
        }
    }
}

/// A request of the client, and where in it the name stands that nobody knows yet.
type Unknown = (Vec<SmolStr>, Value);

/// A list that is being put together.
pub struct Gather {
    list: List,
    /// Who asked; nobody where the names are for us.
    pub client: Option<Value>,
    message: Value,
    open: usize,
    parts: Vec<Vec<Value>>,
    pages: usize,
    /// The first answer, without what is listed: the rest of it is that of the whole.
    base: Option<Object>,
    refusal: Option<Value>,
    discovered: Vec<Value>,
    then: Option<Unknown>,
}

impl Gather {
    pub fn is_ours(&self) -> bool {
        self.client.is_none()
    }
}

impl Hub<'_> {
    /// Asks every server that may have some.
    pub(super) fn gather(&mut self, list: List, client: Option<Value>, message: &Value, then: Option<Unknown>) {
        // All pages come at once, so there is no cursor of ours; and many servers cannot report one progress.
        let message = without(&without(message, &["params"], "cursor"), &["params", "_meta"], "progressToken");
        let asked: Vec<usize> = (0..self.servers.len())
            .filter(|server| !self.servers[*server].is_gone() && list.capability().is_none_or(|own| self.servers[*server].can(own)))
            .collect();
        let number = self.next();
        let parts = vec![Vec::new(); self.servers.len()];
        let gather = Gather {
            list,
            client,
            message: message.clone(),
            // One more, so that it does not end before all are asked.
            open: asked.len() + 1,
            parts,
            pages: 0,
            base: None,
            refusal: None,
            discovered: Vec::new(),
            then,
        };
        self.gathers.insert(number, gather);
        for server in asked {
            self.ask(server, &message, Then::Page(number));
        }
        let events = self.events.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LONGEST_LIST).await;
            let _ = events.send(Event::LateList(number)).await;
        });
        self.part_done(number);
    }

    /// A page of one server.
    pub(super) fn page(&mut self, number: i64, server: usize, _id: i64, answer: &Value) {
        let Some(gather) = self.gathers.get_mut(&number) else { return };
        let Some(found) = answer.get("result").and_then(Value::as_object) else {
            gather.refusal.get_or_insert_with(|| answer.get("error").cloned().unwrap_or_default());
            return self.part_done(number);
        };
        if gather.list == List::Discovery {
            let found = Value::Object(found.clone());
            self.servers[server].said = Some(found.clone());
            gather.discovered.push(found);
            return self.part_done(number);
        }
        gather.parts[server].extend(found.get(gather.list.key()).and_then(Value::as_array).unwrap_or_default().iter().cloned());
        gather.pages += 1;
        let mut base = found.clone();
        base.remove("nextCursor");
        gather.base.get_or_insert(base);
        match found.get("nextCursor").filter(|cursor| !cursor.is_null() && gather.pages < MOST_PAGES) {
            Some(cursor) => {
                let mut params = gather.message.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
                params.insert("cursor", cursor.clone());
                let mut message = gather.message.as_object().cloned().unwrap_or_default();
                message.insert("params", params.into());
                self.ask(server, &message.into(), Then::Page(number));
            }
            None => self.part_done(number),
        }
    }

    fn part_done(&mut self, number: i64) {
        let Some(gather) = self.gathers.get_mut(&number) else { return };
        gather.open = gather.open.saturating_sub(1);
        if gather.open == 0 {
            self.finish_list(number);
        }
    }

    /// All have answered, or had the time to.
    pub(super) fn finish_list(&mut self, number: i64) {
        let Some(mut gather) = self.gathers.remove(&number) else { return };
        self.pending.retain(|_, pending| !matches!(pending.then, Then::Page(of) if of == number));
        if gather.list == List::Discovery {
            return self.discovered(gather);
        }
        let items = self.learn(&mut gather);
        if let Some(client) = &gather.client {
            match (gather.base, gather.refusal) {
                // A list that nobody can make is refused as the first one refused it.
                (None, Some(refusal)) if items.is_empty() => {
                    let object: Object =
                        [("jsonrpc", Value::from("2.0")), ("id", client.clone()), ("error", refusal)].into_iter().collect();
                    self.say(object.into());
                }
                (base, _) => {
                    let mut whole = base.unwrap_or_default();
                    whole.insert(gather.list.key(), Value::array(items));
                    self.say(result(client, whole.into()));
                }
            }
        }
        if let Some((path, message)) = gather.then {
            let path: Vec<&str> = path.iter().map(SmolStr::as_str).collect();
            let id = message.get("id").cloned().unwrap_or_default();
            if !self.pass_named(gather.list, &path, &id, &message) {
                let name = at(&message, &path).and_then(Value::as_str).unwrap_or_default();
                self.refuse(&id, INVALID_PARAMS, &format!("there is no {} `{name}`", gather.list.one()));
            }
        }
    }

    /// Keeps whose is what, and gives the items as the client sees them.
    fn learn(&mut self, gather: &mut Gather) -> Vec<Value> {
        let parts = std::mem::take(&mut gather.parts);
        if gather.list == List::Resources {
            for (server, part) in parts.iter().enumerate() {
                for uri in part.iter().filter_map(|item| item.get("uri")?.as_str()) {
                    let owner = *self.resources.entry(uri.into()).or_insert(server);
                    if owner != server {
                        let words = format!("its resource {uri} is hidden by that of {}", self.servers[owner].name);
                        self.relay.log.server_said(&self.servers[server].name, &crate::text::one_line(&words));
                    }
                }
            }
        }
        if !matches!(gather.list, List::Tools | List::Prompts) {
            return parts.into_iter().flatten().collect();
        }
        let name_of = |item: &Value| item.get("name").and_then(Value::as_str).map(SmolStr::new);
        for (server, part) in parts.iter().enumerate() {
            let names: Vec<SmolStr> = part.iter().filter_map(name_of).collect();
            // What a server had that is gone is remembered: a call starts it again.
            if !names.is_empty() || !self.servers[server].is_gone() {
                let known = &mut self.servers[server];
                *(if gather.list == List::Tools { &mut known.tools } else { &mut known.prompts }) = names;
            }
        }
        let of = |server: &super::Server| if gather.list == List::Tools { server.tools.clone() } else { server.prompts.clone() };
        let known: Vec<(usize, SmolStr)> =
            self.servers.iter().enumerate().flat_map(|(at, server)| of(server).into_iter().map(move |name| (at, name))).collect();
        let items: Vec<(SmolStr, SmolStr)> = known.iter().map(|(at, name)| (self.servers[*at].name.clone(), name.clone())).collect();
        let names = apart(self.relay.naming.as_ref(), &items);
        let by_own: std::collections::BTreeMap<&(usize, SmolStr), &SmolStr> = known.iter().zip(&names).collect();
        let shown = |server: usize, item: &Value| {
            let name = by_own.get(&(server, name_of(item)?))?;
            Some(message::with(item, &["name"], Value::String((*name).clone())))
        };
        let shown = parts.iter().enumerate().flat_map(|(server, part)| part.iter().filter_map(move |item| shown(server, item))).collect();
        let routes = names.iter().cloned().zip(known.iter().cloned()).collect();
        *(if gather.list == List::Tools { &mut self.tools } else { &mut self.prompts }) = routes;
        shown
    }

    /// Servers that all speak the era without a handshake are one that does; else the client is told no, and shakes hands.
    fn discovered(&mut self, gather: Gather) {
        let Some(client) = &gather.client else { return };
        if let Some(refusal) = gather.refusal {
            let object: Object = [("jsonrpc", Value::from("2.0")), ("id", client.clone()), ("error", refusal)].into_iter().collect();
            return self.say(object.into());
        }
        let said: Vec<(&SmolStr, &Value)> = self.servers.iter().filter_map(|known| Some((&known.name, known.said.as_ref()?))).collect();
        if said.is_empty() {
            return self.refuse(client, SERVER_FAILED, "no server answered");
        }
        let merged = greeting(&said);
        self.say(result(client, merged));
    }
}

/// What servers say of themselves, as one: the oldest version that one of them speaks, versions that all of them speak, and everything that any of
/// them can do.
pub fn greeting(said: &[(&SmolStr, &Value)]) -> Value {
    let mut whole = said.first().and_then(|(_, first)| first.as_object()).cloned().unwrap_or_default();
    let field = |key: &'static str| said.iter().filter_map(move |(_, one)| one.get(key));
    if let Some(oldest) = field("protocolVersion").filter_map(Value::as_str).min() {
        whole.insert("protocolVersion", Value::from(oldest));
    }
    let versions: Vec<&[Value]> = field("supportedVersions").filter_map(Value::as_array).collect();
    if let Some((first, others)) = versions.split_first() {
        let common = first.iter().filter(|version| others.iter().all(|other| other.contains(version)));
        whole.insert("supportedVersions", common.cloned().collect());
    }
    whole.insert("capabilities", field("capabilities").fold(Object::default().into(), |all, one| union(&all, one)));
    let us: Object = [("name", Value::from("ltc")), ("version", Value::from(env!("CARGO_PKG_VERSION")))].into_iter().collect();
    if whole.contains_key("serverInfo") {
        whole.insert("serverInfo", us.into());
    }
    let words = said.iter().filter_map(|(name, one)| Some(format!("{name}:\n{}", one.get("instructions")?.as_str()?)));
    let words = words.collect::<Vec<String>>().join("\n\n");
    if !words.is_empty() {
        whole.insert("instructions", Value::string(words));
    }
    whole.into()
}

/// Everything that is in one of the two; `true` wins.
fn union(one: &Value, other: &Value) -> Value {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut all = one.clone();
            for (key, value) in other.iter() {
                let joined = one.get(key).map_or_else(|| value.clone(), |own| union(own, value));
                all.insert(key.clone(), joined);
            }
            all.into()
        }
        (Value::Bool(false) | Value::Null, other) => other.clone(),
        (one, _) => one.clone(),
    }
}

/// `message` without the key in the object at the end of `path`.
fn without(message: &Value, path: &[&str], key: &str) -> Value {
    let Some(mut object) = at(message, path).and_then(Value::as_object).cloned() else { return message.clone() };
    object.remove(key);
    message::with(message, path, object.into())
}
