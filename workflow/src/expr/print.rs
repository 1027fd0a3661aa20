//! Expression → text, in the one canonical spelling, with the fewest parentheses. The inverse of `expr/parse.rs`.

use super::operators::{COALESCE, NOT, POSTFIX};
use super::parse::is_name;
use super::{BinaryOp, Expr};
use crate::hidden::is_hidden;
use crate::value::Value;
use std::fmt;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}

/// `expr` as text.
pub fn print(expr: &Expr) -> String {
    let mut out = String::new();
    write(&mut out, expr);
    out
}

/// `expr` as text of at most about 80 characters, for messages.
pub fn print_short(expr: &Expr) -> String {
    let text = print(expr);
    if text.chars().count() <= 80 {
        return text;
    }
    text.chars().take(79).chain(['…']).collect()
}

fn binding(expr: &Expr) -> u8 {
    match expr {
        Expr::Binary(op, _, _) => op.binding(),
        Expr::Not(_) => NOT,
        Expr::Literal(_)
        | Expr::Name(_)
        | Expr::Key(..)
        | Expr::Index(..)
        | Expr::Pick { .. }
        | Expr::Call(..)
        | Expr::Over { .. }
        | Expr::List(_)
        | Expr::Record(_)
        | Expr::Omit => POSTFIX,
    }
}

/// Writes `expr`, in parentheses where it binds more loosely than `loosest`.
fn write_bound(out: &mut String, expr: &Expr, loosest: u8) {
    if binding(expr) < loosest {
        out.push('(');
        write(out, expr);
        out.push(')');
    } else {
        write(out, expr);
    }
}

fn write(out: &mut String, expr: &Expr) {
    match expr {
        Expr::Literal(value) => write_literal(out, value),
        Expr::Name(name) => out.push_str(name),
        Expr::Key(base, key) => {
            write_bound(out, base, POSTFIX);
            write_key(out, key, false);
        }
        Expr::Index(base, index) => {
            write_bound(out, base, POSTFIX);
            out.push_str(&format!("[{index}]"));
        }
        Expr::Pick { list, path, equals } => {
            write_bound(out, list, POSTFIX);
            out.push('[');
            if path.is_empty() {
                out.push('.');
            }
            for (at, key) in path.iter().enumerate() {
                write_key(out, key, at == 0);
            }
            out.push_str(" == ");
            write_bound(out, equals, COALESCE);
            out.push(']');
        }
        Expr::Call(function, arguments) => {
            out.push_str(function.name());
            out.push('(');
            write_items(out, arguments);
            out.push(')');
        }
        Expr::Over { function, list, name, body } => {
            out.push_str(function.name());
            out.push('(');
            write(out, list);
            out.push_str(&format!(", {name}, "));
            write(out, body);
            out.push(')');
        }
        Expr::Not(operand) => {
            out.push_str("not ");
            write_bound(out, operand, NOT);
        }
        Expr::Binary(op, left, right) => write_binary(out, *op, left, right),
        Expr::List(items) => {
            out.push('[');
            write_items(out, items);
            out.push(']');
        }
        Expr::Record(entries) => {
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                write_record_key(out, key, at);
                write(out, value);
            }
            out.push('}');
        }
        Expr::Omit => out.push_str("omit"),
    }
}

fn write_binary(out: &mut String, op: BinaryOp, left: &Expr, right: &Expr) {
    write_bound(out, left, op.left_binding());
    out.push(' ');
    out.push_str(op.symbol());
    out.push(' ');
    write_bound(out, right, op.binding() + 1);
}

fn write_items(out: &mut String, items: &[Expr]) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}

fn write_record_key(out: &mut String, key: &str, at: usize) {
    if at > 0 {
        out.push_str(", ");
    }
    if is_name(key) {
        out.push_str(key)
    } else {
        write_text(out, key)
    }
    out.push_str(": ");
}

fn write_key(out: &mut String, key: &str, first_of_path: bool) {
    if is_name(key) {
        out.push_str(if first_of_path { "" } else { "." });
        out.push_str(key);
    } else {
        out.push('[');
        write_text(out, key);
        out.push(']');
    }
}

fn write_literal(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => out.push_str(n.as_str()),
        Value::String(s) => write_text(out, s),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_literal(out, item);
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            for (at, (key, item)) in object.iter().enumerate() {
                write_record_key(out, key, at);
                write_literal(out, item);
            }
            out.push('}');
        }
    }
}

/// A text in single quotes. What is not seen, or seen as something else, is written as an escape.
fn write_text(out: &mut String, text: &str) {
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('\'');
}
