//! Templates: JSON values whose strings may hold expressions. Keys are always literal.

use crate::expr::Expr;
use crate::value::Value;
use smol_str::SmolStr;

/// A value with holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Template {
    /// A scalar that is itself (also a string without `${{`).
    Literal(Value),
    /// A string that is one expression: it keeps the type of the expression's value.
    Expr(Expr),
    /// A string with expressions in it; each must give a scalar.
    Text(Vec<Piece>),
    /// A list.
    Array(Vec<Template>),
    /// An object.
    Object(Vec<(SmolStr, Template)>),
}

/// A part of a [`Template::Text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Fixed text, as it is after unescaping.
    Text(SmolStr),
    /// `${{ expression }}`
    Expr(Expr),
}

impl Template {
    /// The template that always gives `value`.
    pub fn constant(value: &Value) -> Template {
        match value {
            Value::Array(items) => Template::Array(items.iter().map(Template::constant).collect()),
            Value::Object(object) => Template::Object(object.iter().map(|(k, v)| (k.clone(), Template::constant(v))).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Template::Literal(value.clone()),
        }
    }
}
