//! `expect/must.yaml`: what is right about a case, reasoned out before the compiler was asked.

use ltc_workflow::{Object, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The keys of the file, with what they say.
const KEYS: [&str; 12] = [
    "inputs",         // the inputs of the workflow, all of them
    "contains",       // fragments of the printed workflow
    "lacks",          // fragments that it must not have
    "explains",       // fragments of the explanation
    "diagnostics",    // `code`, and `says`: a fragment of place, message, candidates and help; every question and error is listed
    "no_diagnostics", // codes that must not be reported
    "left_out",       // ids of successful calls that are no part of the workflow, all of them
    "refused",        // true where nothing is compiled
    "partial",        // true where the run that ended early is compiled up to there
    "secrets",        // by name: the secrets of the runs
    "replay",         // false where the workflow makes other calls than its recording on purpose
    "pending",        // why the compiler does not do it right yet: the case is only run with --ignored
];

/// What must be so.
#[derive(Debug, Default)]
pub struct Must {
    pub inputs: BTreeSet<String>,
    pub contains: Vec<String>,
    pub lacks: Vec<String>,
    pub explains: Vec<String>,
    pub diagnostics: Vec<(String, String)>,
    pub no_diagnostics: Vec<String>,
    pub left_out: BTreeSet<String>,
    pub refused: bool,
    pub partial: bool,
    pub secrets: BTreeMap<String, String>,
    pub replay: bool,
    pub pending: bool,
}

/// Reads the file.
pub fn read(text: &str) -> Result<Must, String> {
    let (value, _) = ltc_workflow::yaml::read_value(text).map_err(|p| format!("must.yaml: {p:?}"))?;
    let object = value.as_object().ok_or("must.yaml is no mapping")?;
    if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("must.yaml has the unknown key `{key}`"));
    }
    let flag = |key: &str, otherwise: bool| match object.get(key) {
        None => Ok(otherwise),
        Some(value) => value.as_bool().ok_or(format!("must.yaml: `{key}` is no boolean")),
    };
    Ok(Must {
        inputs: texts(object, "inputs")?.into_iter().collect(),
        contains: texts(object, "contains")?,
        lacks: texts(object, "lacks")?,
        explains: texts(object, "explains")?,
        diagnostics: reports(object)?,
        no_diagnostics: texts(object, "no_diagnostics")?,
        left_out: texts(object, "left_out")?.into_iter().collect(),
        refused: flag("refused", false)?,
        partial: flag("partial", false)?,
        secrets: entries(object, "secrets", |v| v.as_str().map(str::to_owned))?,
        replay: flag("replay", true)?,
        pending: object.contains_key("pending"),
    })
}

fn texts(object: &Object, key: &str) -> Result<Vec<String>, String> {
    let Some(value) = object.get(key) else { return Ok(Vec::new()) };
    let items: Option<Vec<String>> = value.as_array().and_then(|items| items.iter().map(|i| i.as_str().map(str::to_owned)).collect());
    items.ok_or(format!("must.yaml: `{key}` is no list of texts"))
}

fn entries<T>(object: &Object, key: &str, read: impl Fn(&Value) -> Option<T>) -> Result<BTreeMap<String, T>, String> {
    let Some(value) = object.get(key) else { return Ok(BTreeMap::new()) };
    let map = value.as_object().and_then(|o| o.iter().map(|(k, v)| Some((k.to_string(), read(v)?))).collect());
    map.ok_or(format!("must.yaml: `{key}` has a value of a wrong type"))
}

fn reports(object: &Object) -> Result<Vec<(String, String)>, String> {
    let Some(value) = object.get("diagnostics") else { return Ok(Vec::new()) };
    let items = value.as_array().ok_or("must.yaml: `diagnostics` is no list")?;
    let report = |item: &Value| {
        let text = |key: &str| item.get(key).map_or(Some(String::new()), |v| v.as_str().map(str::to_owned));
        Some((text("code").filter(|c| !c.is_empty())?, text("says")?))
    };
    items.iter().map(report).collect::<Option<_>>().ok_or("must.yaml: a report is `{ code, says }`".to_owned())
}
