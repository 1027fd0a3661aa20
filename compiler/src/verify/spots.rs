//! Lists inside a value: found, and replaced by others.

use super::places::Way;
use ltc_workflow::{Value, json};
use smol_str::SmolStr;

/// A step on the way to one value in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// Into an object.
    Key(SmolStr),
    /// Into a list.
    Index(usize),
    /// Into a text that is JSON.
    Json,
}

/// The lists at the end of `ways` in `value`, each with the way to it.
pub fn lists_in(value: &Value, ways: &[Way]) -> Vec<(Vec<At>, Vec<Value>)> {
    let mut found = Vec::new();
    follow(value, ways, &mut Vec::new(), &mut found);
    found
}

fn follow(value: &Value, ways: &[Way], path: &mut Vec<At>, found: &mut Vec<(Vec<At>, Vec<Value>)>) {
    let Some((way, rest)) = ways.split_first() else {
        found.extend(value.as_array().map(|items| (path.clone(), items.to_vec())));
        return;
    };
    let mut inside = |at: At, value: &Value| {
        path.push(at);
        follow(value, rest, path, found);
        path.pop();
    };
    match way {
        Way::Key(key) => value.get(key).into_iter().for_each(|item| inside(At::Key(key.clone()), item)),
        Way::Every => value.as_array().unwrap_or_default().iter().enumerate().for_each(|(i, item)| inside(At::Index(i), item)),
        Way::Json => {
            if let Some(inner) = value.as_str().and_then(|text| json::parse(text.as_bytes()).ok()) {
                inside(At::Json, &inner);
            }
        }
    }
}

/// `value` with `new` at the end of `path`.
pub fn replaced(value: &Value, path: &[At], new: Value) -> Value {
    let Some((at, rest)) = path.split_first() else { return new };
    match (at, value) {
        (At::Key(key), Value::Object(object)) => {
            let mut object = object.clone();
            if let Some(item) = object.get(key).cloned() {
                object.insert(key.clone(), replaced(&item, rest, new));
            }
            Value::Object(object)
        }
        (At::Index(index), Value::Array(items)) => {
            let mut items = items.to_vec();
            if let Some(slot) = items.get_mut(*index) {
                *slot = replaced(slot, rest, new);
            }
            Value::array(items)
        }
        (At::Json, Value::String(text)) => match json::parse(text.as_bytes()) {
            Ok(inner) => Value::string(json::to_string(&replaced(&inner, rest, new))),
            Err(_) => value.clone(),
        },
        (At::Key(_) | At::Index(_) | At::Json, _) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::value;
    use super::*;

    #[test]
    fn lists_are_replaced_where_they_stand() {
        let root = value(r#"{"g":[{"i":[1]},{"i":"[2,3]"},{"j":0}]}"#);
        let key = |k: &str| Way::Key(k.into());
        assert_eq!(lists_in(&root, &[key("g"), Way::Every, key("i")]).len(), 1);
        let [(path, items)] = lists_in(&root, &[key("g"), Way::Every, key("i"), Way::Json]).try_into().unwrap();
        assert_eq!(items, [value("2"), value("3")]);
        assert_eq!(replaced(&root, &path, value("[]")), value(r#"{"g":[{"i":[1]},{"i":"[]"},{"j":0}]}"#));
    }
}
