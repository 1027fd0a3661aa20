//! `ltc servers`: MCP servers that workflows find by name, registered, tried and called.

mod known;

use super::{count, print_list, print_value, printed, text_in};
use crate::documents;
use crate::exit::Exit;
use crate::opened::{self, ServerLimits, StoreArguments, entries};
use crate::report::{Report, from_problem};
use crate::traces::{self, said};
use clap::{Args, Subcommand};
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_compiler::hints;
use ltc_runtime::problem::Problem;
use ltc_runtime::{presets, text};
use ltc_workflow::{Object, Value};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// List MCP servers that workflows find by name, register them, try them, call their tools
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: List,
    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Args, Debug)]
struct List {
    /// Only servers that were last found so: registered, connected, error or disconnected
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only servers with one of these tags
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only servers with all of the tags
    #[arg(long, requires = "tags")]
    all_tags: bool,
    /// Only servers that are connected to before anybody asks
    #[arg(long)]
    auto_connect: bool,
    /// How many at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// How many of the first ones are left out
    #[arg(long, value_name = "N")]
    offset: Option<u32>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Register a server: by its command behind `--`, by its URL, or as a preset
    Add(Add),
    /// Change what is said of a server; what is not given stays as it is
    Update(Update),
    /// Show a server with its compile hints and its tools, as JSON
    Show(Named),
    /// Connect to a server and list its tools
    Test(Tried),
    /// Print the tools of a server with their schemas, as JSON
    Tools {
        #[command(flatten)]
        tried: Tried,
        /// Ask the server again although its tools are known
        #[arg(long)]
        refresh: bool,
    },
    /// Call a tool and print what it answers, as JSON
    Call {
        #[command(flatten)]
        tried: Tried,
        /// The tool's name
        #[arg(value_name = "TOOL")]
        tool: String,
        /// The arguments as JSON, @FILE, or - for stdin
        #[arg(long, value_name = "JSON|@FILE|-", default_value = "{}")]
        arguments: String,
    },
    /// Take a server out
    Remove(Named),
    /// Register the servers of a file like .mcp.json
    Import {
        /// The file, or - for stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Servers that are there already become those of the file
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// List servers that `servers add --preset` knows
    Presets,
}

#[derive(Args, Debug)]
struct Named {
    /// The server's name
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Args, Debug)]
struct Tried {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    limits: ServerLimits,
}

#[derive(Args, Debug)]
struct Said {
    /// The URL of a server that listens somewhere
    #[arg(long, conflicts_with_all = ["command", "env"])]
    url: Option<String>,
    /// A header of every request; ${VARIABLE} is the environment
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    headers: Vec<(String, String)>,
    /// The URL is one of the old SSE transport
    #[arg(long, requires = "url")]
    sse: bool,
    /// A variable that is set for the server; ${VARIABLE} is the environment
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    env: Vec<(String, String)>,
    /// A word that the server is found by
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// A file of compile hints: `ltc schema hints`
    #[arg(long, value_name = "FILE")]
    hints: Option<PathBuf>,
    /// What the server is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The command that starts the server, and its arguments
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<String>,
    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Args, Debug)]
struct Add {
    /// The server's name; with --preset, what the preset needs to be told
    #[arg(value_name = "NAME|WORDS")]
    words: Vec<String>,
    /// A well-known server: `ltc servers presets`
    #[arg(long, value_name = "PRESET", conflicts_with_all = ["command", "url"])]
    preset: Option<String>,
    /// The name of a server that is a preset, where it is not that of the preset
    #[arg(long, value_name = "NAME", requires = "preset")]
    name: Option<String>,
    /// Connect to it before anybody asks
    #[arg(long)]
    auto_connect: bool,
    #[command(flatten)]
    said: Said,
}

#[derive(Args, Debug)]
struct Update {
    /// The server's name
    #[arg(value_name = "NAME")]
    name: String,
    /// Whether to connect to it before anybody asks
    #[arg(long, value_name = "true|false")]
    auto_connect: Option<bool>,
    #[command(flatten)]
    said: Said,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("it is written NAME=VALUE".to_owned()),
    }
}

/// Does what is asked.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let done = match &arguments.action {
        None => list(arguments, report),
        Some(Action::Add(add)) => added(add, report),
        Some(Action::Update(update)) => updated(update, report),
        Some(Action::Show(named)) => {
            opened::operate(&named.store, "get_mcp_server", of(named), report).map(|server| print_value(&server, report))
        }
        Some(Action::Test(tried)) => tested(tried, report),
        Some(Action::Tools { tried, refresh }) => {
            let mut input = of(&tried.named);
            input.insert("refresh", (*refresh).into());
            let listed = opened::operate_on_servers(&tried.named.store, &tried.limits, "list_mcp_tools", input, report);
            listed.map(|tools| print_value(&tools, report))
        }
        Some(Action::Call { tried, tool, arguments }) => called(tried, tool, arguments, report),
        Some(Action::Remove(named)) => {
            opened::operate(&named.store, "remove_mcp_server", of(named), report).map(|removed| print_value(&removed, report))
        }
        Some(Action::Import { file, replace, store }) => known::imported(file, *replace, store, report),
        Some(Action::Presets) => known::listed_presets(report),
    };
    done.unwrap_or_else(|exit| exit)
}

fn of(named: &Named) -> Object {
    entries([("server_name", Some(named.name.as_str().into()))])
}

fn list(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let List { status, tags, all_tags, auto_connect, limit, offset } = &arguments.list;
    let number = |number: &Option<u32>| number.map(|number| i64::from(number).into());
    let input = entries([
        ("status", status.as_deref().map(Value::from)),
        ("tags", Some(texts(tags))),
        ("tag_match", all_tags.then(|| Value::from("all"))),
        ("auto_connect", auto_connect.then(|| true.into())),
        ("limit", number(limit)),
        ("offset", number(offset)),
    ]);
    let list = opened::operate(&arguments.store, "list_mcp_servers", input, report)?;
    let line = |server: &Value| {
        let text = |field: &str| text_in(server, field);
        let tools = server.get("tool_count").and_then(Value::as_number).and_then(|count| usize::try_from(count.as_i64()?).ok());
        let tools = tools.map(|tools| format!("  {}", count(tools, "tool", "tools"))).unwrap_or_default();
        let tags: Vec<String> =
            server.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(text::one_line).collect();
        let tags = if tags.is_empty() { String::new() } else { format!("  [{}]", tags.join(" ")) };
        let about = if server.get("last_error").is_some() { text("last_error") } else { text("description") };
        format!("{:12}  {:5}  {}{tools}{tags}  {about}", text("status"), text("transport"), text("name"))
    };
    Ok(print_list(&list, "servers", ("next_offset", "--offset"), line, report))
}

fn texts(texts: &[String]) -> Value {
    texts.iter().map(|text| Value::from(text.as_str())).collect()
}

fn map(pairs: &[(String, String)]) -> Option<Value> {
    let map = || pairs.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str()))).collect::<Object>();
    (!pairs.is_empty()).then(|| map().into())
}

/// What is said of a server on the command line, as the operations take it.
fn input(said: &Said, report: &Report) -> Result<Object, Exit> {
    let hints = said.hints.as_deref().map(|path| read_hints(path, report)).transpose()?;
    let (command, args) = match said.command.split_first() {
        Some((command, args)) => (Some(command.as_str()), (!args.is_empty()).then(|| texts(args))),
        None => (None, None),
    };
    Ok(entries([
        ("description", said.description.as_deref().map(Value::from)),
        ("transport", said.sse.then(|| Value::from("sse"))),
        ("command", command.map(Value::from)),
        ("args", args),
        ("env", map(&said.env)),
        ("url", said.url.as_deref().map(Value::from)),
        ("headers", map(&said.headers)),
        ("tags", (!said.tags.is_empty()).then(|| texts(&said.tags))),
        ("compile_hints", hints),
    ]))
}

/// The hints for one server in a file, which the compiler can read.
fn read_hints(path: &Path, report: &Report) -> Result<Value, Exit> {
    let value = documents::read_value(path, report)?;
    match hints::read(&value, "") {
        Ok(read) => Ok(hints::to_json(&read)),
        Err(problems) => Err(said(&traces::placed(problems, path), Exit::Invalid, report)),
    }
}

fn problem(problem: Problem, exit: Exit, report: &Report) -> Exit {
    said(&[from_problem(problem, Severity::Error)], exit, report)
}

fn added(add: &Add, report: &Report) -> Result<Exit, Exit> {
    let mut server = input(&add.said, report)?;
    let name = match (&add.preset, add.words.as_slice()) {
        (Some(preset), words) => {
            let preset = presets::named(preset).map_err(|wrong| problem(wrong, Exit::Usage, report))?;
            let known = preset.entry(words).map_err(|wrong| problem(wrong, Exit::Usage, report))?;
            server = over(known, &server);
            add.name.as_deref().unwrap_or(preset.name)
        }
        (None, [name]) => name,
        (None, _) => {
            let why = if add.words.is_empty() { "the server has no name" } else { "a server has one name; its command stands behind `--`" };
            let wrong = Diagnostic::new(Severity::Error, "bad-usage", "", why);
            return Err(said(
                &[wrong.help("`ltc servers add NAME -- COMMAND ARGS`, `--url URL`, or `--preset PRESET`")],
                Exit::Usage,
                report,
            ));
        }
    };
    server.insert("name", name.into());
    server.insert("auto_connect", add.auto_connect.into());
    let added = opened::operate(&add.said.store, "add_mcp_server", server, report)?;
    report.tell("added", &format!("{}: `ltc servers test {}` connects to it", text::one_line(name), text::one_line(name)));
    Ok(if report.json { print_value(&added, report) } else { Exit::Done })
}

/// What is said, over what a preset says; variables and tags are put beside those of the preset.
fn over(mut known: Object, said: &Object) -> Object {
    for (key, value) in said.iter() {
        let both = match (known.get(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) if key == "env" => {
                let mut both = old.clone();
                new.iter().for_each(|(name, value)| both.insert(name.clone(), value.clone()));
                both.into()
            }
            (Some(Value::Array(old)), Value::Array(new)) if key == "tags" => old.iter().chain(new.iter()).cloned().collect(),
            _ => value.clone(),
        };
        known.insert(key.clone(), both);
    }
    known
}

fn updated(update: &Update, report: &Report) -> Result<Exit, Exit> {
    let mut change = input(&update.said, report)?;
    let store = &update.said.store;
    // The way to a server is changed as a whole: variables alone are put into the way that is there.
    if let (Some(env), None) = (change.get("env").cloned(), change.get("command")) {
        let named = entries([("server_name", Some(update.name.as_str().into()))]);
        let there = opened::operate(store, "get_mcp_server", named, report)?;
        let there = there.get("configuration").and_then(Value::as_object).cloned().unwrap_or_default();
        change.insert("env", env);
        change = over(there, &change);
        let _ = change.remove("type");
    }
    change.insert("server_name", update.name.as_str().into());
    if let Some(auto_connect) = update.auto_connect {
        change.insert("auto_connect", auto_connect.into());
    }
    let changed = opened::operate(store, "update_mcp_server", change, report)?;
    Ok(if report.json { print_value(&changed, report) } else { Exit::Done })
}

fn tested(tried: &Tried, report: &Report) -> Result<Exit, Exit> {
    let server = opened::operate_on_servers(&tried.named.store, &tried.limits, "connect_mcp_server", of(&tried.named), report)?;
    if report.json {
        return Ok(print_value(&server, report));
    }
    let tools = server.get("tools").and_then(Value::as_array).unwrap_or_default();
    report.tell("connected", &format!("{} has {}", text::one_line(&tried.named.name), count(tools.len(), "tool", "tools")));
    let mut out = String::new();
    for tool in tools {
        let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
        let about = text::lines(text("description"));
        // Writing to a text cannot fail.
        let _ = writeln!(out, "{}  {}", text::one_line(text("name")), text::one_line(first_sentence(&about)));
    }
    Ok(printed(&out, Exit::Done, report))
}

/// What comes before the first full stop or line break.
fn first_sentence(text: &str) -> &str {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    line.split_once(". ").map_or(line, |(sentence, _)| sentence)
}

fn called(tried: &Tried, tool: &str, arguments: &str, report: &Report) -> Result<Exit, Exit> {
    let mut input = of(&tried.named);
    input.insert("tool_name", tool.into());
    input.insert("arguments", super::run::argument("--arguments", arguments, report)?);
    let result = opened::operate_on_servers(&tried.named.store, &tried.limits, "call_mcp_tool", input, report)?;
    let has_failed = result.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    match print_value(&result, report) {
        Exit::Done if has_failed => Err(Exit::Failed),
        exit => Ok(exit),
    }
}
