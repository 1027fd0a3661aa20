//! Types of values, and the types that JSON Schemas describe.
//!
//! Our own small generator and not typify: numbers must keep their digits (`i64` and `f64` do not), fields that no schema knows must go
//! through as they came, and a schema that says nothing must cost nothing. What a schema says beyond the shape of a value (formats, patterns,
//! limits, `oneOf`) is left to the server, which checks it anyway.

use super::names::Names;
use super::words::{code, words};
use ltc_workflow::{Object, Value};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use smol_str::SmolStr;

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    /// Any value.
    Value,
    /// A text.
    Text,
    /// True or false.
    Bool,
    /// A number, with its digits.
    Number,
    /// Nothing.
    Nothing,
    /// An object of any values.
    Object,
    /// A list.
    List(Box<Ty>),
    /// An object of values of one type.
    Map(Box<Ty>),
    /// A list with a type for each place.
    Tuple(Vec<Ty>),
    /// Null, or something else.
    Nullable(Box<Ty>),
    /// A struct.
    Record(RecordId),
}

/// A struct, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordId(usize);

/// Where a struct is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// `src/lib.rs`
    Lib,
    /// `src/steps.rs`
    Steps,
    /// `src/tools.rs`
    Tools,
}

/// A struct.
#[derive(Clone, Debug)]
pub struct Record {
    /// Where it is declared.
    pub home: Home,
    /// Its name.
    pub name: Ident,
    /// What it is; words of others are told as [`words`] tells them.
    pub doc: String,
    /// Its fields.
    pub fields: Vec<Field>,
    /// The field for what no schema knows, where there is one.
    pub other: Option<Ident>,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its key in the object.
    pub key: SmolStr,
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: Ty,
    /// Whether it may be missing.
    pub optional: bool,
    /// What the schema says about it.
    pub doc: Option<String>,
}

/// All structs.
#[derive(Debug, Default)]
pub struct Types {
    records: Vec<Record>,
    lib: Names,
    steps: Names,
    tools: Names,
}

/// How deep schemas are followed.
const DEEPEST: usize = 24;
/// The longest tuple.
const LONGEST_TUPLE: usize = 4;

impl Types {
    /// The struct of this number.
    pub fn record(&self, id: RecordId) -> Option<&Record> {
        self.records.get(id.0)
    }

    /// The structs that are declared in `home`.
    pub fn in_home(&self, home: Home) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(move |record| record.home == home)
    }

    /// A name for a struct.
    pub fn name(&mut self, home: Home, text: &str) -> Ident {
        match home {
            Home::Lib => self.lib.pascal(text),
            Home::Steps => self.steps.pascal(text),
            Home::Tools => self.tools.pascal(text),
        }
    }

    /// Adds a struct.
    pub fn add(&mut self, record: Record) -> RecordId {
        self.records.push(record);
        RecordId(self.records.len() - 1)
    }

    /// Says what the structs in `ty` are of which their schemas say nothing: `what` itself, or parts of it.
    pub fn describe(&mut self, ty: &Ty, what: &str) {
        match ty {
            Ty::Record(id) => {
                if let Some(record) = self.records.get_mut(id.0).filter(|record| record.doc.is_empty()) {
                    record.doc = format!("{what}.");
                }
            }
            Ty::Nullable(inner) => self.describe(inner, what),
            Ty::List(item) => self.describe(item, &format!("An item of {}", uncapitalized(what))),
            Ty::Map(value) => self.describe(value, &format!("A value in {}", uncapitalized(what))),
            Ty::Tuple(items) => items.iter().for_each(|item| self.describe(item, &format!("An item of {}", uncapitalized(what)))),
            Ty::Value | Ty::Text | Ty::Bool | Ty::Number | Ty::Nothing | Ty::Object => {}
        }
    }

    /// The type as it is written in `home`.
    pub fn rust(&self, ty: &Ty, home: Home) -> TokenStream {
        match ty {
            Ty::Value => quote!(Value),
            Ty::Text => quote!(String),
            Ty::Bool => quote!(bool),
            Ty::Number => quote!(Number),
            Ty::Nothing => quote!(()),
            Ty::Object => quote!(Object),
            Ty::List(item) => {
                let item = self.rust(item, home);
                quote!(Vec<#item>)
            }
            Ty::Map(item) => {
                let item = self.rust(item, home);
                quote!(BTreeMap<String, #item>)
            }
            Ty::Tuple(items) => {
                let items = items.iter().map(|item| self.rust(item, home));
                quote!((#(#items,)*))
            }
            Ty::Nullable(inner) => {
                let inner = self.rust(inner, home);
                quote!(Nullable<#inner>)
            }
            Ty::Record(id) => self.path(*id, home),
        }
    }

    /// The name of a struct as it is written in `home`.
    pub fn path(&self, id: RecordId, home: Home) -> TokenStream {
        let Some(record) = self.record(id) else { return quote!(Value) };
        let name = &record.name;
        match (record.home, home) {
            (there, here) if there == here => quote!(#name),
            (Home::Tools, _) => quote!(tools::#name),
            (Home::Steps, _) => quote!(steps::#name),
            (Home::Lib, _) => quote!(#name),
        }
    }

    /// The type as it is borrowed: what a function takes.
    pub fn borrowed(&self, ty: &Ty, home: Home) -> TokenStream {
        match ty {
            Ty::Text => quote!(&str),
            Ty::List(item) => {
                let item = self.rust(item, home);
                quote!(&[#item])
            }
            Ty::Value | Ty::Bool | Ty::Number | Ty::Nothing | Ty::Object | Ty::Map(_) | Ty::Tuple(_) | Ty::Nullable(_) | Ty::Record(_) => {
                let ty = self.rust(ty, home);
                quote!(&#ty)
            }
        }
    }

    /// Whether `value` can be read as this type.
    pub fn fits(&self, ty: &Ty, value: &Value) -> bool {
        match ty {
            Ty::Value => true,
            Ty::Text => value.as_str().is_some(),
            Ty::Bool => value.as_bool().is_some(),
            Ty::Number => value.as_number().is_some(),
            Ty::Nothing => value.is_null(),
            Ty::Object => value.as_object().is_some(),
            Ty::List(item) => value.as_array().is_some_and(|items| items.iter().all(|value| self.fits(item, value))),
            Ty::Map(item) => value.as_object().is_some_and(|object| object.iter().all(|(_, value)| self.fits(item, value))),
            Ty::Tuple(types) => value
                .as_array()
                .is_some_and(|items| items.len() == types.len() && types.iter().zip(items).all(|(ty, value)| self.fits(ty, value))),
            Ty::Nullable(inner) => value.is_null() || self.fits(inner, value),
            Ty::Record(id) => {
                let fields = self.record(*id).map(|record| record.fields.as_slice()).unwrap_or_default();
                value.as_object().is_some_and(|object| {
                    fields.iter().all(|field| object.get(&field.key).map_or(field.optional, |value| self.fits(&field.ty, value)))
                })
            }
        }
    }

    /// The type that `schema` describes; a struct of it is called after `name`.
    pub fn of_schema(&mut self, schema: &Value, name: &str, home: Home) -> Ty {
        Reader { types: self, root: schema, home, open: Vec::new(), done: Vec::new() }.ty(schema, name, 0)
    }

    /// The fields that the properties of `schema` describe.
    pub fn fields_of(&mut self, schema: &Value, name: &str, home: Home, fields: &mut Names) -> Vec<Field> {
        Reader { types: self, root: schema, home, open: Vec::new(), done: Vec::new() }.fields(schema, name, fields, 0)
    }
}

struct Reader<'t> {
    types: &'t mut Types,
    root: &'t Value,
    home: Home,
    /// References that are being followed.
    open: Vec<SmolStr>,
    /// References that became structs.
    done: Vec<(SmolStr, Ty)>,
}

impl Reader<'_> {
    fn ty(&mut self, schema: &Value, name: &str, depth: usize) -> Ty {
        let Some(object) = schema.as_object().filter(|_| depth < DEEPEST) else { return Ty::Value };
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            return self.referred(reference, depth);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            if let Some(choices) = object.get(key).and_then(Value::as_array) {
                return self.choice(choices, key, name, depth);
            }
        }
        let types: Vec<&str> = match object.get("type") {
            Some(Value::String(one)) => vec![one.as_str()],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let nullable = types.contains(&"null");
        let others: Vec<&str> = types.into_iter().filter(|ty| *ty != "null").collect();
        let allowed = || object.get("enum").and_then(Value::as_array).unwrap_or_default().iter().chain(object.get("const"));
        let ty = match others.as_slice() {
            ["string"] => Ty::Text,
            ["boolean"] => Ty::Bool,
            ["integer" | "number"] | ["integer", "number"] | ["number", "integer"] => Ty::Number,
            ["array"] => self.list(object, name, depth),
            ["object"] => self.object(schema, name, depth),
            [] if !nullable && object.contains_key("properties") => self.object(schema, name, depth),
            [] if !nullable && allowed().count() > 0 && allowed().all(|value| value.as_str().is_some()) => Ty::Text,
            _ => return Ty::Value,
        };
        // An enum may say more than the type beside it.
        if allowed().any(|value| !(self.types.fits(&ty, value) || nullable && value.is_null())) {
            return Ty::Value;
        }
        if nullable { Ty::Nullable(Box::new(ty)) } else { ty }
    }

    fn referred(&mut self, reference: &str, depth: usize) -> Ty {
        if let Some((_, ty)) = self.done.iter().find(|(known, _)| known == reference) {
            return ty.clone();
        }
        let target = reference
            .strip_prefix("#/")
            .and_then(|path| path.split('/').try_fold(self.root, |value, key| value.get(&key.replace("~1", "/").replace("~0", "~"))));
        // A type that holds itself without end is any value where it comes again.
        let Some(target) = target.filter(|_| !self.open.iter().any(|open| open == reference)) else { return Ty::Value };
        let target = target.clone();
        self.open.push(SmolStr::new(reference));
        let ty = self.ty(&target, reference.rsplit('/').next().unwrap_or_default(), depth + 1);
        self.open.pop();
        self.done.push((SmolStr::new(reference), ty.clone()));
        ty
    }

    /// One type, or null; anything else is any value.
    fn choice(&mut self, choices: &[Value], key: &str, name: &str, depth: usize) -> Ty {
        let is_null = |schema: &&Value| schema.get("type").and_then(Value::as_str) == Some("null");
        let others: Vec<&Value> = choices.iter().filter(|schema| !is_null(schema)).collect();
        match others.as_slice() {
            [one] if others.len() == choices.len() => self.ty(one, name, depth + 1),
            [one] if key != "allOf" => match self.ty(one, name, depth + 1) {
                nullable @ (Ty::Nullable(_) | Ty::Value) => nullable,
                ty => Ty::Nullable(Box::new(ty)),
            },
            _ => Ty::Value,
        }
    }

    fn list(&mut self, object: &Object, name: &str, depth: usize) -> Ty {
        let places = object.get("prefixItems").or_else(|| object.get("items")).and_then(Value::as_array);
        if let Some(places) = places {
            let exactly = |key: &str| object.get(key).and_then(Value::as_number).and_then(|n| n.as_i64());
            let length = i64::try_from(places.len()).ok();
            let closed =
                object.get("prefixItems").is_some() && object.get("items") == Some(&Value::Bool(false)) || exactly("maxItems") == length;
            return if closed && exactly("minItems") == length && (1..=LONGEST_TUPLE).contains(&places.len()) {
                Ty::Tuple(places.iter().map(|place| self.ty(place, name, depth + 1)).collect())
            } else {
                Ty::List(Box::new(Ty::Value))
            };
        }
        let item = object.get("items").map_or(Ty::Value, |items| self.ty(items, &format!("{name} item"), depth + 1));
        Ty::List(Box::new(item))
    }

    fn object(&mut self, schema: &Value, name: &str, depth: usize) -> Ty {
        let has_fields = schema.get("properties").and_then(Value::as_object).is_some_and(|properties| !properties.is_empty());
        if !has_fields {
            return match schema.get("additionalProperties") {
                Some(items @ Value::Object(_)) => match self.ty(items, &format!("{name} value"), depth + 1) {
                    Ty::Value => Ty::Object,
                    ty => Ty::Map(Box::new(ty)),
                },
                _ => Ty::Object,
            };
        }
        let name_in_rust = self.types.name(self.home, name);
        let mut names = Names::default();
        let fields = self.fields(schema, name, &mut names, depth);
        let doc = schema.get("description").and_then(Value::as_str).map(words).unwrap_or_default();
        let other = Some(names.field("other"));
        Ty::Record(self.types.add(Record { home: self.home, name: name_in_rust, doc, fields, other }))
    }

    fn fields(&mut self, schema: &Value, name: &str, names: &mut Names, depth: usize) -> Vec<Field> {
        let required = schema.get("required").and_then(Value::as_array).unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut fields = Vec::new();
        for (key, property) in properties.iter() {
            let ty = self.ty(property, &format!("{name} {key}"), depth + 1);
            self.types.describe(&ty, &format!("What stands under {}", code(key)));
            let doc = property.get("description").and_then(Value::as_str).map(str::to_owned);
            let optional = !required.iter().any(|name| *name == key.as_str());
            fields.push(Field { key: key.clone(), name: names.field(key), ty, optional, doc });
        }
        fields
    }
}

/// `text` as it goes on within a sentence.
fn uncapitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
