//! What the client sends, and where it goes.

use super::super::message::{self, Kind, at, kind, result};
use super::lists::List;
use super::{Fan, Hello, Hub, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Then, Turn};
use ltc_workflow::{Object, Value, json};
use smol_str::SmolStr;

impl Hub<'_> {
    /// A line of the client.
    pub(super) fn client_line(&mut self, bytes: &[u8]) {
        match json::parse(bytes) {
            Err(error) => {
                let id = crate::upstream::wire::id_text(bytes).and_then(|id| json::parse(id.as_bytes()).ok()).unwrap_or_default();
                self.refuse(&id, PARSE_ERROR, &error.to_string());
            }
            Ok(Value::Array(batch)) => batch.iter().for_each(|message| self.client_message(message)),
            Ok(message) => self.client_message(&message),
        }
    }

    fn client_message(&mut self, message: &Value) {
        match kind(message) {
            Kind::Request(id, method) => self.client_request(id, method, message),
            Kind::Notification(method) => self.client_notification(method, message),
            Kind::Answer(id) => {
                let asked = id.as_number().and_then(|id| id.as_i64()).and_then(|id| self.asked.remove(&id));
                // An answer to nothing is for nobody.
                if let Some(asked) = asked {
                    self.tell(asked.server, message::with(message, &["id"], asked.id));
                }
            }
            Kind::Other => self.refuse(&message.get("id").cloned().unwrap_or_default(), INVALID_REQUEST, "this is no message"),
        }
    }

    fn client_request(&mut self, id: &Value, method: &str, message: &Value) {
        if let Some(list) = List::asked_by(method) {
            return self.gather(list, Some(id.clone()), message, None);
        }
        match method {
            "initialize" => {
                let params = message.get("params").cloned().unwrap_or_else(|| Object::default().into());
                self.greeting = Some(params.clone());
                self.hello = Some(Hello { client: id.clone(), open: self.servers.len(), refusals: Vec::new() });
                for server in 0..self.servers.len() {
                    self.greet(server, params.clone());
                }
            }
            "ping" => self.say(result(id, Object::default().into())),
            "logging/setLevel" => {
                for server in self.all_that_can("logging") {
                    self.ask(server, message, Then::Ignore);
                }
                self.say(result(id, Object::default().into()));
            }
            "tools/call" => self.named(List::Tools, &["params", "name"], id, message),
            "prompts/get" => self.named(List::Prompts, &["params", "name"], id, message),
            "completion/complete" if at(message, &["params", "ref", "name"]).is_some() => {
                self.named(List::Prompts, &["params", "ref", "name"], id, message);
            }
            "completion/complete" => self.about(id, message, &["params", "ref", "uri"], "completions"),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => self.about(id, message, &["params", "uri"], "resources"),
            "subscriptions/listen" => {
                let fan = self.next();
                let all: Vec<usize> = (0..self.servers.len()).collect();
                self.fans.insert(fan, Fan { client: id.clone(), open: all.len(), is_acknowledged: false });
                for server in all {
                    self.ask(server, message, Then::Fan(fan));
                }
            }
            _ => {
                let task = at(message, &["params", "taskId"]).and_then(Value::as_str).and_then(|task| self.tasks.get(task).copied());
                match task {
                    Some(server) => drop(self.ask(server, message, Then::Pass(id.clone()))),
                    None => self.in_turn(id, message, (0..self.servers.len()).collect()),
                }
            }
        }
    }

    fn all_that_can(&self, capability: &str) -> Vec<usize> {
        let able = self.servers.iter().enumerate().filter(|(_, server)| server.can(capability) && !server.is_gone());
        able.map(|(at, _)| at).collect()
    }

    /// A request for a tool or prompt: by the name that the client was given for it.
    pub(super) fn named(&mut self, list: List, path: &[&str], id: &Value, message: &Value) {
        let name = at(message, path).and_then(Value::as_str).unwrap_or_default();
        if self.pass_named(list, path, id, message) {
            return;
        }
        // A client may know a name from another day: the servers say what there is.
        if self.gathers.values().filter(|gather| gather.is_ours()).count() < 64 {
            let path = path.iter().map(SmolStr::new).collect();
            return self.gather(list, None, &message::request(0, list.method(), Object::default().into()), Some((path, message.clone())));
        }
        self.refuse(id, INVALID_PARAMS, &format!("there is no {} `{name}`", list.one()));
    }

    /// Passes the request on, if its name is known.
    pub(super) fn pass_named(&mut self, list: List, path: &[&str], id: &Value, message: &Value) -> bool {
        let Some(name) = at(message, path).and_then(Value::as_str) else { return false };
        let names = if list == List::Tools { &self.tools } else { &self.prompts };
        let Some((server, own)) = names.get(name).cloned() else { return false };
        self.ask(server, &message::with(message, path, Value::String(own)), Then::Pass(id.clone()));
        true
    }

    /// A request about a resource: to the server that listed it, else to one after the other.
    fn about(&mut self, id: &Value, message: &Value, path: &[&str], capability: &str) {
        let uri = at(message, path).and_then(Value::as_str).unwrap_or_default();
        match self.resources.get(uri).copied() {
            Some(server) => drop(self.ask(server, message, Then::Pass(id.clone()))),
            None => self.in_turn(id, message, self.all_that_can(capability)),
        }
    }

    fn in_turn(&mut self, id: &Value, message: &Value, mut servers: Vec<usize>) {
        servers.reverse();
        let turn = self.next();
        let none = message::error(id, -32601, "no server knows this");
        self.turns.insert(turn, Turn { client: id.clone(), message: message.clone(), left: servers });
        self.next_turn(turn, &none);
    }

    /// Asks the next server, or says what the last one said.
    pub(super) fn next_turn(&mut self, turn: i64, said: &Value) {
        let Some(asked) = self.turns.get_mut(&turn) else { return };
        match asked.left.pop() {
            Some(server) => {
                let message = asked.message.clone();
                self.ask(server, &message, Then::Turn(turn));
            }
            None => {
                let Some(Turn { client, .. }) = self.turns.remove(&turn) else { return };
                self.say(message::with(said, &["id"], client));
            }
        }
    }

    fn client_notification(&mut self, method: &str, message: &Value) {
        match method {
            "notifications/cancelled" => self.cancelled(message),
            "notifications/progress" => {
                let path = ["params", "progressToken"];
                let asked = at(message, &path).and_then(Value::as_number).and_then(|id| id.as_i64()).and_then(|id| self.asked.get(&id));
                if let Some((server, token)) = asked.and_then(|asked| Some((asked.server, asked.token.clone()?))) {
                    self.tell(server, message::with(message, &path, token));
                }
            }
            _ => {
                self.is_initialized |= method == "notifications/initialized";
                for server in 0..self.servers.len() {
                    if !self.servers[server].is_gone() {
                        self.tell(server, message.clone());
                    }
                }
            }
        }
    }

    /// The client waits no longer: whoever works on the request is told, under the id that it knows.
    fn cancelled(&mut self, message: &Value) {
        let path = ["params", "requestId"];
        let Some(client) = at(message, &path).cloned() else { return };
        self.gathers.retain(|_, gather| gather.client.as_ref() != Some(&client));
        let is_its = |hub: &Self, then: &Then| match then {
            Then::Pass(id) => *id == client,
            Then::Turn(turn) => hub.turns.get(turn).is_some_and(|turn| turn.client == client),
            Then::Fan(fan) => hub.fans.get(fan).is_some_and(|fan| fan.client == client),
            Then::Greeting | Then::Page(_) | Then::Ignore => false,
        };
        let found: Vec<(i64, usize)> =
            self.pending.iter().filter(|(_, pending)| is_its(self, &pending.then)).map(|(id, pending)| (*id, pending.server)).collect();
        for (id, server) in found {
            self.pending.remove(&id);
            self.tell(server, message::with(message, &path, Value::from(id)));
        }
        self.turns.retain(|_, turn| turn.client != client);
        self.fans.retain(|_, fan| fan.client != client);
    }
}
