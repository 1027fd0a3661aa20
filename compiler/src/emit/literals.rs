//! Values as literals, lists and objects of them, and calls of the language's functions.

use super::code::{Code, Maybe, Shape};
use super::types::Ty;
use super::words::literal as text_literal;
use ltc_workflow::expr::Function;
use ltc_workflow::{Number, Value};
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use smol_str::SmolStr;

/// Null.
pub fn null() -> Code {
    Code::new(quote!(Value::Null), Ty::Value, Shape::Owned)
}

/// A scalar.
pub fn literal(value: &Value) -> Code {
    match value {
        Value::Null => null(),
        Value::Bool(is) => Code::new(quote!(#is), Ty::Bool, Shape::Owned),
        Value::Number(number) => number_literal(number),
        Value::String(text) => {
            let text = text_literal(text);
            Code::new(quote!(#text), Ty::Text, Shape::Ref)
        }
        Value::Array(items) => list_of(&items.iter().map(|item| Maybe::Always(literal(item))).collect::<Vec<_>>()),
        Value::Object(object) => {
            object_of(&object.iter().map(|(key, value)| (key.clone(), Maybe::Always(literal(value)))).collect::<Vec<_>>())
        }
    }
}

fn number_literal(number: &Number) -> Code {
    match number.as_i64().filter(|n| n.to_string() == number.as_str()) {
        Some(n) => {
            let n = Literal::i64_unsuffixed(n);
            Code::new(quote!(lang::integer(#n)), Ty::Number, Shape::Owned)
        }
        None => {
            let text = number.as_str();
            Code::new(quote!(lang::number(#text)), Ty::Number, Shape::Owned).tail()
        }
    }
}

/// Keys as a slice of texts.
pub fn keys(path: &[SmolStr]) -> TokenStream {
    let keys = path.iter().map(SmolStr::as_str);
    quote!(&[#(#keys),*])
}

/// A call of a function of the language.
pub fn call(function: Function, arguments: &[Code]) -> Code {
    let name = format_ident!("{}", function.name());
    let arguments = arguments.iter().map(Code::by_any);
    Code::new(quote!(lang::#name(#(#arguments),*)), given_by(function), Shape::Owned).tail()
}

/// What a function gives.
fn given_by(function: Function) -> Ty {
    match function {
        Function::Len | Function::Sum | Function::ToNumber => Ty::Number,
        Function::Keys | Function::Split | Function::Lines | Function::AllBetween => Ty::List(Box::new(Ty::Text)),
        Function::Values | Function::Entries | Function::Reverse | Function::Flatten | Function::Concat | Function::Unique => {
            Ty::List(Box::new(Ty::Value))
        }
        Function::FromEntries | Function::Merge => Ty::Object,
        Function::First
        | Function::Last
        | Function::Only
        | Function::Min
        | Function::Max
        | Function::ParseJson
        | Function::ParsePython
        | Function::ParseTable
        | Function::FindJson => Ty::Value,
        Function::Join
        | Function::Between
        | Function::Replace
        | Function::Lower
        | Function::Upper
        | Function::Trim
        | Function::Slug
        | Function::UrlEncode
        | Function::UrlDecode
        | Function::ToString
        | Function::ToJson
        | Function::Date
        | Function::AddDays => Ty::Text,
        Function::Contains | Function::StartsWith | Function::EndsWith => Ty::Bool,
    }
}

/// A list of these items.
pub fn list_of(items: &[Maybe]) -> Code {
    let all = items.iter().all(|item| matches!(item, Maybe::Always(_)));
    let items = items.iter().map(|item| entry(item, all));
    let tokens = if all { quote!(lang::list([#(#items),*])) } else { quote!(lang::list_of_some([#(#items),*])) };
    Code::new(tokens, Ty::Value, Shape::Owned)
}

/// An object of these entries.
pub fn object_of(entries: &[(SmolStr, Maybe)]) -> Code {
    let all = entries.iter().all(|(_, value)| matches!(value, Maybe::Always(_)));
    let keys = entries.iter().map(|(key, _)| key.as_str());
    let values = entries.iter().map(|(_, value)| entry(value, all));
    let tokens = if all { quote!(lang::object([#((#keys, #values)),*])) } else { quote!(lang::object_of_some([#((#keys, #values)),*])) };
    Code::new(tokens, Ty::Value, Shape::Owned)
}

fn entry(value: &Maybe, all: bool) -> TokenStream {
    match value {
        Maybe::Always(code) => {
            let value = code.to_value().value();
            if all { value } else { quote!(Some(#value)) }
        }
        Maybe::Sometimes(found) => {
            let option = found.by_ref();
            quote!(#option.map(ToValue::to_value))
        }
        Maybe::Never => quote!(None),
    }
}
