//! Values as Rust types, and back: nothing is rounded, reordered in a way that counts, or left out.

use crate::expr::eval::with_article;
use crate::value::{Number, Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::fmt;

/// What can be written as a value.
pub trait ToValue {
    /// It as a value.
    fn to_value(&self) -> Value;
}

/// What can be read from a value.
pub trait FromValue: Sized {
    /// It, read from `value`.
    ///
    /// # Errors
    /// Where in the value something is of another type, or missing.
    fn from_value(value: &Value) -> Result<Self, Mismatch>;
}

/// A value is not of the type that it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where: a JSON Pointer.
    pub place: String,
    /// What is wrong there.
    pub message: String,
}

impl Mismatch {
    fn wanted(what: &str, found: &Value) -> Mismatch {
        Mismatch { place: String::new(), message: format!("it is {}, not {what}", with_article(found.type_name())) }
    }

    /// The same, seen from around `key`.
    #[must_use]
    pub fn inside(self, key: impl fmt::Display) -> Mismatch {
        let key = key.to_string().replace('~', "~0").replace('/', "~1");
        Mismatch { place: format!("/{key}{}", self.place), ..self }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.place, self.message) }
    }
}

/// What may be null.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Nullable<T> {
    /// Null.
    #[default]
    Null,
    /// Something else.
    Given(T),
}

impl<T> Nullable<T> {
    /// What is given, if it is.
    pub fn given(&self) -> Option<&T> {
        match self {
            Nullable::Null => None,
            Nullable::Given(given) => Some(given),
        }
    }
}

/// The fields of an object, taken out one by one.
pub struct Fields(Object);

impl Fields {
    /// Those of `value`.
    ///
    /// # Errors
    /// Where it is no object.
    pub fn of(value: &Value) -> Result<Fields, Mismatch> {
        value.as_object().cloned().map(Fields).ok_or_else(|| Mismatch::wanted("an object", value))
    }

    /// The field `key`.
    ///
    /// # Errors
    /// Where it is missing or of another type.
    pub fn required<T: FromValue>(&mut self, key: &str) -> Result<T, Mismatch> {
        let missing = || Mismatch { place: String::new(), message: format!("the field `{key}` is missing") };
        let value = self.0.remove(key).ok_or_else(missing)?;
        T::from_value(&value).map_err(|mismatch| mismatch.inside(key))
    }

    /// The field `key`, if it is there. A null where the type knows none counts as missing, and stays among the others.
    ///
    /// # Errors
    /// Where it is of another type.
    pub fn optional<T: FromValue>(&mut self, key: &str) -> Result<Option<T>, Mismatch> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        match T::from_value(value) {
            Ok(field) => {
                self.0.remove(key);
                Ok(Some(field))
            }
            Err(_) if value.is_null() => Ok(None),
            Err(mismatch) => Err(mismatch.inside(key)),
        }
    }

    /// The fields that were not taken out.
    pub fn others(self) -> Object {
        self.0
    }
}

/// An object, made field by field.
#[derive(Default)]
pub struct Record(Vec<(SmolStr, Value)>);

impl Record {
    /// One without fields.
    pub fn new() -> Record {
        Record::default()
    }

    /// With the field `key`.
    #[must_use]
    pub fn with(mut self, key: &str, value: &(impl ToValue + ?Sized)) -> Record {
        self.0.push((SmolStr::new(key), value.to_value()));
        self
    }

    /// With the field `key`, if it is there.
    #[must_use]
    pub fn with_some<T: ToValue>(self, key: &str, value: Option<&T>) -> Record {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// With these other fields.
    #[must_use]
    pub fn with_others(mut self, others: &Object) -> Record {
        self.0.extend(others.iter().map(|(key, value)| (key.clone(), value.clone())));
        self
    }
}

impl From<Record> for Value {
    fn from(record: Record) -> Value {
        Value::Object(Object::from_entries(record.0))
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

impl ToValue for () {
    fn to_value(&self) -> Value {
        Value::Null
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value {
        Value::from(self)
    }
}

macro_rules! read_and_written {
    ($($type:ty, $what:literal, $read:expr, $write:expr;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: &Value) -> Result<Self, Mismatch> {
                let read: fn(&Value) -> Option<$type> = $read;
                read(value).ok_or_else(|| Mismatch::wanted($what, value))
            }
        }
        impl ToValue for $type {
            fn to_value(&self) -> Value {
                let write: fn(&$type) -> Value = $write;
                write(self)
            }
        }
    )*};
}

read_and_written! {
    Value, "a value", |value| Some(value.clone()), Value::clone;
    String, "a text", |value| value.as_str().map(str::to_owned), |text| Value::from(text.as_str());
    bool, "true or false", Value::as_bool, |is| Value::from(*is);
    Number, "a number", |value| value.as_number().cloned(), |number| Value::Number(number.clone());
    Object, "an object", |value| value.as_object().cloned(), |object| Value::Object(object.clone());
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let items = value.as_array().ok_or_else(|| Mismatch::wanted("a list", value))?;
        items.iter().enumerate().map(|(at, item)| T::from_value(item).map_err(|mismatch| mismatch.inside(at))).collect()
    }
}

impl<T: ToValue> ToValue for [T] {
    fn to_value(&self) -> Value {
        self.iter().map(ToValue::to_value).collect()
    }
}

impl<T: ToValue> ToValue for Vec<T> {
    fn to_value(&self) -> Value {
        self.as_slice().to_value()
    }
}

impl<T: FromValue> FromValue for BTreeMap<String, T> {
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let object = value.as_object().ok_or_else(|| Mismatch::wanted("an object", value))?;
        let entry = |(key, value): (&SmolStr, &Value)| {
            T::from_value(value).map(|value| (key.to_string(), value)).map_err(|mismatch| mismatch.inside(key))
        };
        object.iter().map(entry).collect()
    }
}

impl<T: ToValue> ToValue for BTreeMap<String, T> {
    fn to_value(&self) -> Value {
        Value::Object(self.iter().map(|(key, value)| (key.as_str(), value.to_value())).collect())
    }
}

impl<T: FromValue> FromValue for Nullable<T> {
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        if value.is_null() { Ok(Nullable::Null) } else { T::from_value(value).map(Nullable::Given) }
    }
}

impl<T: ToValue> ToValue for Nullable<T> {
    fn to_value(&self) -> Value {
        self.given().map_or(Value::Null, ToValue::to_value)
    }
}

macro_rules! tuples {
    ($($count:literal: $($name:ident $at:tt),*;)*) => {$(
        impl<$($name: FromValue),*> FromValue for ($($name,)*) {
            fn from_value(value: &Value) -> Result<Self, Mismatch> {
                let items = value.as_array().filter(|items| items.len() == $count);
                let items = items.ok_or_else(|| Mismatch::wanted(concat!("a list of ", $count, " items"), value))?;
                Ok(($($name::from_value(items.get($at).unwrap_or(&Value::Null)).map_err(|mismatch| mismatch.inside($at))?,)*))
            }
        }
        impl<$($name: ToValue),*> ToValue for ($($name,)*) {
            fn to_value(&self) -> Value {
                Value::array(vec![$(self.$at.to_value()),*])
            }
        }
    )*};
}

tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn value(text: &str) -> Value {
        json::parse(text.as_bytes()).unwrap()
    }

    #[derive(Debug, PartialEq)]
    struct Item {
        id: Number,
        note: Option<Nullable<String>>,
        size: Option<(Number, bool)>,
        other: Object,
    }

    impl FromValue for Item {
        fn from_value(value: &Value) -> Result<Self, Mismatch> {
            let mut fields = Fields::of(value)?;
            let (id, note, size) = (fields.required("id")?, fields.optional("note")?, fields.optional("size")?);
            Ok(Item { id, note, size, other: fields.others() })
        }
    }

    impl ToValue for Item {
        fn to_value(&self) -> Value {
            let record = Record::new().with("id", &self.id).with_some("note", self.note.as_ref());
            record.with_some("size", self.size.as_ref()).with_others(&self.other).into()
        }
    }

    #[test]
    fn what_is_read_and_written_is_the_same() {
        for text in [
            r#"{"id": 9007199254740993001}"#,
            r#"{"id": 1.0, "note": null, "more": {"deep": [1e400]}}"#,
            r#"{"note": "x", "id": -0, "size": [1, true]}"#,
            r#"{"id": 1, "size": null}"#,
        ] {
            let item = Item::from_value(&value(text)).unwrap();
            assert_eq!(item.to_value(), value(text), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let told = |text: &str| Vec::<Item>::from_value(&value(text)).unwrap_err().to_string();
        assert_eq!(told(r#"[{"id": 1}, {"id": "1"}]"#), "/1/id: it is a text, not a number");
        assert_eq!(told(r#"[{}]"#), "/0: the field `id` is missing");
        assert_eq!(told(r#"[{"id": 1, "size": [1]}]"#), "/0/size: it is a list, not a list of 2 items");
        assert_eq!(told(r#"{"a": 1}"#), "it is an object, not a list");
        let map = BTreeMap::<String, bool>::from_value(&value(r#"{"a/b": 1}"#)).unwrap_err();
        assert_eq!(map.to_string(), "/a~1b: it is a number, not true or false");
    }
}
