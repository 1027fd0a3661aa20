//! VS Code's mutation log → the session that it builds: `0` sets the whole, `1` sets a path, `2` appends to a list, `3` deletes (an
//! item of a list leaves `null` behind). The order of keys is lost on the way, and means nothing.

use super::node::Node;
use crate::diagnostics::Diagnostic;
use ltc_workflow::json::MAX_DEPTH;
use ltc_workflow::{Number, Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// A value that can be changed in place: shared lists and objects would be copied at each change.
enum Tree {
    Leaf(Value),
    List(Vec<Tree>),
    Map(BTreeMap<SmolStr, Tree>),
}

/// Whether the records are mutations: numbers as `kind`, and a whole under `v` first.
pub(super) fn is_log(head: &[&Value]) -> bool {
    head.first().is_some_and(|first| kind(first) == Some(0) && first.get("v").is_some_and(|v| v.get("requests").is_some()))
}

fn kind(record: &Value) -> Option<i64> {
    record.get("kind").and_then(Value::as_number).and_then(Number::as_i64)
}

/// Applies all records.
pub(super) fn apply(records: &[Node<'_>]) -> Result<Value, Vec<Diagnostic>> {
    let mut root = Tree::Leaf(Value::Null);
    for record in records {
        let value = record.value.get("v");
        let path: Vec<&Value> = record.value.get("k").and_then(Value::as_array).unwrap_or_default().iter().collect();
        match (kind(record.value), value) {
            (Some(0), Some(value)) => root = grow(value),
            (Some(1), Some(value)) => *reach(&mut root, &path).ok_or_else(|| vec![nowhere(record)])? = grow(value),
            (Some(2), value) => append(reach(&mut root, &path).ok_or_else(|| vec![nowhere(record)])?, value, record.raw("i")),
            (Some(3), _) => delete(&mut root, &path),
            _ => {}
        }
    }
    Ok(shrink(root))
}

fn nowhere(record: &Node<'_>) -> Diagnostic {
    record.get("k").unwrap_or_else(|| record.clone()).wrong("a path to something that is there")
}

fn grow(value: &Value) -> Tree {
    match value {
        Value::Array(items) => Tree::List(items.iter().map(grow).collect()),
        Value::Object(object) => Tree::Map(object.iter().map(|(k, v)| (k.clone(), grow(v))).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Tree::Leaf(value.clone()),
    }
}

fn shrink(tree: Tree) -> Value {
    match tree {
        Tree::Leaf(value) => value,
        Tree::List(items) => items.into_iter().map(shrink).collect(),
        Tree::Map(entries) => entries.into_iter().map(|(k, v)| (k, shrink(v))).collect::<Object>().into(),
    }
}

fn index(step: &Value) -> Option<usize> {
    step.as_number().and_then(Number::as_i64).and_then(|n| usize::try_from(n).ok())
}

/// The place at `path`; a key that is not there is made, a list grows by one at most. A path is no longer than values are deep.
fn reach<'t>(tree: &'t mut Tree, path: &[&Value]) -> Option<&'t mut Tree> {
    if path.len() > MAX_DEPTH {
        return None;
    }
    let mut tree = tree;
    for step in path {
        if let (Tree::Leaf(Value::Null), Some(_)) = (&*tree, step.as_str()) {
            *tree = Tree::Map(BTreeMap::new());
        }
        tree = match tree {
            Tree::Map(entries) => entries.entry(step.as_str()?.into()).or_insert(Tree::Leaf(Value::Null)),
            Tree::List(items) => {
                let at = index(step)?;
                if at == items.len() {
                    items.push(Tree::Leaf(Value::Null));
                }
                items.get_mut(at)?
            }
            Tree::Leaf(_) => return None,
        };
    }
    Some(tree)
}

/// Appends the items; where `from` says from which index on, the list is cut there first.
fn append(tree: &mut Tree, value: Option<&Value>, from: Option<&Value>) {
    if !matches!(tree, Tree::List(_)) {
        *tree = Tree::List(Vec::new());
    }
    if let Tree::List(items) = tree {
        if let Some(from) = from.and_then(index) {
            items.truncate(from);
        }
        items.extend(value.and_then(Value::as_array).unwrap_or_default().iter().map(grow));
    }
}

fn delete(root: &mut Tree, path: &[&Value]) {
    let Some((last, above)) = path.split_last() else {
        return;
    };
    match reach(root, above) {
        Some(Tree::Map(entries)) => drop(last.as_str().and_then(|key| entries.remove(key))),
        Some(Tree::List(items)) => {
            if let Some(item) = index(last).and_then(|at| items.get_mut(at)) {
                *item = Tree::Leaf(Value::Null);
            }
        }
        Some(Tree::Leaf(_)) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    fn applied(lines: &[&str]) -> String {
        let values: Vec<Value> = lines.iter().map(|l| json::parse(l.as_bytes()).unwrap()).collect();
        let nodes: Vec<Node<'_>> = values.iter().map(|v| Node::root(v, None)).collect();
        json::to_string(&apply(&nodes).unwrap())
    }

    #[test]
    fn every_kind_of_mutation() {
        let whole = r#"{"kind":0,"v":{"requests":[{"a":1}],"x":2}}"#;
        let set = r#"{"kind":1,"k":["requests",0,"a"],"v":{"b":[]}}"#;
        let append = r#"{"kind":2,"k":["requests",0,"a","b"],"v":[1,2,3]}"#;
        let cut = r#"{"kind":2,"k":["requests",0,"a","b"],"v":[9],"i":1}"#;
        let delete = r#"{"kind":3,"k":["x"]}"#;
        assert_eq!(applied(&[whole, set, append, cut, delete]), r#"{"requests":[{"a":{"b":[1,9]}}]}"#);
    }

    #[test]
    fn a_path_that_is_deeper_than_values_is_refused() {
        let whole = json::parse(br#"{"kind":0,"v":{"requests":[]}}"#).unwrap();
        let path = vec!["\"x\""; 100_000].join(",");
        let set = json::parse(format!(r#"{{"kind":1,"k":[{path}],"v":1}}"#).as_bytes()).unwrap();
        assert!(apply(&[Node::root(&whole, None), Node::root(&set, Some(2))]).is_err());
    }
}
