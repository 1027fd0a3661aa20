//! Templates as Rust: a value of the type that is wanted, or a failure that names what it was for.

use super::code::{Code, Maybe, Perhaps, Shape};
use super::literals::{list_of, literal, object_of};
use super::modules::field_of;
use super::scope::Scope;
use super::types::{Field, RecordId, Ty};
use super::words::literal as text_literal;
use ltc_workflow::expr::{BinaryOp, Expr};
use ltc_workflow::template::{Piece, Template};
use proc_macro2::TokenStream;
use quote::quote;
use smol_str::SmolStr;

impl Scope {
    /// The value of a template.
    pub fn template(&mut self, template: &Template) -> Maybe {
        match template {
            Template::Literal(value) => Maybe::Always(literal(value)),
            Template::Expr(expr) => self.optional(expr),
            Template::Text(pieces) => Maybe::Always(self.text(pieces)),
            Template::Array(items) => {
                let items: Vec<Maybe> = items.iter().map(|item| self.template(item)).collect();
                Maybe::Always(list_of(&items))
            }
            Template::Object(entries) => {
                let entries: Vec<(SmolStr, Maybe)> = entries.iter().map(|(key, value)| (key.clone(), self.template(value))).collect();
                Maybe::Always(object_of(&entries))
            }
        }
    }

    fn text(&mut self, pieces: &[Piece]) -> Code {
        let mut format = String::new();
        let mut values = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => format.push_str(&text.replace('{', "{{").replace('}', "}}")),
                Piece::Expr(expr) => {
                    format.push_str("{}");
                    let code = self.expr(expr);
                    values.push(match code.ty {
                        Ty::Text | Ty::Number | Ty::Bool => code.value(),
                        Ty::Value
                        | Ty::Nothing
                        | Ty::Object
                        | Ty::List(_)
                        | Ty::Map(_)
                        | Ty::Tuple(_)
                        | Ty::Nullable(_)
                        | Ty::Record(_) => {
                            let value = code.by_any();
                            quote!(lang::text(#value)?)
                        }
                    });
                }
            }
        }
        let format = text_literal(&format);
        Code::new(quote!(format!(#format, #(#values),*)), Ty::Text, Shape::Owned)
    }

    /// The value of a template as `wanted`; `what` it is for.
    pub fn fill(&mut self, template: &Template, wanted: &Ty, what: &str) -> Maybe {
        match (template, wanted) {
            (Template::Object(entries), Ty::Record(id)) => {
                if let Some(code) = self.record(entries, *id, what) {
                    return Maybe::Always(code);
                }
            }
            (Template::Array(items), Ty::List(item)) if !items.is_empty() && items.iter().all(|item| !may_omit(item)) => {
                let items: Vec<TokenStream> = items
                    .iter()
                    .filter_map(|template| match self.fill(template, item, what) {
                        Maybe::Always(code) => Some(code.value()),
                        Maybe::Sometimes(_) | Maybe::Never => None,
                    })
                    .collect();
                return Maybe::Always(Code::new(quote!(vec![#(#items),*]), wanted.clone(), Shape::Owned));
            }
            _ => {}
        }
        match self.template(template) {
            Maybe::Always(code) => Maybe::Always(into(&code, wanted, what)),
            Maybe::Sometimes(found) if found.ty == *wanted => Maybe::Sometimes(Perhaps::new(found.by_value(), wanted.clone(), true)),
            Maybe::Sometimes(found) if *wanted == Ty::Value => {
                let option = found.by_ref();
                Maybe::Sometimes(Perhaps::new(quote!(#option.map(ToValue::to_value)), Ty::Value, true))
            }
            Maybe::Sometimes(found) => {
                let option = found.value();
                Maybe::Sometimes(Perhaps::new(quote!(lang::read_some(#what, #option)), wanted.clone(), true).tail())
            }
            Maybe::Never => Maybe::Never,
        }
    }

    /// A struct of these entries, where it has a field for each of them and each of its fields gets what it needs.
    fn record(&mut self, entries: &[(SmolStr, Template)], id: RecordId, what: &str) -> Option<Code> {
        let record = self.types.record(id)?.clone();
        let known = entries.iter().all(|(key, _)| record.fields.iter().any(|field| field.key == *key));
        let template = |field: &Field| entries.iter().find(|(key, _)| *key == field.key).map(|(_, template)| template);
        let complete = record.fields.iter().all(|field| field.optional || template(field).is_some_and(|t| !may_omit(t)));
        if !known || !complete {
            return None;
        }
        let mut values = Vec::new();
        for field in &record.fields {
            if let Some(template) = template(field) {
                let filled = self.fill(template, &field.ty, &format!("{what}{}{}", if what.is_empty() { "" } else { "." }, field.key));
                values.push(set(field, &filled));
            }
        }
        let path = self.types.path(id, self.home());
        let has_all = values.len() == record.fields.len() && record.other.is_none();
        let rest = if has_all { quote!() } else { quote!(..#path::default()) };
        Some(Code::new(quote!(#path { #(#values,)* #rest }), Ty::Record(id), Shape::Owned))
    }
}

/// A field of a struct with its value.
pub fn set(field: &Field, filled: &Maybe) -> TokenStream {
    let name = &field.name;
    let value = match (filled, field.optional) {
        (Maybe::Always(code), false) => code.value(),
        (Maybe::Always(code), true) => {
            let value = code.value();
            quote!(Some(#value))
        }
        (Maybe::Sometimes(found), true) => found.by_value(),
        (Maybe::Never, true) => quote!(None),
        (Maybe::Sometimes(_) | Maybe::Never, false) => quote!(Default::default()),
    };
    field_of(name, &value)
}

/// `code` as `wanted`.
pub fn into(code: &Code, wanted: &Ty, what: &str) -> Code {
    if code.ty == *wanted {
        return code.owned();
    }
    match wanted {
        Ty::Value => code.to_value(),
        Ty::Nullable(inner) if code.ty == **inner => {
            let value = code.owned().value();
            Code::new(quote!(Nullable::Given(#value)), wanted.clone(), Shape::Owned)
        }
        _ => {
            let value = code.by_any();
            Code::new(quote!(lang::read(#what, #value)), wanted.clone(), Shape::Owned).tail()
        }
    }
}

/// Whether what the template stands for may be left out.
pub fn may_omit(template: &Template) -> bool {
    match template {
        Template::Expr(expr) => omits(expr),
        Template::Literal(_) | Template::Text(_) | Template::Array(_) | Template::Object(_) => false,
    }
}

fn omits(expr: &Expr) -> bool {
    match expr {
        Expr::Omit => true,
        Expr::Binary(BinaryOp::Coalesce, left, right) => omits(left) || omits(right),
        Expr::Literal(_)
        | Expr::Name(_)
        | Expr::Key(..)
        | Expr::Index(..)
        | Expr::Pick { .. }
        | Expr::Call(..)
        | Expr::Over { .. }
        | Expr::Not(_)
        | Expr::Binary(..)
        | Expr::List(_)
        | Expr::Record(_) => false,
    }
}
