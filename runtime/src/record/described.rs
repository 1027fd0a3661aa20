//! What a recording says of a server: how it is reached, without the secrets in that, its tools, and what a person knows of it.

use crate::servers::names_a_secret;
use ltc_workflow::document::Transport;
use ltc_workflow::secret::{has_secret_shape, looks_secret, secret_name, secret_parts};
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// A server of a recording.
#[derive(Clone, Debug, Default)]
pub struct Described {
    /// Its name; where nobody gave one, that which it gives itself.
    name: Option<SmolStr>,
    /// The entry of `.mcp.json`, with variables in the place of secrets.
    entry: Object,
    /// `compile_hints`, as they were given.
    hints: Option<Value>,
    /// Arguments that are secret, with the name of the secret.
    pub hinted: BTreeMap<SmolStr, SmolStr>,
    /// Secrets of the configuration: names and values.
    pub secrets: Vec<(SmolStr, String)>,
}

impl Described {
    /// A server that is reached in this way.
    pub fn new(name: Option<SmolStr>, transport: &Transport) -> Described {
        let mut described = Described { name, ..Described::default() };
        described.entry = match transport {
            Transport::Stdio { command, args, env, cwd } => {
                let args = described.without_secrets(args);
                let env = described.named_values(env, |name| looks_secret(name) || names_a_secret(name));
                let mut entry: Object = [("command", Value::string(command.as_str()))].into_iter().collect();
                if !args.is_empty() {
                    entry.insert("args", args.into_iter().map(Value::string).collect());
                }
                if !env.is_empty() {
                    entry.insert("env", env.into());
                }
                if let Some(cwd) = cwd {
                    entry.insert("cwd", Value::string(cwd.as_str()));
                }
                entry
            }
            Transport::Http { url, headers, sse } => {
                let url = described.plain(url);
                let headers = described.named_values(headers, |name| looks_secret(name) || names_a_secret(name));
                let kind = if *sse { "sse" } else { "http" };
                let mut entry: Object = [("type", Value::from(kind)), ("url", Value::string(url))].into_iter().collect();
                if !headers.is_empty() {
                    entry.insert("headers", headers.into());
                }
                entry
            }
        };
        described
    }

    /// With what a person knows of it.
    #[must_use]
    pub fn with_hints(mut self, hints: Value) -> Described {
        let secret = hints.get("secret").and_then(Value::as_object);
        let names =
            secret.into_iter().flat_map(|secret| secret.iter()).filter_map(|(key, name)| Some((key.clone(), name.as_str()?.into())));
        self.hinted = names.collect();
        self.hints = Some(hints);
        self
    }

    /// What it is called in the recording.
    pub fn name(&self) -> SmolStr {
        self.name.clone().unwrap_or_else(|| "server".into())
    }

    /// It says what it is called, which counts where nobody else said so.
    pub fn name_itself(&mut self, name: &str) {
        let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).take(40).collect();
        let plain = plain.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
        if self.name.is_none() && !plain.is_empty() {
            self.name = Some(plain.into());
        }
    }

    /// The line that says what is known of it.
    pub fn line(&self, name: &SmolStr, tools: &[Value]) -> Value {
        let mut entry = self.entry.clone();
        if !tools.is_empty() {
            entry.insert("tools", Value::array(tools.to_vec()));
        }
        if let Some(hints) = &self.hints {
            entry.insert("compile_hints", hints.clone());
        }
        let servers: Object = [(name.clone(), Value::from(entry))].into_iter().collect();
        [("servers", Value::from(servers))].into_iter().collect::<Object>().into()
    }

    /// A variable in the place of a secret.
    fn variable(&mut self, name: &str, value: &str) -> String {
        let name = secret_name("", name);
        self.secrets.push((name.clone(), value.to_owned()));
        format!("${{{name}}}")
    }

    /// Variables of a child, or headers.
    fn named_values(&mut self, values: &BTreeMap<String, String>, is_secret: impl Fn(&str) -> bool) -> Object {
        let mut kept = Object::default();
        for (key, value) in values {
            let is_secret = !value.is_empty() && !value.contains("${") && (is_secret(key) || has_secret_shape(value));
            let shown = if is_secret { self.variable(key, value) } else { self.plain(value) };
            kept.insert(key.as_str(), Value::string(shown));
        }
        kept
    }

    /// Arguments of a command: tokens, and values of options whose name says that they are secret.
    fn without_secrets(&mut self, args: &[String]) -> Vec<String> {
        let mut option: Option<&str> = None;
        let mut shown = Vec::with_capacity(args.len());
        for arg in args {
            let named = option.take();
            shown.push(match (arg.split_once('='), named) {
                _ if arg.contains("${") => arg.clone(),
                (_, Some(option)) if !arg.starts_with('-') => self.variable(option, arg),
                (Some((name, value)), _) if name.starts_with('-') && looks_secret(name) && !value.is_empty() => {
                    format!("{name}={}", self.variable(name, value))
                }
                _ if has_secret_shape(arg) => self.variable("token", arg),
                _ => self.plain(arg),
            });
            option = (arg.starts_with('-') && !arg.contains('=') && looks_secret(arg)).then_some(arg.as_str());
        }
        shown
    }

    /// A text with variables in the place of its secret parts.
    fn plain(&mut self, text: &str) -> String {
        let mut shown = String::new();
        let mut at = 0;
        for (start, end, name) in secret_parts(text) {
            let value = &text[start..end];
            if value.starts_with("${") {
                continue;
            }
            shown.push_str(&text[at..start]);
            let variable = self.variable(&name, value);
            shown.push_str(&variable);
            at = end;
        }
        shown.push_str(&text[at..]);
        shown
    }
}
