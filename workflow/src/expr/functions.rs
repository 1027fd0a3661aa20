//! What each function gives. Their names, numbers of arguments and descriptions are the table in `expr.rs`; this is the meaning.
//!
//! Every function is total: a value or a failure, in time that follows from the sizes of its arguments and is paid for in advance.

use super::budget::{Budget, measure};
use super::compare::{equal, order};
use super::eval::{fail, with_article};
use super::{Function, find, number, python, table, text, time};
use crate::advance::Failure;
use crate::json;
use crate::value::{Number, Object, Value};
use smol_str::SmolStr;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The code of the failure of `first`, `last`, `min` … on an empty list, which `??` takes for missing.
pub(crate) const EMPTY_LIST: &str = "empty-list";

/// The value of `function` on these arguments, as many as it takes.
pub(crate) fn apply(function: Function, arguments: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    let call = Call { function, arguments };
    budget.spend(1 + call.cost())?;
    match function {
        Function::Len => call.len(),
        Function::Keys => Ok(call.object(0)?.keys().map(|k| Value::String(k.clone())).collect()),
        Function::Values => Ok(call.object(0)?.iter().map(|(_, v)| v.clone()).collect()),
        Function::Entries => Ok(call.object(0)?.iter().map(|(k, v)| entry(k, v)).collect()),
        Function::FromEntries => call.entries_to_object(),
        Function::Merge => {
            let entries = call.object(0)?.iter().chain(call.object(1)?.iter());
            Ok(Value::Object(Object::from_entries(entries.map(|(k, v)| (k.clone(), v.clone())).collect())))
        }
        Function::First => call.list(0)?.first().cloned().ok_or_else(empty),
        Function::Last => call.list(0)?.last().cloned().ok_or_else(empty),
        Function::Only => match call.list(0)? {
            [] => Err(empty()),
            [item] => Ok(item.clone()),
            items => Err(fail("several-match", format!("the list has {} items, not exactly one", items.len()))),
        },
        Function::Reverse => Ok(call.list(0)?.iter().rev().cloned().collect()),
        Function::Flatten => call.flatten(budget),
        Function::Concat => Ok(call.list(0)?.iter().chain(call.list(1)?).cloned().collect()),
        Function::Unique => call.unique(budget),
        Function::Sum => call.sum(budget),
        Function::Min => call.extreme(Ordering::Less, budget),
        Function::Max => call.extreme(Ordering::Greater, budget),
        Function::Join => call.join(budget),
        Function::Split => text::split(call.text(0)?, call.text(1)?, budget),
        Function::Between => text::between(call.text(0)?, call.text(1)?, call.text(2)?),
        Function::AllBetween => text::all_between(call.text(0)?, call.text(1)?, call.text(2)?, budget),
        Function::Contains => call.contains(budget),
        Function::StartsWith => Ok(Value::Bool(call.text(0)?.starts_with(call.text(1)?))),
        Function::EndsWith => Ok(Value::Bool(call.text(0)?.ends_with(call.text(1)?))),
        Function::Replace => text::replace(call.text(0)?, call.text(1)?, call.text(2)?, budget),
        Function::Lower => Ok(Value::string(call.text(0)?.to_lowercase())),
        Function::Upper => Ok(Value::string(call.text(0)?.to_uppercase())),
        Function::Trim => Ok(Value::from(call.text(0)?.trim())),
        Function::Slug => Ok(Value::string(text::slug(call.text(0)?))),
        Function::UrlEncode => Ok(Value::string(text::url_encode(call.text(0)?))),
        Function::UrlDecode => text::url_decode(call.text(0)?),
        Function::ToString => {
            scalar_text(call.argument(0)).map(Value::String).ok_or_else(|| call.wrong(0, "a text, a number or a boolean"))
        }
        Function::ToNumber => call.to_number(),
        Function::ParseJson | Function::ParsePython | Function::ParseTable | Function::FindJson
            if !matches!(call.argument(0), Value::String(_)) =>
        {
            Ok(call.argument(0).clone())
        }
        Function::ParseJson => json::parse(call.text(0)?.as_bytes())
            .map_err(|e| fail("not-json", format!("the text is no JSON: {} at line {} column {}", e.message, e.line, e.column))),
        Function::ParsePython => python::parse(call.text(0)?),
        Function::FindJson => find::find_json(call.text(0)?),
        Function::Lines => Ok(find::lines(call.text(0)?)),
        Function::ParseTable => table::parse(call.text(0)?),
        Function::ToJson => {
            measure(call.argument(0), budget)?;
            Ok(Value::string(json::to_string(call.argument(0))))
        }
        Function::Date => time::date(call.text(0)?),
        Function::AddDays => time::add_days(call.text(0)?, call.number(1)?),
    }
}

/// A scalar as text: what a text template and `join` put in. Null, lists and objects have none.
pub(crate) fn scalar_text(value: &Value) -> Option<SmolStr> {
    match value {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(SmolStr::new(n.as_str())),
        Value::Bool(b) => Some(SmolStr::new_static(if *b { "true" } else { "false" })),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn empty() -> Failure {
    fail(EMPTY_LIST, "the list is empty")
}

fn entry(key: &SmolStr, value: &Value) -> Value {
    let key = (SmolStr::new_static("key"), Value::String(key.clone()));
    Value::Object(Object::from_unique(vec![key, (SmolStr::new_static("value"), value.clone())]))
}

/// A function and its arguments.
struct Call<'c> {
    function: Function,
    arguments: &'c [Value],
}

impl Call<'_> {
    fn argument(&self, at: usize) -> &Value {
        self.arguments.get(at).unwrap_or(&Value::Null)
    }

    /// What looking at the arguments costs; functions that look at no more than one item, or pay for each, cost nothing here.
    fn cost(&self) -> usize {
        let of = |value: &Value| match (value, self.function) {
            (_, Function::First | Function::Last | Function::Only | Function::ToString | Function::ToNumber | Function::ToJson) => 0,
            (Value::Array(_) | Value::Object(_), Function::Len | Function::Contains) => 0,
            (Value::String(s), _) => s.len() / 8,
            (Value::Array(items), _) => items.len(),
            (Value::Object(object), _) => object.len(),
            (Value::Null | Value::Bool(_) | Value::Number(_), _) => 0,
        };
        self.arguments.iter().map(of).sum()
    }

    fn wrong(&self, at: usize, wanted: &str) -> Failure {
        let ordinal = ["first", "second", "third"].get(at).copied().unwrap_or("last");
        let which = if self.function.arity() == 1 { String::new() } else { format!(" as its {ordinal} argument") };
        let found = with_article(self.argument(at).type_name());
        fail("wrong-type", format!("`{}` takes {wanted}{which}, not {found}", self.function.name()))
    }

    fn text(&self, at: usize) -> Result<&str, Failure> {
        self.argument(at).as_str().ok_or_else(|| self.wrong(at, "a text"))
    }

    fn list(&self, at: usize) -> Result<&[Value], Failure> {
        self.argument(at).as_array().ok_or_else(|| self.wrong(at, "a list"))
    }

    fn object(&self, at: usize) -> Result<&Object, Failure> {
        self.argument(at).as_object().ok_or_else(|| self.wrong(at, "an object"))
    }

    fn number(&self, at: usize) -> Result<&Number, Failure> {
        self.argument(at).as_number().ok_or_else(|| self.wrong(at, "a number"))
    }

    fn len(&self) -> Result<Value, Failure> {
        match self.argument(0) {
            Value::Array(items) => Ok(Value::from(items.len())),
            Value::Object(object) => Ok(Value::from(object.len())),
            Value::String(s) => Ok(Value::from(s.chars().count())),
            Value::Null | Value::Bool(_) | Value::Number(_) => Err(self.wrong(0, "a list, an object or a text")),
        }
    }

    fn entries_to_object(&self) -> Result<Value, Failure> {
        let pair = |item: &Value| Some((SmolStr::new(item.get("key")?.as_str()?), item.get("value")?.clone()));
        let entries: Option<Vec<_>> = self.list(0)?.iter().map(pair).collect();
        let entries = entries.ok_or_else(|| fail("wrong-type", "`from_entries` takes a list of `{key, value}` with texts as keys"))?;
        Ok(Value::Object(Object::from_entries(entries)))
    }

    fn flatten(&self, budget: &mut Budget) -> Result<Value, Failure> {
        let mut all = Vec::new();
        for item in self.list(0)? {
            let Value::Array(inner) = item else {
                return Err(fail("wrong-type", format!("`flatten` takes a list of lists; it holds {}", with_article(item.type_name()))));
            };
            budget.spend(inner.len())?;
            all.extend(inner.iter().cloned());
        }
        Ok(Value::array(all))
    }

    fn unique(&self, budget: &mut Budget) -> Result<Value, Failure> {
        let mut seen = BTreeSet::new();
        let mut out = Vec::new();
        for item in self.list(0)? {
            measure(item, budget)?;
            let identity = json::to_canonical_string(&by_value(item));
            budget.spend_text(identity.len())?;
            if seen.insert(identity) {
                out.push(item.clone());
            }
        }
        Ok(Value::array(out))
    }

    fn sum(&self, budget: &mut Budget) -> Result<Value, Failure> {
        let mut total = Number::from(0_i64);
        for item in self.list(0)? {
            let Value::Number(n) = item else {
                return Err(fail("wrong-type", format!("`sum` takes numbers; the list holds {}", with_article(item.type_name()))));
            };
            budget.spend_text(n.as_str().len() + total.as_str().len())?;
            total = number::add(&total, n)?;
        }
        Ok(Value::Number(total))
    }

    fn extreme(&self, side: Ordering, budget: &mut Budget) -> Result<Value, Failure> {
        let mut items = self.list(0)?.iter();
        let mut best = items.next().ok_or_else(empty)?;
        // A single item that has no order at all is refused as well.
        order(best, best, budget)?;
        for item in items {
            if order(item, best, budget)? == side {
                best = item;
            }
        }
        Ok(best.clone())
    }

    fn join(&self, budget: &mut Budget) -> Result<Value, Failure> {
        let separator = self.text(1)?;
        let mut out = String::new();
        for (at, item) in self.list(0)?.iter().enumerate() {
            let part = scalar_text(item).ok_or_else(|| {
                fail("not-text", format!("`join` takes texts, numbers and booleans; the list holds {}", with_article(item.type_name())))
            })?;
            budget.spend_text(separator.len() + part.len())?;
            out.push_str(if at > 0 { separator } else { "" });
            out.push_str(&part);
        }
        Ok(Value::string(out))
    }

    fn contains(&self, budget: &mut Budget) -> Result<Value, Failure> {
        match self.argument(0) {
            Value::String(text) => Ok(Value::Bool(text.contains(self.text(1)?))),
            Value::Object(object) => Ok(Value::Bool(object.contains_key(self.text(1)?))),
            Value::Array(items) => {
                for item in items.iter() {
                    if equal(item, self.argument(1), budget)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Err(self.wrong(0, "a text, a list or an object")),
        }
    }

    fn to_number(&self) -> Result<Value, Failure> {
        match self.argument(0) {
            number @ Value::Number(_) => Ok(number.clone()),
            Value::String(text) => Number::parse(text)
                .map(Value::Number)
                .ok_or_else(|| fail("not-a-number", "the text is no number as JSON spells them (no blanks, no leading zeros)")),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(self.wrong(0, "a text or a number")),
        }
    }
}

/// The value with each number in the one spelling that its equals share, as a text that no string has.
fn by_value(value: &Value) -> Value {
    match value {
        Value::Number(n) => Value::string(format!("\u{1}{}", number::identity(n))),
        Value::String(s) if s.starts_with('\u{1}') => Value::string(format!("\u{1}\u{1}{s}")),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
        Value::Array(items) => items.iter().map(by_value).collect(),
        Value::Object(object) => Value::Object(Object::from_unique(object.iter().map(|(k, v)| (k.clone(), by_value(v))).collect())),
    }
}
