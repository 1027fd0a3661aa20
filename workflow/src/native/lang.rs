//! The functions and operators of expressions, as Rust functions of the same names. Each calls what the interpreter calls.

use super::typed::{FromValue, ToValue};
use crate::advance::Failure;
use crate::expr::access::{self, Told};
use crate::expr::eval::{Budget, fail, with_article};
use crate::expr::{self, Function, scalar_text};
use crate::value::{Number, Object, Value};
use smol_str::SmolStr;
use std::cmp::Ordering;

const TOLD: Told = &|| "the value".to_owned();

macro_rules! functions {
    ($($name:ident($($argument:ident),*) -> $type:ty = $function:ident;)*) => {$(
        #[doc = concat!("The function `", stringify!($name), "` of expressions.")]
        ///
        /// # Errors
        /// The interpreter's failures, by their codes.
        pub fn $name($($argument: impl ToValue),*) -> Result<$type, Failure> {
            let value = expr::apply(Function::$function, &[$($argument.to_value()),*], &mut Budget::default())?;
            <$type>::from_value(&value).map_err(|mismatch| fail("wrong-type", mismatch.to_string()))
        }
    )*};
}

functions! {
    len(a) -> Number = Len;
    keys(a) -> Vec<String> = Keys;
    values(a) -> Vec<Value> = Values;
    entries(a) -> Vec<Value> = Entries;
    from_entries(a) -> Object = FromEntries;
    merge(a, b) -> Object = Merge;
    first(a) -> Value = First;
    last(a) -> Value = Last;
    only(a) -> Value = Only;
    reverse(a) -> Vec<Value> = Reverse;
    flatten(a) -> Vec<Value> = Flatten;
    concat(a, b) -> Vec<Value> = Concat;
    unique(a) -> Vec<Value> = Unique;
    sum(a) -> Number = Sum;
    min(a) -> Value = Min;
    max(a) -> Value = Max;
    join(a, b) -> String = Join;
    split(a, b) -> Vec<String> = Split;
    between(a, b, c) -> String = Between;
    all_between(a, b, c) -> Vec<String> = AllBetween;
    contains(a, b) -> bool = Contains;
    starts_with(a, b) -> bool = StartsWith;
    ends_with(a, b) -> bool = EndsWith;
    replace(a, b, c) -> String = Replace;
    lower(a) -> String = Lower;
    upper(a) -> String = Upper;
    trim(a) -> String = Trim;
    slug(a) -> String = Slug;
    url_encode(a) -> String = UrlEncode;
    url_decode(a) -> String = UrlDecode;
    to_string(a) -> String = ToString;
    to_number(a) -> Number = ToNumber;
    parse_json(a) -> Value = ParseJson;
    parse_python(a) -> Value = ParsePython;
    find_json(a) -> Value = FindJson;
    lines(a) -> Vec<String> = Lines;
    parse_table(a) -> Value = ParseTable;
    to_json(a) -> String = ToJson;
    date(a) -> String = Date;
    add_days(a, b) -> String = AddDays;
}

/// A list that is gone through item by item: `map`, `filter` and the others take a value or a list of one type.
pub trait Items {
    /// What its items are.
    type Item: ToValue + Clone;

    /// The items.
    ///
    /// # Errors
    /// `wrong-type` where this is no list.
    fn each(&self) -> Result<&[Self::Item], Failure>;
}

impl Items for Value {
    type Item = Value;

    fn each(&self) -> Result<&[Value], Failure> {
        access::list(self, TOLD)
    }
}

impl<T: ToValue + Clone> Items for [T] {
    type Item = T;

    fn each(&self) -> Result<&[T], Failure> {
        Ok(self)
    }
}

impl<T: ToValue + Clone> Items for Vec<T> {
    type Item = T;

    fn each(&self) -> Result<&[T], Failure> {
        Ok(self)
    }
}

/// `map(list, item, …)`
///
/// # Errors
/// `wrong-type` where this is no list, and what the body fails with.
pub fn map<L: Items + ?Sized, T>(list: &L, body: impl FnMut(&L::Item) -> Result<T, Failure>) -> Result<Vec<T>, Failure> {
    list.each()?.iter().map(body).collect()
}

/// `map(list, item, … ?? omit)`
///
/// # Errors
/// As [`map`].
pub fn map_some<L: Items + ?Sized, T>(list: &L, mut body: impl FnMut(&L::Item) -> Result<Option<T>, Failure>) -> Result<Vec<T>, Failure> {
    list.each()?.iter().filter_map(|item| body(item).transpose()).collect()
}

/// `filter(list, item, …)`
///
/// # Errors
/// As [`map`].
pub fn filter<L: Items + ?Sized>(list: &L, mut body: impl FnMut(&L::Item) -> Result<bool, Failure>) -> Result<Vec<L::Item>, Failure> {
    let mut taken = Vec::new();
    for item in list.each()? {
        if body(item)? {
            taken.push(item.clone());
        }
    }
    Ok(taken)
}

/// `any(list, item, …)`
///
/// # Errors
/// As [`map`].
pub fn any<L: Items + ?Sized>(list: &L, mut body: impl FnMut(&L::Item) -> Result<bool, Failure>) -> Result<bool, Failure> {
    for item in list.each()? {
        if body(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `all(list, item, …)`
///
/// # Errors
/// As [`map`].
pub fn all<L: Items + ?Sized>(list: &L, mut body: impl FnMut(&L::Item) -> Result<bool, Failure>) -> Result<bool, Failure> {
    for item in list.each()? {
        if !body(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

type Ranked<'l, T> = Vec<(Value, &'l T)>;

fn ranked<L: Items + ?Sized, R: ToValue>(
    list: &L,
    mut body: impl FnMut(&L::Item) -> Result<R, Failure>,
) -> Result<Ranked<'_, L::Item>, Failure> {
    list.each()?.iter().map(|item| Ok((body(item)?.to_value(), item))).collect()
}

/// `min_by(list, item, …)`
///
/// # Errors
/// `empty-list`, `not-comparable`, and as [`map`].
pub fn min_by<L: Items + ?Sized, R: ToValue>(list: &L, body: impl FnMut(&L::Item) -> Result<R, Failure>) -> Result<L::Item, Failure> {
    expr::extreme(&ranked(list, body)?, Ordering::Less, &mut Budget::default())
}

/// `max_by(list, item, …)`
///
/// # Errors
/// `empty-list`, `not-comparable`, and as [`map`].
pub fn max_by<L: Items + ?Sized, R: ToValue>(list: &L, body: impl FnMut(&L::Item) -> Result<R, Failure>) -> Result<L::Item, Failure> {
    expr::extreme(&ranked(list, body)?, Ordering::Greater, &mut Budget::default())
}

/// `sort_by(list, item, …)`
///
/// # Errors
/// `not-comparable`, and as [`map`].
pub fn sort_by<L: Items + ?Sized, R: ToValue>(list: &L, body: impl FnMut(&L::Item) -> Result<R, Failure>) -> Result<Vec<L::Item>, Failure> {
    let mut ranked = ranked(list, body)?;
    expr::sort(&mut ranked, &mut Budget::default())?;
    Ok(ranked.into_iter().map(|(_, item)| item.clone()).collect())
}

/// `a == b`: numbers by their value, everything else as JSON.
pub fn equal(a: impl ToValue, b: impl ToValue) -> bool {
    // With a budget that nothing uses up, comparing does not fail.
    expr::equal(&a.to_value(), &b.to_value(), &mut Budget::new(u64::MAX)).unwrap_or(false)
}

/// How `a` and `b` compare, for `<`, `<=`, `>` and `>=`.
///
/// # Errors
/// `not-comparable` unless both are numbers or both are texts.
pub fn order(a: impl ToValue, b: impl ToValue) -> Result<Ordering, Failure> {
    expr::order(&a.to_value(), &b.to_value(), &mut Budget::default())
}

macro_rules! arithmetic {
    ($($name:ident $symbol:literal;)*) => {$(
        #[doc = concat!("`a ", $symbol, " b`, exactly.")]
        ///
        /// # Errors
        /// `wrong-type` unless both are numbers, `number-too-large`.
        pub fn $name(a: impl ToValue, b: impl ToValue) -> Result<Number, Failure> {
            match (a.to_value(), b.to_value()) {
                (Value::Number(a), Value::Number(b)) => expr::$name(&a, &b),
                (a, b) => {
                    let (a, b) = (with_article(a.type_name()), with_article(b.type_name()));
                    Err(fail("wrong-type", format!("arithmetic takes numbers, not {a} and {b}")))
                }
            }
        }
    )*};
}

arithmetic! {
    add "+";
    subtract "-";
    multiply "*";
}

/// Whether a test is true; null counts as false.
///
/// # Errors
/// `not-boolean` where it is something else.
pub fn truth(value: &Value) -> Result<bool, Failure> {
    match value {
        Value::Bool(is) => Ok(*is),
        Value::Null => Ok(false),
        Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => Err(access::not_boolean(TOLD, value)),
    }
}

/// A value inside of a text: a text, a number or a boolean.
///
/// # Errors
/// `not-text` where it is something else.
pub fn text(value: impl ToValue) -> Result<SmolStr, Failure> {
    let value = value.to_value();
    scalar_text(&value)
        .ok_or_else(|| fail("not-text", format!("the value stands inside a text, but is {}", with_article(value.type_name()))))
}

/// The number that `text` spells.
///
/// # Errors
/// `not-a-number` where JSON does not spell one so.
pub fn number(text: &str) -> Result<Number, Failure> {
    Number::parse(text).ok_or_else(|| fail("not-a-number", "the text is no number as JSON spells them"))
}

/// An integer.
pub fn integer(n: i64) -> Number {
    Number::from(n)
}

/// A list of these items.
pub fn list<const N: usize>(items: [Value; N]) -> Value {
    Value::array(items.into())
}

/// A list of those items that are there.
pub fn list_of_some<const N: usize>(items: [Option<Value>; N]) -> Value {
    items.into_iter().flatten().collect()
}

/// An object of these entries.
pub fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Object(entries.into_iter().collect())
}

/// An object of those entries that are there.
pub fn object_of_some<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    Value::Object(entries.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())
}

/// `value` as a `T`: what is called `what`, in messages.
///
/// # Errors
/// `wrong-type` where it is none.
pub fn read<T: FromValue>(what: &str, value: impl ToValue) -> Result<T, Failure> {
    T::from_value(&value.to_value()).map_err(|mismatch| fail("wrong-type", format!("`{what}`: {mismatch}")))
}

/// As [`read`], where there is something.
///
/// # Errors
/// `wrong-type` where it is none.
pub fn read_some<T: FromValue>(what: &str, value: Option<impl ToValue>) -> Result<Option<T>, Failure> {
    value.map(|value| read(what, value)).transpose()
}

/// The field `key`, which may be missing.
///
/// # Errors
/// `no-such-key` where it is.
pub fn given<'f, T>(field: Option<&'f T>, key: &str) -> Result<&'f T, Failure> {
    field.ok_or_else(|| fail("no-such-key", format!("the value has no key `{key}`")))
}

/// The value of `step`, which may have been skipped.
///
/// # Errors
/// `no-value` where it was.
pub fn done<'s, T: ?Sized>(value: Option<&'s T>, step: &str) -> Result<&'s T, Failure> {
    value.ok_or_else(|| fail("no-value", format!("the step `{step}` has no value here: it was skipped, or its branch was not taken")))
}

/// The first, last, smallest … of a list on the left side of `??`: of an empty list there is none.
///
/// # Errors
/// All failures but `empty-list`.
pub fn unless_empty<T>(found: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.code == expr::EMPTY_LIST => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// What is there and not null.
pub fn not_null<V: ToValue>(found: Option<V>) -> Option<V> {
    found.filter(|value| !value.to_value().is_null())
}

/// The item at `index` of a list, as `list[index]`.
///
/// # Errors
/// `no-such-item`.
pub fn item<T>(list: &[T], index: i64) -> Result<&T, Failure> {
    access::place(index, list.len()).and_then(|at| list.get(at)).ok_or_else(|| access::no_such_item(TOLD, index, list.len()))
}

/// `omit` where something has to be.
///
/// # Errors
/// `omitted`, always.
pub fn omitted() -> Result<Value, Failure> {
    Err(fail("omitted", "`omit` may only stand for a whole argument, entry or item"))
}
