//! Text → expression. The inverse of `expr/print.rs`.
//!
//! From the loosest binding to the tightest: `or`, `and`, `not`, one comparison, `??`, `+ -`, `*`, and what stands behind a value
//! (`.key`, `['odd key']`, `[0]`, `[path == value]`). Texts stand in single or double quotes, with the escapes
//! `\\ \' \" \/ \n \r \t \uXXXX \u{X}`; single quotes are canonical, because they sit well inside YAML's double quotes.

use super::lex::{Lexer, Token};
use super::operators::{COALESCE, COMPARISON, LOOSEST, NOT};
use super::{BinaryOp, Expr, Function, OverFunction};
use crate::nearest::nearest;
use crate::value::{Number, Value};
use smol_str::SmolStr;
use std::collections::BTreeSet;
use std::fmt;

/// The deepest nesting of an expression.
pub const MAX_DEPTH: usize = 100;

/// Words that are no names of variables.
pub const KEYWORDS: &[&str] = &["null", "true", "false", "and", "or", "not", "omit"];

/// Names that the language gives a meaning to, so no variable may take them.
pub const ROOTS: &[&str] = &["inputs", "secrets", "steps", "run", "previous", "loop", "error", "result"];

/// Why a text is no expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// The column in characters, from 1, in the text that was parsed.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at column {} of the expression", self.message, self.column)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for ExprError {}

/// Reads the expression that fills the whole of `text`.
///
/// # Errors
/// The first thing that is wrong, with its column.
pub fn parse(text: &str) -> Result<Expr, ExprError> {
    let mut parser = Parser::new(text)?;
    let node = parser.expression(LOOSEST)?;
    match parser.token {
        Token::End => Ok(node.expr),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

/// Reads the expression at the start of `text` up to `}}`; also gives the number of bytes up to and with the `}}`.
pub(crate) fn parse_hole(text: &str) -> Result<(Expr, usize), ExprError> {
    let mut parser = Parser::new(text)?;
    let node = parser.expression(LOOSEST)?;
    match parser.token {
        Token::Symbol("}") if parser.lexer.rest_from(parser.start).starts_with("}}") => Ok((node.expr, parser.start + 2)),
        _ => Err(parser.unexpected("an operator or `}}`")),
    }
}

/// Whether `text` can be a name: a letter or `_`, then letters, digits and `_`.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_') && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether `text` can be the name of a loop's variable.
pub fn is_variable(text: &str) -> bool {
    is_name(text) && !KEYWORDS.contains(&text) && !ROOTS.contains(&text)
}

/// An expression with its depth.
struct Node {
    expr: Expr,
    depth: usize,
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    token: Token,
    start: usize,
    end: usize,
    nesting: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Parser<'t>, ExprError> {
        let mut parser = Parser { lexer: Lexer::new(text), token: Token::End, start: 0, end: 0, nesting: 0 };
        parser.advance()?;
        Ok(parser)
    }

    fn advance(&mut self) -> Result<Token, ExprError> {
        let (token, start, end) = self.lexer.next()?;
        (self.start, self.end) = (start, end);
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn unexpected(&self, expected: &str) -> ExprError {
        let found = match &self.token {
            Token::End => "the end".to_string(),
            Token::Name(name) => format!("`{name}`"),
            Token::Number(number) => format!("`{}`", number.as_str()),
            Token::Text(_) => "a text".to_string(),
            Token::Symbol(symbol) => format!("`{symbol}`"),
        };
        self.lexer.error(self.start, format!("expected {expected}, found {found}"))
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(&self.token, Token::Symbol(s) if *s == symbol)
    }

    fn take(&mut self, symbol: &str) -> Result<bool, ExprError> {
        let there = self.is(symbol);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn expect(&mut self, symbol: &str) -> Result<(), ExprError> {
        if self.take(symbol)? { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    fn node(&self, expr: Expr, inner: usize) -> Result<Node, ExprError> {
        if inner >= MAX_DEPTH {
            return Err(self.lexer.error(self.start, format!("more than {MAX_DEPTH} levels of nesting")));
        }
        Ok(Node { expr, depth: inner + 1 })
    }

    fn binary_operator(&self) -> Option<BinaryOp> {
        let text = match &self.token {
            Token::Name(name) => name.as_str(),
            Token::Symbol(symbol) => symbol,
            Token::Number(_) | Token::Text(_) | Token::End => return None,
        };
        BinaryOp::ALL.iter().copied().find(|op| op.symbol() == text)
    }

    fn expression(&mut self, loosest: u8) -> Result<Node, ExprError> {
        self.nesting += 1;
        if self.nesting > MAX_DEPTH {
            return Err(self.lexer.error(self.start, format!("more than {MAX_DEPTH} levels of nesting")));
        }
        let mut left = if matches!(&self.token, Token::Name(n) if n == "not") {
            if loosest > NOT {
                return Err(self.lexer.error(self.start, "`not` behind an operator that binds tighter stands in parentheses"));
            }
            self.advance()?;
            let operand = self.expression(NOT)?;
            self.node(Expr::Not(Box::new(operand.expr)), operand.depth)?
        } else {
            self.postfix()?
        };
        while let Some(op) = self.binary_operator().filter(|op| op.binding() >= loosest) {
            self.advance()?;
            let right = self.expression(op.binding() + 1)?;
            left = self.node(left.expr.binary(op, right.expr), left.depth.max(right.depth))?;
            if op.binding() == COMPARISON && self.binary_operator().is_some_and(|next| next.binding() == COMPARISON) {
                return Err(self.lexer.error(self.start, "comparisons do not chain; join two with `and`"));
            }
        }
        self.nesting -= 1;
        Ok(left)
    }

    fn postfix(&mut self) -> Result<Node, ExprError> {
        let mut node = self.primary()?;
        loop {
            if self.take(".")? {
                let Token::Name(key) = self.token.clone() else { return Err(self.unexpected("a key")) };
                self.advance()?;
                node = self.node(node.expr.key(key), node.depth)?;
            } else if self.take("[")? {
                node = self.bracket(node)?;
                self.expect("]")?;
            } else {
                return Ok(node);
            }
        }
    }

    fn bracket(&mut self, base: Node) -> Result<Node, ExprError> {
        let negative = self.take("-")?;
        match self.token.clone() {
            Token::Number(number) => {
                let text = if negative { format!("-{}", number.as_str()) } else { number.as_str().to_string() };
                let index = text.parse::<i64>().map_err(|_| self.lexer.error(self.start, format!("`{text}` is no index")))?;
                self.advance()?;
                self.node(base.expr.index(index), base.depth)
            }
            Token::Text(key) if !negative => {
                self.advance()?;
                self.node(base.expr.key(key), base.depth)
            }
            Token::Name(_) | Token::Symbol(_) if !negative => {
                let path = self.path()?;
                self.expect("==")?;
                let equals = self.expression(COALESCE)?;
                let (list, depth) = (Box::new(base.expr), base.depth.max(equals.depth));
                self.node(Expr::Pick { list, path, equals: Box::new(equals.expr) }, depth)
            }
            Token::Name(_) | Token::Symbol(_) | Token::Text(_) | Token::End => {
                Err(self.unexpected("an index, a key in quotes, or `key == value`"))
            }
        }
    }

    /// `key.key`, with odd keys as `['odd']`; `.` alone is the item itself.
    fn path(&mut self) -> Result<Vec<SmolStr>, ExprError> {
        let mut path = Vec::new();
        if self.is(".") {
            self.advance()?;
            return Ok(path);
        }
        loop {
            if self.take("[")? {
                let Token::Text(key) = self.token.clone() else { return Err(self.unexpected("a key in quotes")) };
                self.advance()?;
                self.expect("]")?;
                path.push(key);
            } else if path.is_empty() || self.take(".")? {
                let Token::Name(key) = self.token.clone() else {
                    return Err(self.unexpected("an index, a key in quotes, or `key == value`"));
                };
                self.advance()?;
                path.push(key);
            } else {
                return Ok(path);
            }
        }
    }

    fn primary(&mut self) -> Result<Node, ExprError> {
        match self.token.clone() {
            Token::Number(number) => {
                self.advance()?;
                self.node(Expr::Literal(Value::Number(number)), 0)
            }
            Token::Text(text) => {
                self.advance()?;
                self.node(Expr::Literal(Value::String(text)), 0)
            }
            Token::Name(name) => self.named(&name),
            Token::Symbol("-") => self.negative(),
            Token::Symbol("(") => {
                self.advance()?;
                let node = self.expression(LOOSEST)?;
                self.expect(")")?;
                Ok(node)
            }
            Token::Symbol("[") => {
                self.advance()?;
                let (items, depth) = self.items("]")?;
                self.node(Expr::List(items), depth)
            }
            Token::Symbol("{") => {
                self.advance()?;
                self.record()
            }
            Token::Symbol(_) | Token::End => Err(self.unexpected("a value")),
        }
    }

    fn negative(&mut self) -> Result<Node, ExprError> {
        let (sign, behind) = (self.start, self.end);
        self.advance()?;
        if let (Token::Number(number), true) = (self.token.clone(), self.start == behind) {
            self.advance()?;
            let number = Number::parse(&format!("-{}", number.as_str()));
            return self.node(Expr::Literal(number.map_or(Value::Null, Value::Number)), 0);
        }
        let mut error = self.lexer.error(sign, "`-` before something that is no number");
        error.help = Some("write `0 - value`".to_string());
        Err(error)
    }

    fn named(&mut self, name: &SmolStr) -> Result<Node, ExprError> {
        let at = self.start;
        self.advance()?;
        if self.is("(") {
            return self.call(name, at);
        }
        match name.as_str() {
            "null" => self.node(Expr::Literal(Value::Null), 0),
            "true" => self.node(Expr::Literal(Value::Bool(true)), 0),
            "false" => self.node(Expr::Literal(Value::Bool(false)), 0),
            "omit" => self.node(Expr::Omit, 0),
            "and" | "or" | "not" => Err(self.lexer.error(at, format!("expected a value, found `{name}`"))),
            _ => self.node(Expr::name(name.clone()), 0),
        }
    }

    fn call(&mut self, name: &SmolStr, at: usize) -> Result<Node, ExprError> {
        self.expect("(")?;
        if let Some(function) = OverFunction::ALL.iter().copied().find(|f| f.name() == name) {
            return self.over(function);
        }
        let Some(function) = Function::ALL.iter().copied().find(|f| f.name() == name) else {
            let mut error = self.lexer.error(at, format!("there is no function `{name}`"));
            let names = Function::ALL.iter().map(|f| f.name()).chain(OverFunction::ALL.iter().map(|f| f.name()));
            error.help = nearest(name, names).map(|n| format!("the nearest one is `{n}`"));
            return Err(error);
        };
        let (arguments, depth) = self.items(")")?;
        if arguments.len() != function.arity() {
            let takes = if function.arity() == 1 { "1 argument".to_string() } else { format!("{} arguments", function.arity()) };
            return Err(self.lexer.error(at, format!("`{name}` takes {takes}, not {}", arguments.len())));
        }
        self.node(Expr::Call(function, arguments), depth)
    }

    fn over(&mut self, function: OverFunction) -> Result<Node, ExprError> {
        let list = self.expression(LOOSEST)?;
        let shape = format!("`{0}` is written `{0}(list, item, …item…)`", function.name());
        let with_help = |mut error: ExprError| {
            error.help = Some(shape.clone());
            error
        };
        self.expect(",").map_err(with_help)?;
        let Token::Name(name) = self.token.clone() else { return Err(with_help(self.unexpected("a name for the item"))) };
        if !is_variable(&name) {
            return Err(self.lexer.error(self.start, format!("`{name}` means something else and cannot be the name of an item")));
        }
        self.advance()?;
        self.expect(",").map_err(with_help)?;
        let body = self.expression(LOOSEST)?;
        self.expect(")")?;
        self.node(list.expr.over(function, name, body.expr), list.depth.max(body.depth))
    }

    fn items(&mut self, close: &str) -> Result<(Vec<Expr>, usize), ExprError> {
        let (mut items, mut depth) = (Vec::new(), 0);
        while !self.take(close)? {
            if !items.is_empty() {
                self.expect(",")?;
            }
            let item = self.expression(LOOSEST)?;
            depth = depth.max(item.depth);
            items.push(item.expr);
        }
        Ok((items, depth))
    }

    fn record(&mut self) -> Result<Node, ExprError> {
        let (mut entries, mut keys, mut depth) = (Vec::new(), BTreeSet::new(), 0);
        while !self.take("}")? {
            if !entries.is_empty() {
                self.expect(",")?;
            }
            let (Token::Name(key) | Token::Text(key)) = self.token.clone() else { return Err(self.unexpected("a key")) };
            if !keys.insert(key.clone()) {
                return Err(self.lexer.error(self.start, format!("the key `{key}` is there twice")));
            }
            self.advance()?;
            self.expect(":")?;
            let value = self.expression(LOOSEST)?;
            depth = depth.max(value.depth);
            entries.push((key, value.expr));
        }
        self.node(Expr::Record(entries), depth)
    }
}
