//! Walks through expressions and templates, and makes others of them.

use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function};
use ltc_workflow::template::{Piece, Template};

/// The direct parts of `expr`.
pub fn children(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Literal(_) | Expr::Name(_) | Expr::Omit => Vec::new(),
        Expr::Key(base, _) | Expr::Index(base, _) | Expr::Not(base) => vec![base],
        Expr::Pick { list, equals, .. } => vec![list, equals],
        Expr::Over { list, body, .. } => vec![list, body],
        Expr::Binary(_, a, b) => vec![a, b],
        Expr::Call(_, items) | Expr::List(items) => items.iter().collect(),
        Expr::Record(entries) => entries.iter().map(|(_, item)| item).collect(),
    }
}

/// Sees `expr` and everything in it, outermost first.
pub fn each(expr: &Expr, see: &mut dyn FnMut(&Expr)) {
    see(expr);
    children(expr).into_iter().for_each(|inner| each(inner, see));
}

/// Whether `part` stands in `expr`.
pub fn mentions(expr: &Expr, part: &Expr) -> bool {
    let mut found = false;
    each(expr, &mut |e| found |= e == part);
    found
}

/// Sees the whole expressions of `template`.
pub fn tops_in(template: &Template, see: &mut dyn FnMut(&Expr)) {
    match template {
        Template::Literal(_) => {}
        Template::Expr(expr) => see(expr),
        Template::Text(pieces) => pieces.iter().for_each(|piece| match piece {
            Piece::Text(_) => {}
            Piece::Expr(expr) => see(expr),
        }),
        Template::Array(items) => items.iter().for_each(|item| tops_in(item, see)),
        Template::Object(entries) => entries.iter().for_each(|(_, item)| tops_in(item, see)),
    }
}

/// Sees every expression of `template` and everything in it.
pub fn each_in(template: &Template, see: &mut dyn FnMut(&Expr)) {
    tops_in(template, &mut |expr| each(expr, see));
}

/// `expr` with each of its direct parts replaced by what `make` makes of it.
pub fn map_children(expr: Expr, make: &mut dyn FnMut(Expr) -> Expr) -> Expr {
    let mut inner = |e: Box<Expr>| Box::new(make(*e));
    match expr {
        Expr::Literal(_) | Expr::Name(_) | Expr::Omit => expr,
        Expr::Key(base, key) => Expr::Key(inner(base), key),
        Expr::Index(base, at) => Expr::Index(inner(base), at),
        Expr::Not(base) => Expr::Not(inner(base)),
        Expr::Pick { list, path, equals } => Expr::Pick { list: inner(list), path, equals: inner(equals) },
        Expr::Over { function, list, name, body } => Expr::Over { function, list: inner(list), name, body: inner(body) },
        Expr::Binary(op, a, b) => Expr::Binary(op, inner(a), inner(b)),
        Expr::Call(function, items) => Expr::Call(function, items.into_iter().map(make).collect()),
        Expr::List(items) => Expr::List(items.into_iter().map(make).collect()),
        Expr::Record(entries) => Expr::Record(entries.into_iter().map(|(key, item)| (key, make(item))).collect()),
    }
}

/// `expr` with every part, innermost first, replaced by what `make` makes of it.
pub fn map(expr: Expr, make: &mut dyn FnMut(Expr) -> Expr) -> Expr {
    let rebuilt = map_children(expr, &mut |inner| map(inner, make));
    make(rebuilt)
}

/// `template` with its whole expressions replaced by what `make` makes of them.
pub fn map_tops(template: Template, make: &mut dyn FnMut(Expr) -> Expr) -> Template {
    match template {
        Template::Literal(_) => template,
        Template::Expr(expr) => Template::Expr(make(expr)),
        Template::Text(pieces) => Template::text(
            pieces
                .into_iter()
                .map(|piece| match piece {
                    Piece::Text(_) => piece,
                    Piece::Expr(expr) => Piece::Expr(make(expr)),
                })
                .collect(),
        ),
        Template::Array(items) => Template::Array(items.into_iter().map(|item| map_tops(item, make)).collect()),
        Template::Object(entries) => Template::Object(entries.into_iter().map(|(key, item)| (key, map_tops(item, make))).collect()),
    }
}

/// `template` with every part of its expressions replaced by what `make` makes of it.
pub fn map_in(template: Template, make: &mut dyn FnMut(Expr) -> Expr) -> Template {
    map_tops(template, &mut |expr| map(expr, make))
}

/// A template as one expression.
pub fn to_expr(template: &Template) -> Expr {
    match template {
        Template::Literal(value) => Expr::Literal(value.clone()),
        Template::Expr(expr) => expr.clone(),
        Template::Array(items) => Expr::List(items.iter().map(to_expr).collect()),
        Template::Object(entries) => Expr::Record(entries.iter().map(|(k, v)| (k.clone(), to_expr(v))).collect()),
        Template::Text(pieces) => {
            let parts = pieces.iter().map(|p| match p {
                Piece::Text(text) => Expr::Literal(Value::String(text.clone())),
                Piece::Expr(expr) => expr.clone().apply(Function::ToString),
            });
            Expr::Call(Function::Join, vec![Expr::List(parts.collect()), Expr::Literal(Value::from(""))])
        }
    }
}
