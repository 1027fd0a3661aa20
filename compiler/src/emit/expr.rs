//! Expressions as Rust: a path over data of known types is field access, everything else calls the language's own functions.

use super::code::{Code, Maybe, Shape};
use super::literals::{call, keys, list_of, literal, null, object_of};
use super::names::Names;
use super::scope::{Scope, VarId};
use super::types::{Field, Ty};
use ltc_workflow::Value;
use ltc_workflow::expr::{BinaryOp, Expr, OverFunction};
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use smol_str::SmolStr;

impl Scope {
    /// The value of an expression.
    pub fn expr(&mut self, expr: &Expr) -> Code {
        match expr {
            Expr::Literal(value) => literal(value),
            Expr::Omit => Code::new(quote!(lang::omitted()), Ty::Value, Shape::Owned).tail(),
            Expr::Name(name) => self.name(name),
            Expr::Key(base, key) => self.key(base, key),
            Expr::Index(base, index) => self.index(base, *index),
            Expr::Pick { list, path, equals } => {
                let (list, equals) = (self.expr(list), self.expr(equals));
                let list = if list.ty == Ty::Value { list } else { list.to_value() };
                let (receiver, path, equals) = (list.receiver(), keys(path), equals.by_any());
                Code::new(quote!(#receiver.pick(#path, #equals)), Ty::Value, Shape::Ref).tail().out_of(&list)
            }
            Expr::Call(function, arguments) => {
                let arguments: Vec<Code> = arguments.iter().map(|argument| self.expr(argument)).collect();
                call(*function, &arguments)
            }
            Expr::Over { function, list, name, body } => {
                let list = self.expr(list);
                self.over(*function, &list, name, body)
            }
            Expr::Not(operand) => {
                let operand = self.test(operand);
                let operand = operand.receiver();
                Code::new(quote!(!#operand), Ty::Bool, Shape::Owned)
            }
            Expr::Binary(BinaryOp::Coalesce, left, right) => match self.coalesce(left, right) {
                Maybe::Always(code) => code,
                // Where a value has to be, what is left out is a failure.
                Maybe::Sometimes(found) => {
                    let option = found.by_value();
                    let code = Code::new(quote!(match #option { Some(found) => found, None => lang::omitted()? }), found.ty, Shape::Owned);
                    code.operator()
                }
                Maybe::Never => Code::new(quote!(lang::omitted()), Ty::Value, Shape::Owned).tail(),
            },
            Expr::Binary(op, left, right) => self.binary(*op, left, right),
            Expr::List(items) => {
                let items: Vec<Maybe> = items.iter().map(|item| self.optional(item)).collect();
                list_of(&items)
            }
            Expr::Record(entries) => {
                let entries: Vec<(SmolStr, Maybe)> = entries.iter().map(|(key, value)| (key.clone(), self.optional(value))).collect();
                object_of(&entries)
            }
        }
    }

    /// Whether a test is true.
    pub fn test(&mut self, expr: &Expr) -> Code {
        let code = self.expr(expr);
        if code.ty == Ty::Bool {
            return code.owned();
        }
        let code = if code.ty == Ty::Value { code } else { code.to_value() };
        let value = code.by_ref();
        Code::new(quote!(lang::truth(#value)), Ty::Bool, Shape::Owned).tail()
    }

    /// The value of an expression that may leave out what it stands for.
    pub fn optional(&mut self, expr: &Expr) -> Maybe {
        match expr {
            Expr::Omit => Maybe::Never,
            Expr::Binary(BinaryOp::Coalesce, left, right) => self.coalesce(left, right),
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
            | Expr::Record(_) => Maybe::Always(self.expr(expr)),
        }
    }

    fn name(&mut self, name: &SmolStr) -> Code {
        if let Some(at) = self.closures.iter().rposition(|(known, ..)| known == name)
            && let Some((_, code, used)) = self.closures.get_mut(at)
        {
            *used = true;
            return code.clone();
        }
        if let Some(code) = self.named(name).and_then(|var| self.code(var)) {
            return code;
        }
        match name.as_str() {
            "inputs" => self.input_code().map_or_else(null, |input| input.to_value()),
            "run" => Code::new(quote!(cx.run()), Ty::Value, Shape::Owned),
            "error" => {
                let member = |scope: &mut Scope, key: &'static str| {
                    let key = SmolStr::new_static(key);
                    scope.member(&Expr::name("error"), &key).map(|value| (key, value))
                };
                let entries: Vec<(SmolStr, Maybe)> = ["code", "message", "step"].into_iter().filter_map(|key| member(self, key)).collect();
                object_of(&entries)
            }
            "loop" => {
                let cx = self.cx();
                Code::new(quote!(lang::object([("index", lang::integer(#cx.index()).to_value())])), Ty::Value, Shape::Owned)
            }
            _ => null(),
        }
    }

    /// The innermost variable of this name.
    pub fn named(&self, name: &str) -> Option<VarId> {
        self.names.iter().rev().find(|(known, _)| known == name).map(|(_, var)| *var)
    }

    fn input_code(&mut self) -> Option<Code> {
        let input = self.input;
        self.code(input)
    }

    /// A member of one of the names that the language knows; `None` where `base` is none of them.
    pub fn member(&mut self, base: &Expr, key: &SmolStr) -> Option<Maybe> {
        let Expr::Name(root) = base else { return None };
        if self.closures.iter().any(|(known, ..)| known == root) {
            return None;
        }
        let var = match root.as_str() {
            "steps" => self.steps.get(key).copied(),
            "previous" => self.previous.get(key).copied(),
            "secrets" => {
                let key = key.as_str();
                return Some(Maybe::Always(Code::new(quote!(cx.secret(#key)), Ty::Text, Shape::Ref).tail()));
            }
            "run" => {
                let tokens = if key == "id" { quote!(cx.run_id()) } else { quote!(cx.started_at()) };
                return Some(Maybe::Always(Code::new(tokens, Ty::Text, Shape::Ref)));
            }
            "loop" => {
                let cx = self.cx();
                return Some(Maybe::Always(Code::new(quote!(lang::integer(#cx.index())), Ty::Number, Shape::Owned)));
            }
            "error" => self.named(&format!("error.{key}")),
            _ => return None,
        };
        let Some(var) = var else { return Some(Maybe::Never) };
        if self.var(var).is_some_and(|var| var.optional) {
            self.perhaps(var).map(Maybe::Sometimes)
        } else {
            self.code(var).map(Maybe::Always)
        }
    }

    fn key(&mut self, base: &Expr, key: &SmolStr) -> Code {
        let text = key.as_str();
        match self.member(base, key) {
            Some(Maybe::Always(code)) => return code,
            Some(Maybe::Sometimes(found)) => {
                let (ty, option) = (found.ty.clone(), found.by_ref());
                let tokens =
                    if *base == Expr::name("error") { quote!(lang::given(#option, #text)) } else { quote!(lang::done(#option, #text)) };
                return Code::new(tokens, ty, Shape::Ref).tail();
            }
            Some(Maybe::Never) => return Code::new(quote!(lang::done(None::<&Value>, #text)), Ty::Value, Shape::Ref).tail(),
            None => {}
        }
        let base = if *base == Expr::name("inputs") { self.input_code().unwrap_or_else(null) } else { self.expr(base) };
        self.key_of(base, key)
    }

    /// `base.key`, which must be there.
    pub fn key_of(&self, base: Code, key: &SmolStr) -> Code {
        let text = key.as_str();
        let receiver = base.receiver();
        match &base.ty {
            Ty::Value => Code::new(quote!(#receiver.key(#text)), Ty::Value, Shape::Ref).tail().out_of(&base),
            Ty::Record(_) => match self.field(&base.ty, key) {
                Some(Field { name, ty, optional: false, .. }) => Code::new(quote!(#receiver.#name), ty.clone(), Shape::Place).out_of(&base),
                Some(Field { name, ty, .. }) => {
                    Code::new(quote!(lang::given(#receiver.#name.as_ref(), #text)), ty.clone(), Shape::Ref).tail().out_of(&base)
                }
                None => match self.others(&base.ty) {
                    Some(other) => {
                        Code::new(quote!(lang::given(#receiver.#other.get(#text), #text)), Ty::Value, Shape::Ref).tail().out_of(&base)
                    }
                    None => self.key_of(base.to_value(), key),
                },
            },
            Ty::Object => Code::new(quote!(lang::given(#receiver.get(#text), #text)), Ty::Value, Shape::Ref).tail().out_of(&base),
            Ty::Map(item) => Code::new(quote!(lang::given(#receiver.get(#text), #text)), (**item).clone(), Shape::Ref).tail().out_of(&base),
            Ty::Nullable(inner) => {
                let inner = Code::new(quote!(lang::given(#receiver.given(), #text)), (**inner).clone(), Shape::Ref).tail().out_of(&base);
                self.key_of(inner, key)
            }
            Ty::Text | Ty::Bool | Ty::Number | Ty::Nothing | Ty::List(_) | Ty::Tuple(_) => self.key_of(base.to_value(), key),
        }
    }

    /// The field of a struct under this key.
    pub fn field(&self, ty: &Ty, key: &str) -> Option<&Field> {
        let Ty::Record(id) = ty else { return None };
        self.types.record(*id)?.fields.iter().find(|field| field.key == key)
    }

    /// The field of a struct for what no schema knows.
    pub fn others(&self, ty: &Ty) -> Option<&proc_macro2::Ident> {
        let Ty::Record(id) = ty else { return None };
        self.types.record(*id)?.other.as_ref()
    }

    fn index(&mut self, base: &Expr, index: i64) -> Code {
        let base = self.expr(base);
        let index = Literal::i64_unsuffixed(index);
        match &base.ty {
            Ty::List(item) => {
                let list = base.by_ref();
                Code::new(quote!(lang::item(#list, #index)), (**item).clone(), Shape::Ref).tail().out_of(&base)
            }
            Ty::Value => {
                let receiver = base.receiver();
                Code::new(quote!(#receiver.item(#index)), Ty::Value, Shape::Ref).tail().out_of(&base)
            }
            Ty::Text | Ty::Bool | Ty::Number | Ty::Nothing | Ty::Object | Ty::Map(_) | Ty::Tuple(_) | Ty::Nullable(_) | Ty::Record(_) => {
                let value = base.to_value();
                let receiver = value.receiver();
                Code::new(quote!(#receiver.item(#index)), Ty::Value, Shape::Ref).tail().out_of(&value)
            }
        }
    }

    /// A function that goes through `list`.
    pub fn over(&mut self, function: OverFunction, list: &Code, name: &SmolStr, body: &Expr) -> Code {
        let list = if matches!(list.ty, Ty::Value | Ty::List(_)) { list.clone() } else { list.to_value() };
        let item_ty = if let Ty::List(item) = &list.ty { (**item).clone() } else { Ty::Value };
        // The closure's own name for the item: it may hide others, and is not hidden by any.
        let mut names = Names::default();
        let plain = names.snake(name);
        let taken = self.closures.iter().any(|(_, code, _)| plain == code.value().to_string());
        let variable = if taken { format_ident!("inner_{plain}") } else { plain };
        self.closures.push((name.clone(), Code::new(quote!(#variable), item_ty.clone(), Shape::Ref), false));
        let (body, omits) = match function {
            OverFunction::Map => match self.optional(body) {
                Maybe::Always(code) => (code.owned(), false),
                Maybe::Sometimes(found) => (Code::new(found.by_value(), found.ty.clone(), Shape::Owned), true),
                Maybe::Never => (Code::new(quote!(None::<Value>), Ty::Value, Shape::Owned), true),
            },
            OverFunction::Filter | OverFunction::Any | OverFunction::All => (self.test(body), false),
            OverFunction::MinBy | OverFunction::MaxBy | OverFunction::SortBy => (self.expr(body).owned(), false),
        };
        let used = self.closures.pop().is_some_and(|(.., used)| used);
        let variable = if used { quote!(#variable) } else { quote!(_) };
        let ty = match function {
            OverFunction::Map => Ty::List(Box::new(body.ty.clone())),
            OverFunction::Filter | OverFunction::SortBy => Ty::List(Box::new(item_ty)),
            OverFunction::MinBy | OverFunction::MaxBy => item_ty,
            OverFunction::Any | OverFunction::All => Ty::Bool,
        };
        let name = if omits { format_ident!("map_some") } else { format_ident!("{}", function.name()) };
        let (list, body) = (list.by_ref(), body.result());
        Code::new(quote!(lang::#name(#list, |#variable| #body)), ty, Shape::Owned).tail()
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Code {
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let (left, right) = (self.test(left), self.test(right));
            let (left, right) = (operand(&left, op), operand(&right, op));
            let tokens = if op == BinaryOp::And { quote!(#left && #right) } else { quote!(#left || #right) };
            return Code::new(tokens, Ty::Bool, Shape::Owned).operator();
        }
        if matches!(op, BinaryOp::Equal | BinaryOp::NotEqual) {
            return self.equal(op == BinaryOp::Equal, left, right);
        }
        let (left, right) = (self.expr(left).by_any(), self.expr(right).by_any());
        let ordered = |is: TokenStream| Code::new(quote!(lang::order(#left, #right)?.#is()), Ty::Bool, Shape::Owned);
        let number = |name: TokenStream| Code::new(quote!(lang::#name(#left, #right)), Ty::Number, Shape::Owned).tail();
        match op {
            BinaryOp::Less => ordered(quote!(is_lt)),
            BinaryOp::LessOrEqual => ordered(quote!(is_le)),
            BinaryOp::Greater => ordered(quote!(is_gt)),
            BinaryOp::GreaterOrEqual => ordered(quote!(is_ge)),
            BinaryOp::Add => number(quote!(add)),
            BinaryOp::Subtract => number(quote!(subtract)),
            BinaryOp::Multiply => number(quote!(multiply)),
            BinaryOp::Or | BinaryOp::And | BinaryOp::Equal | BinaryOp::NotEqual | BinaryOp::Coalesce => null(),
        }
    }

    fn equal(&mut self, is: bool, left: &Expr, right: &Expr) -> Code {
        let (left, right) = if matches!(left, Expr::Literal(_)) { (right, left) } else { (left, right) };
        let code = self.expr(left);
        let receiver = code.receiver();
        let tokens = match (right, &code.ty) {
            (Expr::Literal(Value::Null), Ty::Value) => Some((quote!(#receiver.is_null()), false)),
            (Expr::Literal(Value::Null), Ty::Nullable(_)) => Some((quote!(#receiver.given().is_none()), false)),
            (Expr::Literal(Value::String(text)), Ty::Value | Ty::Text) => {
                let text = text.as_str();
                let op = if is { quote!(==) } else { quote!(!=) };
                Some((quote!(#receiver #op #text), true))
            }
            _ => None,
        };
        match tokens {
            Some((tokens, true)) => Code::new(tokens, Ty::Bool, Shape::Owned).operator(),
            Some((tokens, false)) => negated(is, tokens),
            None => {
                let (a, b) = (code.by_any(), self.expr(right).by_any());
                negated(is, quote!(lang::equal(#a, #b)))
            }
        }
    }
}

fn negated(is: bool, tokens: TokenStream) -> Code {
    Code::new(if is { tokens } else { quote!(!#tokens) }, Ty::Bool, Shape::Owned)
}

/// An operand of `and` or `or`: in parentheses where another operator stands at its top.
fn operand(code: &Code, op: BinaryOp) -> TokenStream {
    let value = code.value();
    let text = value.to_string();
    let loose = if op == BinaryOp::And { "||" } else { "&&" };
    if text.contains(loose) { quote!((#value)) } else { value }
}
