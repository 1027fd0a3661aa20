//! Servers that somebody has described already: in a file like `.mcp.json`, or as a preset.

use crate::commands::{count, print_value, printed};
use crate::exit::Exit;
use crate::files;
use crate::opened::{self, StoreArguments, entries};
use crate::report::Report;
use crate::traces;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::presets;
use ltc_workflow::{Object, Value};
use std::fmt::Write as _;
use std::path::Path;

/// Registers the servers of a file.
///
/// # Errors
/// How the command ends; why has been said.
pub fn imported(file: &Path, replace: bool, store: &StoreArguments, report: &Report) -> Result<Exit, Exit> {
    let document = traces::read_json(file, report)?;
    let input = entries([("document", Some(document)), ("replace", Some(replace.into()))]);
    let imported = opened::operate(store, "import_mcp_servers", input, report)?;
    let names = |key: &str| imported.get(key).and_then(Value::as_array).unwrap_or_default();
    for refused in names("refused") {
        let text = |key: &str| refused.get(key).and_then(Value::as_str).unwrap_or_default();
        let place = format!("{}, server {}", files::name(file), text("name"));
        let help =
            refused.get("problems").and_then(Value::as_array).into_iter().flatten().find_map(|problem| problem.get("help")?.as_str());
        let mut diagnostic = Diagnostic::new(Severity::Error, "not-imported", place, text("why"));
        diagnostic.help = help.map(str::to_owned);
        report.say(&diagnostic);
    }
    if report.json {
        print_value(&imported, report);
    } else {
        report.tell("imported", &format!("{}, {} changed", count(names("added").len(), "server", "servers"), names("updated").len()));
    }
    Ok(if names("refused").is_empty() { Exit::Done } else { Exit::Failed })
}

/// Lists the presets.
///
/// # Errors
/// How the command ends; why has been said.
pub fn listed_presets(report: &Report) -> Result<Exit, Exit> {
    let all = presets::all().map_err(|wrong| super::problem(wrong, Exit::Failed, report))?;
    if report.json {
        let entry = |preset: &presets::Preset| {
            let parameter = |parameter: &presets::Parameter| {
                entries([("name", Some(parameter.name.as_str().into())), ("about", Some(parameter.about.as_str().into()))]).into()
            };
            let parameters = preset.parameters.iter().map(parameter).collect();
            let words = [("name", preset.name), ("about", &preset.about), ("tried", &preset.tried)];
            let mut entry: Object = words.into_iter().map(|(key, word)| (key, Value::from(word))).collect();
            entry.insert("parameters", parameters);
            Value::from(entry)
        };
        return Ok(print_value(&all.iter().map(entry).collect(), report));
    }
    let mut out = String::new();
    for preset in &all {
        // Writing to a text cannot fail.
        let _ = writeln!(out, "{:20}  {}", preset.usage(), preset.about);
    }
    Ok(printed(&out, Exit::Done, report))
}
