//! The left side of `??`: what is not there gives the right side instead.

use super::code::{Code, Maybe, Perhaps, Shape};
use super::literals::{call, keys};
use super::scope::Scope;
use super::types::{Field, Ty};
use ltc_workflow::expr::{BinaryOp, Expr, Function};
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use smol_str::SmolStr;

impl Scope {
    /// `left ?? right`
    pub fn coalesce(&mut self, left: &Expr, right: &Expr) -> Maybe {
        let left = self.lenient(left);
        let right = self.optional(right);
        or_else(left, right)
    }

    /// What is missing where the expression fails to find something.
    fn lenient(&mut self, expr: &Expr) -> Maybe {
        match expr {
            Expr::Key(base, key) => match self.member(base, key) {
                Some(member) => member,
                None => {
                    let base = if **base == Expr::name("inputs") { Maybe::Always(self.expr_of_inputs()) } else { self.lenient(base) };
                    self.find(base, key)
                }
            },
            Expr::Index(base, index) => {
                let index = Literal::i64_unsuffixed(*index);
                let base = self.lenient(base);
                find_in(&base, &quote!(find_item(#index)))
            }
            Expr::Pick { list, path, equals } => {
                let (base, path) = (self.lenient(list), keys(path));
                let equals = self.expr(equals).by_any();
                find_in(&base, &quote!(find_one(#path, #equals)))
            }
            Expr::Call(function, arguments) => {
                let Some((first, rest)) = arguments.split_first() else { return Maybe::Always(self.expr(expr)) };
                let first = self.lenient(first);
                let rest: Vec<Code> = rest.iter().map(|argument| self.expr(argument)).collect();
                let fails_on_empty = matches!(function, Function::First | Function::Last | Function::Only | Function::Min | Function::Max);
                applied(first, fails_on_empty, |found| call(*function, &[&[found], rest.as_slice()].concat()))
            }
            Expr::Over { function, list, name, body } => {
                let list = self.lenient(list);
                applied(list, false, |found| self.over(*function, &found, name, body))
            }
            Expr::Binary(BinaryOp::Coalesce, left, right) => {
                let left = self.lenient(left);
                let right = self.lenient(right);
                or_else(left, right)
            }
            Expr::Omit => Maybe::Never,
            Expr::Literal(_) | Expr::Name(_) | Expr::Not(_) | Expr::Binary(..) | Expr::List(_) | Expr::Record(_) => {
                Maybe::Always(self.expr(expr))
            }
        }
    }

    fn expr_of_inputs(&mut self) -> Code {
        let input = self.input;
        self.code(input).unwrap_or_else(super::literals::null)
    }

    /// `base.key`, where both may be missing.
    fn find(&mut self, base: Maybe, key: &SmolStr) -> Maybe {
        let text = key.as_str();
        match base {
            Maybe::Never => Maybe::Never,
            Maybe::Always(code) => {
                let receiver = code.receiver();
                match &code.ty {
                    Ty::Value => Maybe::Sometimes(found_in(&code, quote!(#receiver.find(#text)), Ty::Value, true)),
                    Ty::Record(_) => match (self.field(&code.ty, key), self.others(&code.ty)) {
                        (Some(Field { optional: false, .. }), _) => Maybe::Always(self.key_of(code, key)),
                        (Some(Field { name, ty, .. }), _) => {
                            Maybe::Sometimes(found_in(&code, quote!(#receiver.#name.as_ref()), ty.clone(), false))
                        }
                        (None, Some(other)) => Maybe::Sometimes(found_in(&code, quote!(#receiver.#other.get(#text)), Ty::Value, false)),
                        (None, None) => self.find(Maybe::Always(code.to_value()), key),
                    },
                    Ty::Object => Maybe::Sometimes(found_in(&code, quote!(#receiver.get(#text)), Ty::Value, false)),
                    Ty::Map(item) => Maybe::Sometimes(found_in(&code, quote!(#receiver.get(#text)), (**item).clone(), false)),
                    Ty::Nullable(inner) => {
                        let given = found_in(&code, quote!(#receiver.given()), (**inner).clone(), false);
                        self.find(Maybe::Sometimes(given), key)
                    }
                    Ty::Text | Ty::Bool | Ty::Number | Ty::Nothing | Ty::List(_) | Ty::Tuple(_) => Maybe::Always(self.key_of(code, key)),
                }
            }
            Maybe::Sometimes(option) => {
                let base = option.by_ref();
                let (tokens, ty, tail) = match &option.ty {
                    Ty::Value => (quote!(#base.find(#text)), Ty::Value, true),
                    Ty::Record(_) => match (self.field(&option.ty, key), self.others(&option.ty)) {
                        (Some(Field { name, ty, optional: false, .. }), _) => (quote!(#base.map(|found| &found.#name)), ty.clone(), false),
                        (Some(Field { name, ty, .. }), _) => (quote!(#base.and_then(|found| found.#name.as_ref())), ty.clone(), false),
                        (None, Some(other)) => (quote!(#base.and_then(|found| found.#other.get(#text))), Ty::Value, false),
                        (None, None) => return find_in(&Maybe::Sometimes(option), &quote!(find(#text))),
                    },
                    Ty::Object => (quote!(#base.and_then(|found| found.get(#text))), Ty::Value, false),
                    Ty::Map(item) => (quote!(#base.and_then(|found| found.get(#text))), (**item).clone(), false),
                    Ty::Nullable(inner) => {
                        let given = Perhaps::new(quote!(#base.and_then(|found| found.given())), (**inner).clone(), false);
                        return self.find(Maybe::Sometimes(given), key);
                    }
                    Ty::Text | Ty::Bool | Ty::Number | Ty::Nothing | Ty::List(_) | Ty::Tuple(_) => {
                        return find_in(&Maybe::Sometimes(option), &quote!(find(#text)));
                    }
                };
                let found = Perhaps::new(tokens, ty, false);
                Maybe::Sometimes(if tail { found.tail() } else { found })
            }
        }
    }
}

/// An option out of `base`, which owns what it finds where `base` goes away.
fn found_in(base: &Code, tokens: TokenStream, ty: Ty, tail: bool) -> Perhaps {
    let found = Perhaps::new(tokens, ty.clone(), false);
    let found = if tail { found.tail() } else { found };
    if base.shape == Shape::Owned { Perhaps::new(found.by_value(), ty, true) } else { found }
}

/// A search in a value.
fn find_in(base: &Maybe, search: &TokenStream) -> Maybe {
    Maybe::Sometimes(match base {
        Maybe::Never => return Maybe::Never,
        Maybe::Always(code) if code.ty == Ty::Value => {
            let receiver = code.receiver();
            found_in(code, quote!(#receiver.#search), Ty::Value, true)
        }
        Maybe::Always(code) => {
            let value = code.to_value();
            let receiver = value.receiver();
            found_in(&value, quote!(#receiver.#search), Ty::Value, true)
        }
        Maybe::Sometimes(option) if option.ty == Ty::Value => {
            let base = option.by_ref();
            let found = Perhaps::new(quote!(#base.#search), Ty::Value, false).tail();
            if option.owned { Perhaps::new(found.by_value(), Ty::Value, true) } else { found }
        }
        Maybe::Sometimes(option) => {
            let base = option.by_ref();
            let found = Perhaps::new(quote!(#base.map(ToValue::to_value).as_ref().#search), Ty::Value, false).tail();
            Perhaps::new(found.by_value(), Ty::Value, true)
        }
    })
}

/// Whether a value of this type may be null.
fn may_be_null(ty: &Ty) -> bool {
    matches!(ty, Ty::Value | Ty::Nullable(_) | Ty::Nothing)
}

/// An option of what is there and not null.
fn not_null(base: &Maybe) -> Option<Perhaps> {
    match base {
        Maybe::Never => None,
        Maybe::Always(code) if may_be_null(&code.ty) => Some(match &code.ty {
            Ty::Nullable(inner) => {
                let receiver = code.receiver();
                found_in(code, quote!(#receiver.given()), (**inner).clone(), false)
            }
            ty => {
                let value = if code.shape == Shape::Owned { code.value() } else { code.by_ref() };
                Perhaps::new(quote!(lang::not_null(Some(#value))), ty.clone(), code.shape == Shape::Owned)
            }
        }),
        Maybe::Always(_) => None,
        Maybe::Sometimes(option) => Some(match &option.ty {
            Ty::Nullable(inner) => {
                let base = option.by_ref();
                Perhaps::new(quote!(#base.and_then(|found| found.given())), (**inner).clone(), false)
            }
            Ty::Value | Ty::Nothing => {
                let value = option.value();
                Perhaps::new(quote!(lang::not_null(#value)), option.ty.clone(), option.owned)
            }
            Ty::Text | Ty::Bool | Ty::Number | Ty::Object | Ty::List(_) | Ty::Map(_) | Ty::Tuple(_) | Ty::Record(_) => option.clone(),
        }),
    }
}

/// A function of what may be missing.
fn applied(first: Maybe, fails_on_empty: bool, mut apply: impl FnMut(Code) -> Code) -> Maybe {
    let empty = |code: &Code| {
        let result = code.result();
        quote!(lang::unless_empty(#result))
    };
    match (not_null(&first), first) {
        (None, Maybe::Always(code)) => {
            let applied = apply(code);
            if fails_on_empty { Maybe::Sometimes(Perhaps::new(empty(&applied), applied.ty, true).tail()) } else { Maybe::Always(applied) }
        }
        (None, Maybe::Never | Maybe::Sometimes(_)) => Maybe::Never,
        (Some(option), _) => {
            let found = apply(option.found());
            let some = if fails_on_empty {
                let found = empty(&found);
                quote!(#found?)
            } else {
                let found = found.owned().value();
                quote!(Some(#found))
            };
            let option = option.value();
            Maybe::Sometimes(Perhaps::new(quote!(match #option { Some(found) => #some, None => None }), found.ty, true))
        }
    }
}

/// `left ?? right`, where both are known.
fn or_else(left: Maybe, right: Maybe) -> Maybe {
    let Some(option) = not_null(&left) else {
        return match left {
            Maybe::Never => right,
            left @ (Maybe::Always(_) | Maybe::Sometimes(_)) => left,
        };
    };
    match right {
        Maybe::Never => Maybe::Sometimes(option),
        Maybe::Always(right) => {
            let same = option.ty == right.ty;
            let ty = if same { option.ty.clone() } else { Ty::Value };
            let (found, right) = if same { (option.found().owned(), right.owned()) } else { (option.found().to_value(), right.to_value()) };
            let (option, found, right) = (option.value(), found.value(), right.value());
            Maybe::Always(Code::new(quote!(match #option { Some(found) => #found, None => #right }), ty, Shape::Owned))
        }
        Maybe::Sometimes(right) => {
            let same = option.ty == right.ty;
            let ty = if same { option.ty.clone() } else { Ty::Value };
            let (found, right) = if same {
                (option.found().owned().value(), right.by_value())
            } else {
                let right = right.by_ref();
                (option.found().to_value().value(), quote!(#right.map(ToValue::to_value)))
            };
            let option = option.value();
            Maybe::Sometimes(Perhaps::new(quote!(match #option { Some(found) => Some(#found), None => #right }), ty, true))
        }
    }
}
