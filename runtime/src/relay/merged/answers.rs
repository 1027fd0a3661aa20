//! What servers send, and whose it is.

use super::super::message::{self, Kind, at, kind};
use super::{Asked, Hub, Then};
use crate::text;
use ltc_workflow::{Value, json};
use smol_str::SmolStr;

/// Where a message says which subscription it belongs to: by the id of the request that began it.
const SUBSCRIPTION: [&str; 3] = ["params", "_meta", "io.modelcontextprotocol/subscriptionId"];
/// Where a request says how its progress is called.
const TOKEN: [&str; 3] = ["params", "_meta", "progressToken"];

impl Hub<'_> {
    /// A line of a server.
    pub(super) fn server_line(&mut self, server: usize, bytes: &[u8]) {
        match json::parse(bytes) {
            Ok(Value::Array(batch)) => batch.iter().for_each(|message| self.server_message(server, message)),
            Ok(message) => self.server_message(server, &message),
            Err(error) => self.unreadable(server, bytes, &error.to_string()),
        }
    }

    /// What looks like an answer and cannot be read is an error for who waits; everything else is something that the server said.
    fn unreadable(&mut self, server: usize, bytes: &[u8], why: &str) {
        let id = crate::upstream::wire::id_text(bytes).and_then(|id| id.parse::<i64>().ok());
        let waits = id.filter(|id| self.pending.get(id).is_some_and(|pending| pending.server == server));
        if let Some(id) = waits {
            let why = format!("the server's answer cannot be read: {why}");
            return self.server_message(server, &message::error(&Value::from(id), super::PARSE_ERROR, &why));
        }
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
        let shown = self.relay.log.redact(&text::one_line(&shown));
        self.relay.log.server_said(&self.servers[server].name, &format!("(on stdout, no message) {shown}"));
    }

    fn server_message(&mut self, server: usize, message: &Value) {
        self.servers[server].watch.received(message);
        match kind(message) {
            Kind::Answer(id) => {
                let id = id.as_number().and_then(|id| id.as_i64());
                let Some(id) = id.filter(|id| self.pending.get(id).is_some_and(|pending| pending.server == server)) else { return };
                if let Some(pending) = self.pending.remove(&id) {
                    self.answered(server, id, pending.then, message);
                }
            }
            Kind::Request(id, _) => {
                let ours = self.next();
                let token = at(message, &TOKEN).cloned();
                self.asked.insert(ours, Asked { server, id: id.clone(), token });
                let message = message::with(message, &["id"], Value::from(ours));
                self.say(message::with(&message, &TOKEN, Value::from(ours)));
            }
            Kind::Notification(method) => self.server_notification(server, method, message),
            Kind::Other => {}
        }
    }

    /// The answer to a request of ours.
    pub(super) fn answered(&mut self, server: usize, id: i64, then: Then, answer: &Value) {
        match then {
            Then::Pass(client) => {
                self.remember_task(server, answer);
                self.say(message::with(answer, &["id"], client));
            }
            Then::Greeting => self.greeted(server, answer),
            Then::Page(list) => self.page(list, server, id, answer),
            Then::Turn(turn) if answer.get("result").is_some() => {
                self.remember_task(server, answer);
                if let Some(turn) = self.turns.remove(&turn) {
                    self.say(message::with(answer, &["id"], turn.client));
                }
            }
            Then::Turn(turn) => self.next_turn(turn, answer),
            Then::Fan(fan) => {
                let Some(open) = self.fans.get_mut(&fan) else { return };
                open.open = open.open.saturating_sub(1);
                if open.open == 0
                    && let Some(fan) = self.fans.remove(&fan)
                {
                    self.say(message::with(answer, &["id"], fan.client));
                }
            }
            Then::Ignore => {}
        }
    }

    /// Who asks for a task later is sent to the server that has it.
    fn remember_task(&mut self, server: usize, answer: &Value) {
        let task = at(answer, &["result", "task", "taskId"]).or(at(answer, &["result", "taskId"])).and_then(Value::as_str);
        if let Some(task) = task {
            self.tasks.insert(SmolStr::new(task), server);
        }
    }

    fn server_notification(&mut self, server: usize, method: &str, message: &Value) {
        if method == "notifications/cancelled" {
            let path = ["params", "requestId"];
            let theirs = at(message, &path);
            let found = self.asked.iter().find(|(_, asked)| asked.server == server && Some(&asked.id) == theirs).map(|(id, _)| *id);
            if let Some(id) = found {
                self.asked.remove(&id);
                self.say(message::with(message, &path, Value::from(id)));
            }
            return;
        }
        let Some(subscription) = at(message, &SUBSCRIPTION) else { return self.say(message.clone()) };
        let pending = subscription.as_number().and_then(|id| id.as_i64()).and_then(|id| self.pending.get(&id));
        let fan = match pending.filter(|pending| pending.server == server).map(|pending| &pending.then) {
            Some(Then::Fan(fan)) => *fan,
            Some(Then::Pass(_) | Then::Greeting | Then::Page(_) | Then::Turn(_) | Then::Ignore) | None => return,
        };
        let Some(fan) = self.fans.get_mut(&fan) else { return };
        let is_acknowledgement = method == "notifications/subscriptions/acknowledged";
        if !(is_acknowledgement && std::mem::replace(&mut fan.is_acknowledged, true)) {
            let client = fan.client.clone();
            self.say(message::with(message, &SUBSCRIPTION, client));
        }
    }
}
