//! Well-known MCP servers: how each is started, what it needs to be told, and what the compiler should know about its tools.
//!
//! Effects are those of the server's own annotations; where a hint says more than they do, or there are none, the calls were made twice against the version
//! that the preset names, and what had changed was looked at.

use crate::problem::Problem;
use crate::text;
use ltc_workflow::nearest::nearest;
use ltc_workflow::{Object, Value, json};

/// A preset, as it stands in its file.
const PRESETS: &[(&str, &str)] = &[
    ("browser", include_str!("presets/browser.json")),
    ("everything", include_str!("presets/everything.json")),
    ("fetch", include_str!("presets/fetch.json")),
    ("files", include_str!("presets/files.json")),
    ("git", include_str!("presets/git.json")),
    ("memory", include_str!("presets/memory.json")),
    ("sqlite", include_str!("presets/sqlite.json")),
    ("time", include_str!("presets/time.json")),
];

/// A well-known server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: String,
    /// The version that its hints were tried against.
    pub tried: String,
    /// What it needs to be told, in order.
    pub parameters: Vec<Parameter>,
    /// What `add_mcp_server` takes, with `{parameter}` where the parameters go.
    entry: Object,
}

/// What a server needs to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// What it is where nobody says.
    pub default: Option<String>,
    /// Whether it takes all words that are left, of which there is at least one.
    pub is_many: bool,
}

/// All presets, by name.
///
/// # Errors
/// Where a file of this program cannot be read; a test sees to it that each can.
pub fn all() -> Result<Vec<Preset>, Problem> {
    PRESETS.iter().map(|(name, text)| read(name, text)).collect()
}

/// The preset of this name.
///
/// # Errors
/// `no-such-preset` with those that there are.
pub fn named(name: &str) -> Result<Preset, Problem> {
    if let Some((name, text)) = PRESETS.iter().find(|(known, _)| *known == name) {
        return read(name, text);
    }
    let known = PRESETS.iter().map(|(name, _)| *name);
    let help = match nearest(name, known.clone()) {
        Some(near) => format!("perhaps `{near}` is meant"),
        None => format!("there are {}", known.collect::<Vec<_>>().join(", ")),
    };
    Err(Problem::new("no-such-preset", "", format!("there is no preset `{}`", text::one_line(name))).help(help))
}

fn read(name: &'static str, text: &str) -> Result<Preset, Problem> {
    let bad = |why: &str| Problem::new("bad-preset", format!("preset {name}"), why);
    let whole = json::parse(text.as_bytes()).map_err(|error| bad(&error.to_string()))?;
    let word = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| bad(&format!("it has no `{key}`")))
    };
    let parameter = |value: &Value| {
        Ok(Parameter {
            name: word(value, "name")?,
            about: word(value, "about")?,
            default: value.get("default").and_then(Value::as_str).map(str::to_owned),
            is_many: value.get("many").and_then(Value::as_bool).unwrap_or(false),
        })
    };
    let parameters = whole.get("parameters").and_then(Value::as_array).ok_or_else(|| bad("it has no `parameters`"))?;
    Ok(Preset {
        name,
        about: word(&whole, "about")?,
        tried: word(&whole, "tried")?,
        parameters: parameters.iter().map(parameter).collect::<Result<_, Problem>>()?,
        entry: whole.get("entry").and_then(Value::as_object).cloned().ok_or_else(|| bad("it has no `entry`"))?,
    })
}

impl Preset {
    /// How it is written: its name and what it needs to be told.
    pub fn usage(&self) -> String {
        let parameters = self.parameters.iter().map(|parameter| match (parameter.is_many, &parameter.default) {
            (true, _) => format!(" {}…", parameter.name.to_ascii_uppercase()),
            (false, Some(_)) => format!(" [{}]", parameter.name.to_ascii_uppercase()),
            (false, None) => format!(" {}", parameter.name.to_ascii_uppercase()),
        });
        format!("{}{}", self.name, parameters.collect::<String>())
    }

    /// What `add_mcp_server` takes, but for the name, with `words` for the parameters.
    ///
    /// # Errors
    /// `bad-preset` where there are too few words, or too many.
    pub fn entry(&self, words: &[String]) -> Result<Object, Problem> {
        let wrong = |why: String| {
            let about: Vec<String> =
                self.parameters.iter().map(|parameter| format!("{}: {}", parameter.name.to_ascii_uppercase(), parameter.about)).collect();
            let help = if about.is_empty() {
                "it takes no words".to_owned()
            } else {
                format!("`--preset {}`; {}", self.usage(), about.join("; "))
            };
            Problem::new("bad-preset", format!("preset {}", self.name), why).help(help)
        };
        let mut rest = words;
        let mut given: Vec<(String, Vec<&str>)> = Vec::new();
        for parameter in &self.parameters {
            let taken = if parameter.is_many { rest.len() } else { rest.len().min(1) };
            let (own, left) = rest.split_at(taken);
            rest = left;
            let own: Vec<&str> = match (own.is_empty(), parameter.default.as_deref()) {
                (false, _) => own.iter().map(String::as_str).collect(),
                (true, Some(default)) => vec![default],
                (true, None) => return Err(wrong(format!("{} is missing", parameter.name.to_ascii_uppercase()))),
            };
            given.push((format!("{{{}}}", parameter.name), own));
        }
        if let Some(word) = rest.first() {
            return Err(wrong(format!("nobody knows what `{}` is for", text::one_line(word))));
        }
        let mut entry = self.entry.clone();
        if let Some(args) = self.entry.get("args").and_then(Value::as_array) {
            let filled = args.iter().filter_map(Value::as_str).flat_map(|arg| match given.iter().find(|(place, _)| place == arg) {
                Some((_, words)) => words.iter().map(|word| Value::from(*word)).collect(),
                None => vec![Value::from(arg)],
            });
            entry.insert("args", filled.collect());
        }
        if let Some(env) = self.entry.get("env").and_then(Value::as_object) {
            let filled = |(name, value): (&smol_str::SmolStr, &Value)| {
                let own = given.iter().find(|(place, _)| Some(place.as_str()) == value.as_str()).and_then(|(_, words)| words.first());
                (name.clone(), own.map_or_else(|| value.clone(), |word| Value::from(*word)))
            };
            entry.insert("env", env.iter().map(filled).collect::<Object>().into());
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn words_go_where_the_parameters_are() {
        let args = |name: &str, list: &[&str]| {
            let entry = named(name).expect("a preset").entry(&words(list)).expect("its words");
            (json::to_string(entry.get("args").expect("it has arguments")), entry.get("env").map(json::to_string))
        };
        assert_eq!(args("files", &["/a", "{folders}"]).0, r#"["-y","@modelcontextprotocol/server-filesystem","/a","{folders}"]"#);
        assert_eq!(args("time", &[]).0, r#"["mcp-server-time","--local-timezone","UTC"]"#);
        assert_eq!(args("time", &["Asia/Tokyo"]).0, r#"["mcp-server-time","--local-timezone","Asia/Tokyo"]"#);
        assert_eq!(args("memory", &["/m.json"]).1.as_deref(), Some(r#"{"MEMORY_FILE_PATH":"/m.json"}"#));
    }

    #[test]
    fn too_few_and_too_many_words_are_told() {
        for (name, list, said) in
            [("files", &[][..], "FOLDERS is missing"), ("fetch", &["x"], "nobody knows what `x` is for"), ("git", &["a", "b"], "`b`")]
        {
            let problem = named(name).expect("a preset").entry(&words(list)).expect_err("they do not fit");
            assert!(problem.message.contains(said) && problem.help.is_some(), "{problem:?}");
        }
        assert_eq!(named("file").expect_err("there is none").help.as_deref(), Some("perhaps `files` is meant"));
    }
}
