//! Text → workflow, or everything that is wrong with it.

use super::Problem;
use super::names::{Names, all_ids};
use super::parts::{Fields, Reader};
use super::steps::{Seen, is_server};
use super::tree::{self, Content, Entry, Node, shorten};
use crate::document::{Server, ToolEffect, Transport, Workflow};
use crate::value::Object;
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// Reads a workflow document.
///
/// # Errors
/// Every mistake, in the order of the text.
pub fn read(text: &str) -> Result<Workflow, Vec<Problem>> {
    let tree = tree::parse(text)?;
    read_tree(text, &tree)
}

pub(super) fn read_tree(text: &str, tree: &tree::Tree) -> Result<Workflow, Vec<Problem>> {
    let mut reader = Reader { source: text, problems: Vec::new(), names: Names::default() };
    let workflow = reader.workflow(&tree.root, header(text));
    let mut problems = reader.problems;
    problems.sort();
    match workflow {
        Some(workflow) if problems.is_empty() => Ok(workflow),
        _ => Err(problems),
    }
}

/// The comment lines at the very top.
pub(super) fn header(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    text.lines().map_while(|line| line.strip_prefix('#')).map(|line| line.strip_prefix(' ').unwrap_or(line).to_string()).collect()
}

impl Reader<'_> {
    fn workflow(&mut self, root: &Node, header: Vec<String>) -> Option<Workflow> {
        let known = ["workflow", "version", "description", "triage", "inputs", "secrets", "servers", "steps", "output"];
        let fields = self.fields(root, "a workflow", &known)?;
        let name = self.required(&fields, "workflow", "a workflow").and_then(|n| self.identifier(n, "a workflow"));
        let version = fields.get("version").map_or(Some(1), |n| self.integer(n, "`version`", 1, i64::from(u32::MAX)));
        let triage = fields.get("triage").is_some_and(|n| self.flag(n, "`triage`") == Some(true));
        let description = fields.get("description").and_then(|n| self.text(n, "`description`")).map(String::from);
        let inputs = fields.get("inputs").map(|n| self.inputs(n)).unwrap_or_default();
        let secrets = fields.get("secrets").map(|n| self.secrets(n)).unwrap_or_default();
        let servers = fields.get("servers").map(|n| self.servers(n)).unwrap_or_default();
        self.names.inputs = inputs.keys().cloned().collect();
        self.names.secrets = secrets.iter().cloned().collect();
        if let Some(steps) = fields.get("steps") {
            all_ids(steps, &mut self.names.all_steps);
        }
        let steps = self.required(&fields, "steps", "a workflow").map(|n| self.steps(n, &mut Seen::new()));
        let output = fields.get("output").map(|n| self.template(n));
        let output = output.map_or(Some(None), |o| o.map(Some))?;
        Some(Workflow { header, name: name?, version: version?, description, triage, inputs, secrets, servers, steps: steps?, output })
    }

    fn inputs(&mut self, node: &Node) -> Object {
        let mut inputs = Vec::new();
        for entry in self.map(node, "`inputs`") {
            if matches!(entry.value.content, Content::Map(_)) {
                inputs.push((entry.key.clone(), entry.value.value()));
            } else {
                let message = format!("the input `{}` is a JSON Schema", shorten(&entry.key));
                self.problem("wrong-type", entry.value.place, message, Some("write `{ type: string }`".to_string()));
                inputs.push((entry.key.clone(), Object::default().into()));
            }
        }
        Object::from_unique(inputs)
    }

    fn secrets(&mut self, node: &Node) -> Vec<SmolStr> {
        let mut secrets: Vec<SmolStr> = Vec::new();
        for item in self.list(node, "`secrets`") {
            let Some(name) = self.text(item, "the name of a secret") else { continue };
            if !crate::expr::parse::is_name(&name) {
                let help = Some("it is read from the environment, so it is made of letters, digits and `_`".to_string());
                self.problem("bad-name", item.place, format!("`{}` cannot be the name of a secret", shorten(&name)), help);
            } else if secrets.contains(&name) {
                self.problem("duplicate-key", item.place, format!("the secret `{name}` is there twice"), None);
            } else {
                secrets.push(name);
            }
        }
        secrets
    }

    fn servers(&mut self, node: &Node) -> Vec<(SmolStr, Server)> {
        let entries = self.map(node, "`servers`");
        entries.iter().filter_map(|entry| Some((self.server_name(entry)?, self.server(&entry.value)?))).collect()
    }

    fn server_name(&mut self, entry: &Entry) -> Option<SmolStr> {
        if is_server(&entry.key) {
            return Some(entry.key.clone());
        }
        let help = Some("it is made of letters, digits, `_`, `-` and `.`".to_string());
        self.problem("bad-name", entry.place, format!("`{}` cannot be the name of a server", shorten(&entry.key)), help);
        None
    }

    fn server(&mut self, node: &Node) -> Option<Server> {
        if node.value().is_null() {
            return Some(Server::default());
        }
        let known = ["command", "args", "env", "cwd", "url", "headers", "type", "tools", "effects"];
        let fields = self.fields(node, "a server", &known)?;
        let transport = self.transport(&fields);
        let tools = fields.get("tools").map(|n| self.words(n, "`tools`")).unwrap_or_default();
        let tools = tools.into_iter().map(|(tool, digest)| (tool, SmolStr::from(digest))).collect();
        let effects = fields.get("effects").map(|n| self.effects(n)).unwrap_or_default();
        Some(Server { transport: transport?, tools, effects })
    }

    /// `None` where something is wrong, `Some(None)` where there is nothing.
    fn transport(&mut self, fields: &Fields) -> Option<Option<Transport>> {
        let misplaced = |keys: &[&str]| keys.iter().find_map(|key| fields.entry(key));
        let kind = match fields.get("type") {
            Some(node) => Some((node, self.text(node, "`type`")?)),
            None => None,
        };
        let (foreign, beside, kinds): (_, _, &[&str]) = match (fields.get("command"), fields.get("url")) {
            (Some(_), Some(url)) => {
                self.problem("several-kinds", url.place, "a server has a `command` or a `url`, not both", None);
                return None;
            }
            (Some(_), None) => (misplaced(&["headers"]), "`url`", &["stdio"]),
            (None, Some(_)) => (misplaced(&["args", "env", "cwd"]), "`command`", &["http", "streamable-http", "sse"]),
            (None, None) => (misplaced(&["args", "env", "cwd", "headers", "type"]), "`command` or `url`", &[]),
        };
        if let Some(entry) = foreign {
            self.problem("unknown-key", entry.place, format!("`{}` stands beside {beside}", entry.key), None);
            return None;
        }
        if let Some((node, kind)) = kind.as_ref().filter(|(_, kind)| !kinds.contains(&kind.as_str())) {
            let message = format!("`type` is {} here, not `{}`", kinds.join(" or "), shorten(kind));
            self.problem("wrong-type", node.place, message, None);
            return None;
        }
        if let Some(command) = fields.get("command") {
            let command = self.word(command, "`command`")?;
            let args = fields.get("args").map(|n| self.list(n, "`args`")).unwrap_or_default();
            let args = args.iter().filter_map(|n| self.word(n, "an argument")).collect();
            let env = fields.get("env").map(|n| self.words(n, "`env`")).unwrap_or_default();
            let cwd = fields.get("cwd").and_then(|n| self.word(n, "`cwd`"));
            return Some(Some(Transport::Stdio { command, args, env: plain_keys(env), cwd }));
        }
        let Some(url) = fields.get("url") else { return Some(None) };
        let url = self.word(url, "`url`")?;
        let headers = fields.get("headers").map(|n| self.words(n, "`headers`")).unwrap_or_default();
        Some(Some(Transport::Http { url, headers: plain_keys(headers), sse: kind.is_some_and(|(_, kind)| kind == "sse") }))
    }

    fn words(&mut self, node: &Node, what: &str) -> BTreeMap<SmolStr, String> {
        let entries = self.map(node, what);
        entries.iter().filter_map(|e| Some((e.key.clone(), self.word(&e.value, &format!("an entry of {what}"))?))).collect()
    }

    fn effects(&mut self, node: &Node) -> BTreeMap<SmolStr, ToolEffect> {
        let mut effects = BTreeMap::new();
        for entry in self.map(node, "`effects`") {
            match entry.value.value().as_str().and_then(ToolEffect::named) {
                Some(effect) => {
                    effects.insert(entry.key.clone(), effect);
                }
                None => {
                    let message = format!("what `{}` does is `read`, `idempotent` or `write`", shorten(&entry.key));
                    self.problem("wrong-type", entry.value.place, message, None);
                }
            }
        }
        effects
    }
}

fn plain_keys(words: BTreeMap<SmolStr, String>) -> BTreeMap<String, String> {
    words.into_iter().map(|(key, word)| (key.to_string(), word)).collect()
}

impl ToolEffect {
    /// All of them, from the most harmless.
    pub const ALL: &[ToolEffect] = &[ToolEffect::Read, ToolEffect::Idempotent, ToolEffect::Write];

    /// Its name in documents and hints.
    pub fn name(self) -> &'static str {
        match self {
            ToolEffect::Read => "read",
            ToolEffect::Idempotent => "idempotent",
            ToolEffect::Write => "write",
        }
    }

    /// The effect of this name.
    pub fn named(name: &str) -> Option<ToolEffect> {
        ToolEffect::ALL.iter().copied().find(|e| e.name() == name)
    }
}
