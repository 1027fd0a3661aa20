//! What an expression means: its value in a scope, or a failure. It always ends, within a budget of work.

pub use super::budget::{Budget, MAX_VALUE_DEPTH};
pub use super::scope::{Group, Scope};

use super::compare::{equal, extreme, order, sort};
use super::print::print_short;
use super::{BinaryOp, Expr, Function, OverFunction, access, functions, number};
use crate::advance::Failure;
use crate::value::{Object, Value};
use smol_str::SmolStr;
use std::cmp::Ordering;

/// A failure with this code and message.
pub(crate) fn fail(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: SmolStr::new(code), message: message.into(), step: None }
}

/// The value of `expr`; `None` where it is `omit`.
///
/// # Errors
/// The first failure, with a code and a message that names the part of the expression, never a value.
pub fn evaluate(expr: &Expr, scope: &dyn Scope, budget: &mut Budget) -> Result<Option<Value>, Failure> {
    match (Evaluation { scope, budget }).eval(expr, None, false)? {
        Got::Value(value) => Ok(Some(value)),
        Got::Omitted | Got::Missing => Ok(None),
    }
}

/// Whether the test `expr` is true; null counts as false.
///
/// # Errors
/// `not-boolean` where it is something else, or what [`evaluate`] fails with.
pub fn test(expr: &Expr, scope: &dyn Scope, budget: &mut Budget) -> Result<bool, Failure> {
    (Evaluation { scope, budget }).boolean(expr, None)
}

/// What a part of an expression gives.
enum Got {
    Value(Value),
    Omitted,
    /// Not there, on the left of `??`.
    Missing,
}

/// A name that a function gives to an item, inside those around it.
#[derive(Clone, Copy)]
struct Binder<'b> {
    outer: Option<&'b Binder<'b>>,
    name: &'b str,
    value: &'b Value,
}

type Bound<'b> = Option<&'b Binder<'b>>;

fn bound<'b>(mut binders: Bound<'b>, name: &str) -> Option<&'b Value> {
    while let Some(binder) = binders {
        if binder.name == name {
            return Some(binder.value);
        }
        binders = binder.outer;
    }
    None
}

struct Evaluation<'e> {
    scope: &'e dyn Scope,
    budget: &'e mut Budget,
}

impl Evaluation<'_> {
    /// `lenient` says that `expr` stands in the left spine of `??`: what is not there is `Missing`, no failure.
    fn eval(&mut self, expr: &Expr, binders: Bound, lenient: bool) -> Result<Got, Failure> {
        self.budget.spend(1)?;
        let value = match expr {
            Expr::Literal(value) => value.clone(),
            Expr::Omit => return Ok(Got::Omitted),
            Expr::Name(name) => match bound(binders, name).cloned().or_else(|| self.scope.name(name)) {
                Some(value) => value,
                None => return missing(lenient, || self.no_such_name(name)),
            },
            Expr::Key(base, key) => return self.key(base, key, binders, lenient),
            Expr::Index(base, index) => return self.index(base, *index, binders, lenient),
            Expr::Pick { list, path, equals } => return self.pick(expr, list, path, equals, binders, lenient),
            Expr::Call(function, arguments) => return self.call(expr, *function, arguments, binders, lenient),
            Expr::Over { function, list, name, body } => {
                let Some(items) = self.subject(list, binders, lenient, true)? else { return Ok(Got::Missing) };
                self.over(*function, &items, name, body, binders).map_err(|f| within(f, expr))?
            }
            Expr::Not(operand) => Value::Bool(!self.boolean(operand, binders)?),
            Expr::Binary(BinaryOp::Coalesce, left, right) => {
                return match self.eval(left, binders, true)? {
                    Got::Missing | Got::Value(Value::Null) => self.eval(right, binders, lenient),
                    got @ (Got::Value(_) | Got::Omitted) => Ok(got),
                };
            }
            Expr::Binary(op, left, right) => self.binary(expr, *op, left, right, binders)?,
            Expr::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.extend(self.optional(item, binders)?);
                }
                Value::array(values)
            }
            Expr::Record(entries) => {
                let mut values = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    values.extend(self.optional(value, binders)?.map(|v| (key.clone(), v)));
                }
                Value::Object(Object::from_entries(values))
            }
        };
        Ok(Got::Value(value))
    }

    fn optional(&mut self, expr: &Expr, binders: Bound) -> Result<Option<Value>, Failure> {
        match self.eval(expr, binders, false)? {
            Got::Value(value) => Ok(Some(value)),
            Got::Omitted | Got::Missing => Ok(None),
        }
    }

    fn value(&mut self, expr: &Expr, binders: Bound) -> Result<Value, Failure> {
        self.optional(expr, binders)?.ok_or_else(omitted)
    }

    fn boolean(&mut self, expr: &Expr, binders: Bound) -> Result<bool, Failure> {
        match self.value(expr, binders)? {
            Value::Bool(b) => Ok(b),
            Value::Null => Ok(false),
            other @ (Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
                Err(access::not_boolean(&|| told(expr), &other))
            }
        }
    }

    /// The value that something is taken out of; `None` where it is missing (or null, if that counts) and `lenient`.
    fn subject(&mut self, expr: &Expr, binders: Bound, lenient: bool, null_counts: bool) -> Result<Option<Value>, Failure> {
        match self.eval(expr, binders, lenient)? {
            Got::Missing => Ok(None),
            Got::Value(Value::Null) if lenient && null_counts => Ok(None),
            Got::Value(value) => Ok(Some(value)),
            Got::Omitted => Err(omitted()),
        }
    }

    fn key(&mut self, base: &Expr, key: &SmolStr, binders: Bound, lenient: bool) -> Result<Got, Failure> {
        if let Expr::Name(name) = base
            && let (Some(group), None) = (Group::named(name), bound(binders, name))
        {
            return match self.scope.member(group, key) {
                Some(value) => Ok(Got::Value(value)),
                None => missing(lenient, || no_such_member(group, key)),
            };
        }
        let Some(subject) = self.subject(base, binders, lenient, true)? else { return Ok(Got::Missing) };
        let told = || told(base);
        match (access::key(&subject, key, &told)?, &subject) {
            (Some(value), _) => Ok(Got::Value(value.clone())),
            (None, Value::Object(object)) => missing(lenient, || access::no_such_key(&told, key, object)),
            (None, _) => missing(lenient, || access::no_such_key(&told, key, &Object::default())),
        }
    }

    fn list(&mut self, base: &Expr, binders: Bound, lenient: bool) -> Result<Option<std::sync::Arc<Vec<Value>>>, Failure> {
        match self.subject(base, binders, lenient, true)? {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => access::list(&other, &|| told(base)).map(|_| None),
        }
    }

    fn index(&mut self, base: &Expr, index: i64, binders: Bound, lenient: bool) -> Result<Got, Failure> {
        let Some(items) = self.list(base, binders, lenient)? else { return Ok(Got::Missing) };
        match access::place(index, items.len()).and_then(|at| items.get(at)) {
            Some(value) => Ok(Got::Value(value.clone())),
            None => missing(lenient, || access::no_such_item(&|| told(base), index, items.len())),
        }
    }

    fn pick(&mut self, whole: &Expr, list: &Expr, path: &[SmolStr], equals: &Expr, binders: Bound, lenient: bool) -> Result<Got, Failure> {
        let Some(items) = self.list(list, binders, lenient)? else { return Ok(Got::Missing) };
        let wanted = self.value(equals, binders)?;
        let (mut found, mut matches) = (None, 0_usize);
        for item in items.iter() {
            self.budget.spend(1 + path.len())?;
            let field = path.iter().try_fold(item, |value, key| value.get(key));
            if let Some(field) = field
                && equal(field, &wanted, self.budget)?
            {
                matches += 1;
                found = Some(item);
            }
        }
        match (found, matches) {
            (Some(item), 1) => Ok(Got::Value(item.clone())),
            (None, _) | (Some(_), 0) => missing(lenient, || access::none_matches(items.len(), &print_short(whole))),
            (Some(_), _) => Err(access::several_match(matches, items.len(), &print_short(whole))),
        }
    }

    fn call(&mut self, whole: &Expr, function: Function, arguments: &[Expr], binders: Bound, lenient: bool) -> Result<Got, Failure> {
        let mut values = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.iter().enumerate() {
            let null_counts = function != Function::ToJson;
            match self.subject(argument, binders, lenient && at == 0, null_counts)? {
                Some(value) => values.push(value),
                None => return Ok(Got::Missing),
            }
        }
        match functions::apply(function, &values, self.budget) {
            Ok(value) => Ok(Got::Value(value)),
            // The first, last, smallest … of nothing is not there.
            Err(failure) if lenient && failure.code == functions::EMPTY_LIST => Ok(Got::Missing),
            Err(failure) => Err(within(failure, whole)),
        }
    }

    fn binary(&mut self, whole: &Expr, op: BinaryOp, left: &Expr, right: &Expr, binders: Bound) -> Result<Value, Failure> {
        match op {
            BinaryOp::Or => return Ok(Value::Bool(self.boolean(left, binders)? || self.boolean(right, binders)?)),
            BinaryOp::And => return Ok(Value::Bool(self.boolean(left, binders)? && self.boolean(right, binders)?)),
            BinaryOp::Coalesce
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual
            | BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply => {}
        }
        let (a, b) = (self.value(left, binders)?, self.value(right, binders)?);
        match op {
            BinaryOp::Equal => equal(&a, &b, self.budget).map(Value::Bool),
            BinaryOp::NotEqual => equal(&a, &b, self.budget).map(|e| Value::Bool(!e)),
            BinaryOp::Less => order(&a, &b, self.budget).map(|o| Value::Bool(o.is_lt())),
            BinaryOp::LessOrEqual => order(&a, &b, self.budget).map(|o| Value::Bool(o.is_le())),
            BinaryOp::Greater => order(&a, &b, self.budget).map(|o| Value::Bool(o.is_gt())),
            BinaryOp::GreaterOrEqual => order(&a, &b, self.budget).map(|o| Value::Bool(o.is_ge())),
            BinaryOp::Add => self.arithmetic(&a, &b, number::add),
            BinaryOp::Subtract => self.arithmetic(&a, &b, number::subtract),
            BinaryOp::Multiply => self.arithmetic(&a, &b, number::multiply),
            BinaryOp::Or | BinaryOp::And | BinaryOp::Coalesce => Ok(Value::Null),
        }
        .map_err(|f| within(f, whole))
    }

    fn arithmetic(&mut self, a: &Value, b: &Value, op: Arithmetic) -> Result<Value, Failure> {
        if let (Value::Number(a), Value::Number(b)) = (a, b) {
            // Multiplying is quadratic in the digits; the square of the digits in words of 16 is near enough.
            let words = (a.as_str().len() + b.as_str().len()) / 16;
            self.budget.spend(words.saturating_mul(words))?;
            return op(a, b).map(Value::Number);
        }
        let (a, b) = (with_article(a.type_name()), with_article(b.type_name()));
        Err(fail("wrong-type", format!("arithmetic takes numbers, not {a} and {b}")))
    }

    fn over(&mut self, function: OverFunction, list: &Value, name: &str, body: &Expr, binders: Bound) -> Result<Value, Failure> {
        let Value::Array(items) = list else {
            return Err(fail("wrong-type", format!("`{}` takes a list, not {}", function.name(), with_article(list.type_name()))));
        };
        let mut taken: Vec<Value> = Vec::new();
        let mut ranked: Vec<(Value, &Value)> = Vec::new();
        for value in items.iter() {
            self.budget.spend(1)?;
            let binder = Binder { outer: binders, name, value };
            let inner = Some(&binder);
            match function {
                OverFunction::Map => taken.extend(self.optional(body, inner)?),
                OverFunction::Filter => {
                    if self.boolean(body, inner)? {
                        taken.push(value.clone());
                    }
                }
                OverFunction::Any => {
                    if self.boolean(body, inner)? {
                        return Ok(Value::Bool(true));
                    }
                }
                OverFunction::All => {
                    if !self.boolean(body, inner)? {
                        return Ok(Value::Bool(false));
                    }
                }
                OverFunction::MinBy | OverFunction::MaxBy | OverFunction::SortBy => ranked.push((self.value(body, inner)?, value)),
            }
        }
        match function {
            OverFunction::Map | OverFunction::Filter => Ok(Value::array(taken)),
            OverFunction::Any => Ok(Value::Bool(false)),
            OverFunction::All => Ok(Value::Bool(true)),
            OverFunction::MinBy => extreme(&ranked, Ordering::Less, self.budget),
            OverFunction::MaxBy => extreme(&ranked, Ordering::Greater, self.budget),
            OverFunction::SortBy => {
                sort(&mut ranked, self.budget)?;
                Ok(ranked.into_iter().map(|(_, value)| value.clone()).collect())
            }
        }
    }

    fn no_such_name(&self, name: &SmolStr) -> Failure {
        match Group::named(name) {
            Some(group) => fail("no-such-name", format!("`{0}` is no value itself; write `{0}.name`", group.name())),
            None => fail("no-such-name", format!("`{name}` is not known here")),
        }
    }
}

type Arithmetic = fn(&crate::value::Number, &crate::value::Number) -> Result<crate::value::Number, Failure>;

fn missing(lenient: bool, failure: impl FnOnce() -> Failure) -> Result<Got, Failure> {
    if lenient { Ok(Got::Missing) } else { Err(failure()) }
}

fn omitted() -> Failure {
    fail("omitted", "`omit` may only stand for a whole argument, entry or item")
}

fn no_such_member(group: Group, key: &str) -> Failure {
    match group {
        Group::Steps => fail("no-value", format!("the step `{key}` has no value here: it was skipped, or its branch was not taken")),
        Group::Previous => fail("no-value", format!("the step `{key}` has no value from the round before")),
        Group::Secrets => fail("no-such-secret", format!("there is no secret `{key}`")),
    }
}

/// An expression in a message.
fn told(expr: &Expr) -> String {
    format!("`{}`", print_short(expr))
}

/// Says in a failure which part of the expression it comes from.
fn within(mut failure: Failure, expr: &Expr) -> Failure {
    if failure.code != "too-much-work" && !failure.message.contains(" (in `") {
        failure.message = format!("{} (in `{}`)", failure.message, print_short(expr));
    }
    failure
}

/// `3 items`, `1 item`
pub(crate) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// A type's name in a sentence.
pub(crate) fn with_article(type_name: &str) -> String {
    match type_name {
        "null" => "null".to_string(),
        "string" => "a text".to_string(),
        "array" => "a list".to_string(),
        "integer" => "a number".to_string(),
        "object" => "an object".to_string(),
        other => format!("a {other}"),
    }
}
