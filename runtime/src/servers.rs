//! Which servers a run has: those of the workflow, completed and overruled by a `.mcp.json`, with their variables filled in.

pub mod literal;

use crate::environment::{Environment, Unset, interpolate};
use crate::problem::Problem;
use ltc_workflow::document::Transport;
use ltc_workflow::{Object, Value, Workflow};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How a server is reached, with all variables filled in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Endpoint {
    /// A child process.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that are set for it.
        env: BTreeMap<String, String>,
        /// The folder that it runs in.
        cwd: Option<String>,
        /// Variables of ours that it does not inherit: the secrets of the workflow, which go to tools as arguments, and to a server only where
        /// its `env` says so.
        hidden: BTreeSet<String>,
    },
    /// A URL.
    Http {
        /// The URL.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// Whether it speaks the old SSE transport instead of streamable HTTP.
        sse: bool,
    },
}

impl fmt::Debug for Endpoint {
    /// Values of the environment may be secret: they are counted, not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Stdio { command, args, .. } => write!(f, "{command} with {} arguments", args.len()),
            Endpoint::Http { headers, .. } => write!(f, "a URL with {} headers", headers.len()),
        }
    }
}

/// Variables that are for this program alone: the token that its own clients show, and an address that may hold a password.
const OURS: [&str; 2] = ["LTC_TOKEN", "LTC_STORE"];

/// The endpoints of a run and the variables that went into them.
#[derive(Debug, Default)]
pub struct Endpoints {
    /// By the server's name.
    pub by_name: BTreeMap<SmolStr, Endpoint>,
    /// Variables that look like secrets: those of headers, and those of a child's environment whose name says so.
    pub sensitive: BTreeSet<String>,
}

/// Reads `.mcp.json`: `mcpServers` (or `servers`), or the map of servers itself.
///
/// # Errors
/// Everything that is wrong, with JSON Pointers.
pub fn read_mcp_json(file: &Value) -> Result<BTreeMap<SmolStr, Transport>, Vec<Problem>> {
    let (pointer, servers) = entries(file).map_err(|problem| vec![problem])?;
    let mut problems = Vec::new();
    let mut found = BTreeMap::new();
    for (name, server) in servers.iter() {
        let place = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        match read_transport(server, &place) {
            Ok(transport) => {
                found.insert(name.clone(), transport);
            }
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// The entries of a `.mcp.json`, and where they stand.
///
/// # Errors
/// Where there are none.
pub fn entries(file: &Value) -> Result<(&'static str, &Object), Problem> {
    let (pointer, servers) = match (file.get("mcpServers"), file.get("servers")) {
        (Some(servers), _) => ("/mcpServers", servers),
        (None, Some(servers)) => ("/servers", servers),
        (None, None) => ("", file),
    };
    let wrong =
        || Problem::new("bad-servers", pointer, format!("an object of servers is expected, not a value of type {}", servers.type_name()));
    Ok((pointer, servers.as_object().ok_or_else(wrong)?))
}

/// How a server is reached, from an entry of `.mcp.json`.
///
/// # Errors
/// What is wrong with it.
pub fn read_transport(server: &Value, place: &str) -> Result<Transport, Problem> {
    let Some(server) = server.as_object() else {
        return Err(Problem::new("bad-servers", place, format!("a server is an object, not a value of type {}", server.type_name())));
    };
    let kind = text(server, "type", place)?;
    let command = text(server, "command", place)?;
    let url = text(server, "url", place)?;
    if let Some(kind) = kind.as_deref().filter(|kind| !KINDS.contains(kind)) {
        let message = format!("there is no transport `{}`: it is stdio, http or sse", crate::text::one_line(kind));
        return Err(Problem::new("bad-servers", format!("{place}/type"), message));
    }
    match (command, url) {
        (Some(command), None) => Ok(Transport::Stdio {
            command,
            args: texts(server, "args", place)?,
            env: text_map(server, "env", place)?,
            cwd: text(server, "cwd", place)?,
        }),
        (None, Some(url)) => Ok(Transport::Http { url, headers: text_map(server, "headers", place)?, sse: kind.as_deref() == Some("sse") }),
        (Some(_), Some(_)) => Err(Problem::new("bad-servers", place, "a server has a `command` or a `url`, not both")),
        (None, None) => Err(Problem::new("bad-servers", place, "a server needs a `command` or a `url`")),
    }
}

/// What `type` may say; the last one is another word for `http`.
const KINDS: [&str; 4] = ["stdio", "http", "sse", "streamable-http"];

/// The word for how a server is reached: `stdio`, `http` or `sse`.
pub fn transport_kind(transport: &Transport) -> &'static str {
    match transport {
        Transport::Stdio { .. } => "stdio",
        Transport::Http { sse: false, .. } => "http",
        Transport::Http { sse: true, .. } => "sse",
    }
}

/// The entry of `.mcp.json` from which [`read_transport`] reads `transport`.
pub fn write_transport(transport: &Transport) -> Object {
    let map = |map: &BTreeMap<String, String>| map.iter().map(|(key, text)| (key.as_str(), Value::from(text.as_str()))).collect::<Object>();
    let mut entry = Object::default();
    match transport {
        Transport::Stdio { command, args, env, cwd } => {
            entry.insert("command", Value::from(command.as_str()));
            if !args.is_empty() {
                entry.insert("args", Value::array(args.iter().map(|arg| Value::from(arg.as_str())).collect()));
            }
            if !env.is_empty() {
                entry.insert("env", map(env).into());
            }
            if let Some(cwd) = cwd {
                entry.insert("cwd", Value::from(cwd.as_str()));
            }
        }
        Transport::Http { url, headers, sse: _ } => {
            entry.insert("type", Value::from(transport_kind(transport)));
            entry.insert("url", Value::from(url.as_str()));
            if !headers.is_empty() {
                entry.insert("headers", map(headers).into());
            }
        }
    }
    entry
}

fn wrong_type(place: &str, key: &str, expected: &str, found: &Value) -> Problem {
    Problem::new("bad-servers", format!("{place}/{key}"), format!("{expected} is expected, not a value of type {}", found.type_name()))
}

fn text(server: &Object, key: &str, place: &str) -> Result<Option<String>, Problem> {
    match server.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.to_string())),
        Some(other) => Err(wrong_type(place, key, "a text", other)),
    }
}

fn texts(server: &Object, key: &str, place: &str) -> Result<Vec<String>, Problem> {
    let Some(list) = server.get(key) else { return Ok(Vec::new()) };
    let items = list.as_array().ok_or_else(|| wrong_type(place, key, "a list of texts", list))?;
    items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(|| wrong_type(place, key, "a list of texts", item))).collect()
}

fn text_map(server: &Object, key: &str, place: &str) -> Result<BTreeMap<String, String>, Problem> {
    let Some(map) = server.get(key) else { return Ok(BTreeMap::new()) };
    let entries = map.as_object().ok_or_else(|| wrong_type(place, key, "an object of texts", map))?;
    let entry = |(name, value): (&SmolStr, &Value)| match value.as_str() {
        Some(text) => Ok((name.to_string(), text.to_owned())),
        None => Err(wrong_type(&format!("{place}/{key}"), name, "a text", value)),
    };
    entries.iter().map(entry).collect()
}

/// What is said of servers outside of the workflow that calls them.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere<'e> {
    /// What counts more than what the workflow says.
    pub overrides: &'e BTreeMap<SmolStr, Transport>,
    /// What counts where the workflow says nothing.
    pub registry: &'e BTreeMap<SmolStr, Transport>,
}

/// The endpoints of the servers `needed` (by name), each from the overrides, else from the workflow, else from the registry. None of them inherits `secrets`.
///
/// # Errors
/// Every server that is described nowhere, and every variable that is missing.
pub fn endpoints<'a>(
    needed: impl IntoIterator<Item = &'a SmolStr>,
    workflow: &Workflow,
    elsewhere: Elsewhere<'_>,
    secrets: &BTreeSet<SmolStr>,
    environment: &dyn Environment,
) -> Result<Endpoints, Vec<Problem>> {
    let mut problems = BTreeSet::new();
    let mut found = Endpoints::default();
    for name in needed {
        let own = workflow.servers.iter().find(|(own, _)| own == name).and_then(|(_, server)| server.transport.as_ref());
        let Some(transport) = elsewhere.overrides.get(name).or(own).or(elsewhere.registry.get(name)) else {
            let message = "the workflow does not say how this server is reached";
            let help = "`ltc servers add` keeps it for all runs, or `--servers FILE` takes a file like .mcp.json that says it";
            problems.insert(Problem::new("no-such-server", format!("server {name}"), message).help(help));
            continue;
        };
        let mut filling = Filling { server: name, secrets, environment, problems: &mut problems, sensitive: &mut found.sensitive };
        if let Some(endpoint) = filling.endpoint(transport) {
            found.by_name.insert(name.clone(), endpoint);
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems.into_iter().collect()) }
}

/// The variables of one server being filled in: all that is missing is found in one go.
struct Filling<'f> {
    server: &'f SmolStr,
    secrets: &'f BTreeSet<SmolStr>,
    environment: &'f dyn Environment,
    problems: &'f mut BTreeSet<Problem>,
    sensitive: &'f mut BTreeSet<String>,
}

impl Filling<'_> {
    fn endpoint(&mut self, transport: &Transport) -> Option<Endpoint> {
        let before = self.problems.len();
        let endpoint = match transport {
            Transport::Stdio { command, args, env, cwd } => Endpoint::Stdio {
                command: self.text("command", command, |_| false),
                args: args.iter().map(|arg| self.text("args", arg, |_| false)).collect(),
                env: env.iter().map(|(key, value)| (key.clone(), self.text(&format!("env {key}"), value, names_a_secret))).collect(),
                cwd: cwd.as_ref().map(|cwd| self.text("cwd", cwd, |_| false)),
                hidden: self.secrets.iter().map(ToString::to_string).chain(OURS.map(str::to_owned)).collect(),
            },
            Transport::Http { url, headers, sse } => Endpoint::Http {
                url: self.text("url", url, |_| false),
                headers: headers.iter().map(|(key, value)| (key.clone(), self.text(&format!("header {key}"), value, |_| true))).collect(),
                sse: *sse,
            },
        };
        (self.problems.len() == before).then_some(endpoint)
    }

    fn text(&mut self, field: &str, text: &str, is_sensitive: impl Fn(&str) -> bool) -> String {
        let mut used = BTreeSet::new();
        match interpolate(text, self.environment, &mut used) {
            Ok(filled) => {
                self.sensitive.extend(used.into_iter().filter(|name| is_sensitive(name)));
                filled
            }
            Err(unset @ (Unset::Missing(_) | Unset::Malformed(_))) => {
                let code = if matches!(unset, Unset::Missing(_)) { "missing-variable" } else { "bad-servers" };
                self.problem(code, field, &unset.to_string());
                String::new()
            }
        }
    }

    fn problem(&mut self, code: &'static str, field: &str, message: &str) {
        self.problems.insert(Problem::new(code, format!("server {}, {field}", self.server), message));
    }
}

/// Whether a variable's name says that its value is for nobody's eyes.
pub(crate) fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"].iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::tests::Fixed;
    use ltc_workflow::document::Server;
    use ltc_workflow::json;

    fn file(text: &str) -> Result<BTreeMap<SmolStr, Transport>, Vec<Problem>> {
        read_mcp_json(&json::parse(text.as_bytes()).expect("valid JSON in a test"))
    }

    fn workflow(servers: Vec<(SmolStr, Server)>) -> Workflow {
        Workflow { servers, ..Workflow::new("w") }
    }

    fn elsewhere<'e>(overrides: &'e BTreeMap<SmolStr, Transport>, registry: &'e BTreeMap<SmolStr, Transport>) -> Elsewhere<'e> {
        Elsewhere { overrides, registry }
    }

    #[test]
    fn the_registry_counts_where_nobody_else_says_anything() {
        let own = Transport::Stdio { command: "own".into(), args: Vec::new(), env: BTreeMap::new(), cwd: None };
        let named = |command: &str| {
            file(&format!(r#"{{"a":{{"command":"{command}"}},"b":{{"command":"{command}"}},"c":{{"command":"{command}"}}}}"#))
        };
        let (mut overrides, registry) = (named("file").expect("it reads"), named("registry").expect("it reads"));
        overrides.retain(|name, _| name == "a");
        let described = Server { transport: Some(own), ..Server::default() };
        let workflow = workflow(vec![("a".into(), described.clone()), ("b".into(), described), ("c".into(), Server::default())]);
        let needed = ["a".into(), "b".into(), "c".into()];
        let found = endpoints(&needed, &workflow, elsewhere(&overrides, &registry), &BTreeSet::new(), &Fixed(BTreeMap::new()));
        let commands = found.expect("all is there").by_name.into_values().map(|endpoint| match endpoint {
            Endpoint::Stdio { command, .. } => command,
            Endpoint::Http { url, .. } => url,
        });
        assert_eq!(commands.collect::<Vec<_>>(), ["file", "own", "registry"]);
    }

    #[test]
    fn a_transport_is_read_as_it_was_written() {
        let servers = file(
            r#"{"a":{"command":"x","args":["${A}"],"env":{"K":"${V:-1}"},"cwd":"/w"},"b":{"url":"http://h/","headers":{"H":"${T}"}},"c":{"type":"sse","url":"u"},"d":{"command":"y"}}"#,
        );
        for transport in servers.expect("it reads").into_values() {
            assert_eq!(read_transport(&Value::Object(write_transport(&transport)), ""), Ok(transport));
        }
    }

    #[test]
    fn the_three_shapes_of_the_file_are_one() {
        let servers = r#"{"a":{"command":"x","args":["1"],"env":{"K":"v"}},"b":{"type":"http","url":"http://h/","headers":{"H":"v"}}}"#;
        let plain = file(servers).expect("it reads");
        assert_eq!(plain.len(), 2);
        assert_eq!(file(&format!(r#"{{"mcpServers":{servers}}}"#)), Ok(plain.clone()));
        assert_eq!(file(&format!(r#"{{"servers":{servers}}}"#)), Ok(plain));
    }

    #[test]
    fn what_is_wrong_has_a_pointer() {
        let problems = file(
            r#"{"mcpServers":{"a/b":{},"c":{"command":"x","args":[1]},"d":{"command":"x","url":"y"},"e":{"command":7},"f":{"type":"ws","url":"y"}}}"#,
        );
        let places: Vec<String> = problems.expect_err("it is wrong").into_iter().map(|problem| problem.place).collect();
        assert_eq!(places, ["/mcpServers/a~1b", "/mcpServers/c/args", "/mcpServers/d", "/mcpServers/e/command", "/mcpServers/f/type"]);
    }

    #[test]
    fn the_file_overrules_the_workflow_and_all_that_is_missing_is_said_at_once() {
        let own = Transport::Stdio { command: "own".into(), args: vec!["${A}".into()], env: BTreeMap::new(), cwd: None };
        let workflow = workflow(vec![("a".into(), Server { transport: Some(own), ..Server::default() }), ("b".into(), Server::default())]);
        let environment = Fixed(BTreeMap::from([("KEY", "k")]));
        let (needed, none) = (["a".into(), "b".into()], BTreeMap::new());
        let problems =
            endpoints(&needed, &workflow, elsewhere(&none, &none), &BTreeSet::new(), &environment).expect_err("A and b are missing");
        let places: Vec<&str> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!(places, ["server a, args", "server b"]);
        assert_eq!(problems[0].code, "missing-variable");
        assert!(problems[0].message.contains("A is not set"), "{problems:?}");

        let overrides = file(r#"{"a":{"url":"http://h/","headers":{"H":"${KEY}"}},"b":{"command":"c"}}"#).expect("it reads");
        let found = endpoints(&needed, &workflow, elsewhere(&overrides, &none), &BTreeSet::new(), &environment).expect("all is there");
        let headers = BTreeMap::from([("H".to_owned(), "k".to_owned())]);
        assert_eq!(found.by_name.get("a"), Some(&Endpoint::Http { url: "http://h/".into(), headers, sse: false }));
        assert_eq!(found.sensitive, BTreeSet::from(["KEY".to_owned()]));
    }
}
