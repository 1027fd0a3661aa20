//! Templates: JSON values whose strings may hold expressions. Keys are always literal.
//!
//! In a string, `${{ expression }}` is a hole. A string that is one hole and nothing else keeps the type of the expression's value; in any other, each
//! hole must give a text, a number or a boolean. `${{ '${{' }}` writes a literal `${{`, and is what printing writes for one.

use crate::advance::Failure;
use crate::expr::eval::{self, Budget, Scope, fail, with_article};
use crate::expr::parse::{self, ExprError};
use crate::expr::{Expr, print, scalar_text};
use crate::value::{Object, Value};
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

    /// The template of a string: its holes found and parsed.
    ///
    /// # Errors
    /// The first hole that holds no expression, with its column in `text`.
    pub fn parse_text(text: &str) -> Result<Template, ExprError> {
        Ok(Template::text(scan(text)?.into_iter().map(|(piece, _)| piece).collect()))
    }

    /// The template of a JSON value: that of each string in it.
    ///
    /// # Errors
    /// The first string that is no template.
    pub fn parse(value: &Value) -> Result<Template, ExprError> {
        Ok(match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Template::Literal(value.clone()),
            Value::String(text) => Template::parse_text(text)?,
            Value::Array(items) => Template::Array(items.iter().map(Template::parse).collect::<Result<_, _>>()?),
            Value::Object(object) => {
                let entry = |(k, v): (&SmolStr, &Value)| Ok((k.clone(), Template::parse(v)?));
                Template::Object(object.iter().map(entry).collect::<Result<_, ExprError>>()?)
            }
        })
    }

    /// The template of these pieces in its one form: neighbouring texts joined, empty ones left out, a single piece unwrapped.
    pub fn text(pieces: Vec<Piece>) -> Template {
        let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(more) => text.push_str(&more),
                Piece::Expr(_) => {
                    flush(&mut joined, &mut text);
                    joined.push(piece);
                }
            }
        }
        flush(&mut joined, &mut text);
        match joined.pop() {
            None => Template::Literal(Value::from("")),
            Some(Piece::Expr(expr)) if joined.is_empty() => Template::Expr(expr),
            Some(Piece::Text(text)) if joined.is_empty() => Template::Literal(Value::String(text)),
            Some(piece) => {
                joined.push(piece);
                Template::Text(joined)
            }
        }
    }

    /// The JSON value that this is written as: the inverse of [`Template::parse`].
    pub fn print(&self) -> Value {
        match self {
            Template::Literal(Value::String(text)) => Value::string(escape(text)),
            Template::Literal(value) => value.clone(),
            Template::Expr(expr) => Value::string(hole(expr)),
            Template::Text(pieces) => {
                let piece = |piece: &Piece| match piece {
                    Piece::Text(text) => escape(text),
                    Piece::Expr(expr) => hole(expr),
                };
                Value::string(pieces.iter().map(piece).collect::<String>())
            }
            Template::Array(items) => items.iter().map(Template::print).collect(),
            Template::Object(entries) => Value::Object(Object::from_entries(entries.iter().map(|(k, v)| (k.clone(), v.print())).collect())),
        }
    }

    /// The value in `scope`; `None` where it is `omit`. An omitted entry or item is left out.
    ///
    /// # Errors
    /// The first failure of an expression; `not-text` where a hole in a text gives null, a list or an object.
    pub fn evaluate(&self, scope: &dyn Scope, budget: &mut Budget) -> Result<Option<Value>, Failure> {
        budget.spend(1)?;
        Ok(Some(match self {
            Template::Literal(value) => value.clone(),
            Template::Expr(expr) => return eval::evaluate(expr, scope, budget),
            Template::Text(pieces) => Value::string(evaluate_text(pieces, scope, budget)?),
            Template::Array(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.extend(item.evaluate(scope, budget)?);
                }
                Value::array(values)
            }
            Template::Object(entries) => Value::Object(evaluate_entries(entries, scope, budget)?),
        }))
    }
}

/// The object of these entries, without those that are `omit`.
pub(crate) fn evaluate_entries(entries: &[(SmolStr, Template)], scope: &dyn Scope, budget: &mut Budget) -> Result<Object, Failure> {
    let mut values = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        values.extend(value.evaluate(scope, budget)?.map(|v| (key.clone(), v)));
    }
    Ok(Object::from_entries(values))
}

fn evaluate_text(pieces: &[Piece], scope: &dyn Scope, budget: &mut Budget) -> Result<String, Failure> {
    let mut out = String::new();
    for piece in pieces {
        let text = match piece {
            Piece::Text(text) => text.clone(),
            Piece::Expr(expr) => {
                let value = eval::evaluate(expr, scope, budget)?.ok_or_else(|| fail("omitted", "`omit` stands inside a text"))?;
                scalar_text(&value).ok_or_else(|| {
                    let (what, is) = (print::print_short(expr), with_article(value.type_name()));
                    fail("not-text", format!("`{what}` stands inside a text, but is {is}"))
                })?
            }
        };
        budget.spend_text(text.len())?;
        out.push_str(&text);
    }
    Ok(out)
}

/// The pieces of a string, each with the byte where it starts: for a hole, that behind its `${{`.
pub(crate) fn scan(text: &str) -> Result<Vec<(Piece, usize)>, ExprError> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some((before, _)) = text.get(at..).unwrap_or_default().split_once(OPEN) {
        pieces.push((Piece::Text(SmolStr::new(before)), at));
        at += before.len() + OPEN.len();
        let inside = text.get(at..).unwrap_or_default();
        let (expr, length) = parse::parse_hole(inside).map_err(|mut error| {
            error.column += text.get(..at).unwrap_or_default().chars().count();
            error.help = error.help.or_else(|| Some("a literal `${{` is written `${{ '${{' }}`".to_string()));
            error
        })?;
        let piece = match expr {
            Expr::Literal(Value::String(open)) if open == OPEN => Piece::Text(open),
            expr => Piece::Expr(expr),
        };
        pieces.push((piece, at));
        at += length;
    }
    pieces.push((Piece::Text(SmolStr::new(text.get(at..).unwrap_or_default())), at));
    Ok(pieces)
}

const OPEN: &str = "${{";

fn flush(pieces: &mut Vec<Piece>, text: &mut String) {
    if !text.is_empty() {
        pieces.push(Piece::Text(SmolStr::from(std::mem::take(text))));
    }
}

fn hole(expr: &Expr) -> String {
    format!("${{{{ {expr} }}}}")
}

fn escape(text: &str) -> String {
    text.replace(OPEN, "${{ '${{' }}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn template(text: &str) -> Template {
        Template::parse_text(text).unwrap()
    }

    fn value(text: &str) -> Result<Option<Value>, SmolStr> {
        let scope = json::parse(br#"{"n": 10.0, "s": "x", "l": [1], "z": null}"#).unwrap();
        template(text).evaluate(scope.as_object().unwrap(), &mut Budget::default()).map_err(|f| f.code)
    }

    #[test]
    fn one_hole_keeps_its_type_and_texts_take_scalars() {
        assert_eq!(value("${{ l }}"), Ok(Some(json::parse(b"[1]").unwrap())));
        assert_eq!(value("n=${{ n }}, ${{ s }}${{ true }}"), Ok(Some(Value::from("n=10.0, xtrue"))));
        assert_eq!(value(" ${{ n }}"), Ok(Some(Value::from(" 10.0"))));
        assert_eq!(value("${{ z ?? omit }}"), Ok(None));
        assert_eq!(value("a${{ l }}"), Err("not-text".into()));
        assert_eq!(value("a${{ z }}"), Err("not-text".into()));
        assert_eq!(value("a${{ omit }}"), Err("omitted".into()));
        assert_eq!(value("${{ {a: {b: n}} }}"), Ok(Some(json::parse(br#"{"a":{"b":10.0}}"#).unwrap())));
        assert_eq!(value("${{ '}}' }}"), Ok(Some(Value::from("}}"))));
    }

    #[test]
    fn omitted_entries_and_items_are_left_out() {
        let tree = json::parse(br#"{"a": "${{ omit }}", "b": ["${{ omit }}", "${{ n }}"]}"#).unwrap();
        let made = Template::parse(&tree).unwrap().evaluate(&Object::from_iter([("n", Value::from(1_i64))]), &mut Budget::default());
        assert_eq!(made, Ok(Some(json::parse(br#"{"b": [1]}"#).unwrap())));
    }

    #[test]
    fn a_literal_opening_goes_through() {
        for text in ["${{", "a ${{ b }} c", "$${{", "${${{{", "${{ '${{' }}", "", "$", "{{ x }}", "${x}"] {
            let literal = Template::Literal(Value::from(text));
            assert_eq!(Template::parse(&literal.print()), Ok(literal.clone()), "{text}");
        }
        assert_eq!(template("${{ '${{' }} x"), Template::Literal(Value::from("${{ x")));
    }

    #[test]
    fn errors_name_their_column() {
        assert_eq!(Template::parse_text("é ${{ 1 + }}").unwrap_err().column, 11);
        assert_eq!(Template::parse_text("${{ a").unwrap_err().column, 6);
        assert_eq!(Template::parse_text("${{ a } }").unwrap_err().column, 7);
    }
}
