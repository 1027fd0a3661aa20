//! Which names an expression uses, and where they stand in its text.

use super::Expr;
use super::lex::{Lexer, Token};
use super::parse::ROOTS;
use smol_str::SmolStr;

/// A name that an expression takes from outside.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// A name as a whole: `item`, `inputs`.
    Name(SmolStr),
    /// A member of one of the names of the language: `inputs.repo`, `steps.search`.
    Member(SmolStr, SmolStr),
}

impl Expr {
    /// What the expression uses from outside, in the order of the text; names that a function gives to items are not among them.
    pub fn references(&self) -> Vec<Reference> {
        let mut found = Vec::new();
        collect(self, &mut Vec::new(), &mut found);
        found
    }
}

fn collect<'e>(expr: &'e Expr, bound: &mut Vec<&'e str>, found: &mut Vec<Reference>) {
    match expr {
        Expr::Literal(_) | Expr::Omit => {}
        Expr::Name(name) => {
            if !bound.contains(&name.as_str()) {
                found.push(Reference::Name(name.clone()));
            }
        }
        Expr::Key(base, key) => match &**base {
            Expr::Name(root) if ROOTS.contains(&root.as_str()) => found.push(Reference::Member(root.clone(), key.clone())),
            base => collect(base, bound, found),
        },
        Expr::Index(base, _) | Expr::Not(base) => collect(base, bound, found),
        Expr::Pick { list, equals, .. } => {
            collect(list, bound, found);
            collect(equals, bound, found);
        }
        Expr::Call(_, arguments) => arguments.iter().for_each(|a| collect(a, bound, found)),
        Expr::Over { list, name, body, .. } => {
            collect(list, bound, found);
            bound.push(name);
            collect(body, bound, found);
            bound.pop();
        }
        Expr::Binary(_, left, right) => {
            collect(left, bound, found);
            collect(right, bound, found);
        }
        Expr::List(items) => items.iter().for_each(|i| collect(i, bound, found)),
        Expr::Record(entries) => entries.iter().for_each(|(_, v)| collect(v, bound, found)),
    }
}

/// Where `reference` stands first in the text of an expression: its character, from 0.
pub(crate) fn position(text: &str, reference: &Reference) -> Option<usize> {
    let mut lexer = Lexer::new(text);
    let mut tokens: Vec<(Token, usize)> = Vec::new();
    while let Ok((token, start, _)) = lexer.next() {
        if token == Token::End || text.get(start..).is_some_and(|rest| rest.starts_with("}}")) {
            break;
        }
        tokens.push((token, start));
    }
    let token = |at: usize| tokens.get(at).map(|(token, _)| token);
    let is_name = |at: usize, name: &SmolStr| matches!(token(at), Some(Token::Name(n)) if n == name);
    let is_key = |at: usize| at.checked_sub(1).and_then(token) == Some(&Token::Symbol("."));
    let here = |at: usize| match reference {
        Reference::Name(name) => is_name(at, name) && !is_key(at),
        Reference::Member(root, key) => {
            let dotted = token(at + 1) == Some(&Token::Symbol(".")) && is_name(at + 2, key);
            let bracketed = token(at + 1) == Some(&Token::Symbol("[")) && token(at + 2) == Some(&Token::Text(key.clone()));
            is_name(at, root) && !is_key(at) && (dotted || bracketed)
        }
    };
    let at = (0..tokens.len()).find(|at| here(*at))?;
    let start = tokens.get(at)?.1;
    Some(text.get(..start)?.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::parse::parse;

    #[test]
    fn names_from_outside_are_found_with_their_place() {
        let text = "map(steps.a.items, i, i.x + other) ?? inputs['odd key'].y";
        let references = parse(text).unwrap().references();
        let member = |root: &str, key: &str| Reference::Member(root.into(), key.into());
        assert_eq!(references, [member("steps", "a"), Reference::Name("other".into()), member("inputs", "odd key")]);
        assert_eq!(references.iter().map(|r| position(text, r)).collect::<Vec<_>>(), [Some(4), Some(28), Some(38)]);
        assert_eq!(position("a.b + b", &Reference::Name("b".into())), Some(6));
    }
}
