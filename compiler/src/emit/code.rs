//! A piece of Rust that gives a value: its tokens, the type of the value, and who owns it.

use super::types::Ty;
use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

/// Who owns a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A place that owns it: a variable, a field.
    Place,
    /// A reference to it.
    Ref,
    /// Whoever takes it.
    Owned,
}

/// A piece of Rust that gives a value.
#[derive(Clone, Debug)]
pub struct Code {
    /// The tokens; without the `?` at their end.
    tokens: TokenStream,
    /// The type of the value.
    pub ty: Ty,
    /// Who owns it.
    pub shape: Shape,
    /// Whether the tokens give a `Result`.
    tail: bool,
    /// Whether an operator stands at the top.
    operator: bool,
    /// Whether it is borrowed from something that goes away at the end of the statement.
    temporary: bool,
}

impl Code {
    /// A piece of this type and shape.
    pub fn new(tokens: TokenStream, ty: Ty, shape: Shape) -> Code {
        Code { tokens, ty, shape, tail: false, operator: false, temporary: false }
    }

    /// The same, as a `Result`.
    #[must_use]
    pub fn tail(self) -> Code {
        Code { tail: true, ..self }
    }

    /// The same, with an operator at the top.
    #[must_use]
    pub fn operator(self) -> Code {
        Code { operator: true, ..self }
    }

    /// The same, borrowed from `base`.
    #[must_use]
    pub fn out_of(self, base: &Code) -> Code {
        Code { temporary: base.temporary || base.shape == Shape::Owned, ..self }
    }

    /// Whether it can fail.
    pub fn is_fallible(&self) -> bool {
        self.tail || has_question(&self.tokens)
    }

    /// The tokens, as they stand in an expression.
    pub fn value(&self) -> TokenStream {
        let tokens = &self.tokens;
        if self.tail { quote!(#tokens?) } else { tokens.clone() }
    }

    /// The tokens, as something that methods are called on.
    pub fn receiver(&self) -> TokenStream {
        let value = self.value();
        if self.operator { quote!((#value)) } else { value }
    }

    /// As a `Result`.
    pub fn result(&self) -> TokenStream {
        let tokens = &self.tokens;
        if self.tail { tokens.clone() } else { quote!(Ok(#tokens)) }
    }

    /// As a reference; to a `str` or a slice where it is one of those already.
    pub fn by_ref(&self) -> TokenStream {
        let value = self.receiver();
        match self.shape {
            Shape::Place | Shape::Owned => quote!(&#value),
            Shape::Ref => value,
        }
    }

    /// As something that a function takes as `impl ToValue`.
    pub fn by_any(&self) -> TokenStream {
        match self.shape {
            Shape::Owned | Shape::Ref => self.value(),
            Shape::Place => self.by_ref(),
        }
    }

    /// Owned by whoever takes it.
    pub fn owned(&self) -> Code {
        let receiver = self.receiver();
        let tokens = match (self.shape, &self.ty) {
            (Shape::Owned, _) => return self.clone(),
            (Shape::Place, Ty::Bool) => return Code { shape: Shape::Owned, ..self.clone() },
            (Shape::Ref, Ty::Bool) => quote!(*#receiver),
            (Shape::Ref, Ty::Text) => quote!(#receiver.to_owned()),
            (Shape::Ref, Ty::List(_)) => quote!(#receiver.to_vec()),
            (_, Ty::Nothing) => quote!(()),
            (Shape::Place | Shape::Ref, _) => quote!(#receiver.clone()),
        };
        Code::new(tokens, self.ty.clone(), Shape::Owned)
    }

    /// The same, unless it would be borrowed from something that is gone.
    #[must_use]
    pub fn lasting(self) -> Code {
        if self.temporary && self.shape != Shape::Owned { self.owned() } else { self }
    }

    /// As a `Value`.
    pub fn to_value(&self) -> Code {
        if self.ty == Ty::Value {
            return self.owned();
        }
        let receiver = self.receiver();
        let literal = matches!(self.shape, Shape::Ref) && self.ty == Ty::Text && is_literal(&self.tokens);
        let tokens = if literal { quote!(Value::from(#receiver)) } else { quote!(#receiver.to_value()) };
        Code::new(tokens, Ty::Value, Shape::Owned)
    }
}

fn is_literal(tokens: &TokenStream) -> bool {
    let mut tokens = tokens.clone().into_iter();
    matches!((tokens.next(), tokens.next()), (Some(TokenTree::Literal(_)), None))
}

fn has_question(tokens: &TokenStream) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Punct(punct) => punct.as_char() == '?',
        TokenTree::Group(group) => has_question(&group.stream()),
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    })
}

/// A value that may be missing.
#[derive(Clone, Debug)]
pub struct Perhaps {
    /// Tokens that give an `Option`; without the `?` at their end.
    tokens: TokenStream,
    /// The type of what may be there.
    pub ty: Ty,
    /// Whether the option owns it, or borrows it.
    pub owned: bool,
    tail: bool,
}

impl Perhaps {
    /// An option of this type.
    pub fn new(tokens: TokenStream, ty: Ty, owned: bool) -> Perhaps {
        Perhaps { tokens, ty, owned, tail: false }
    }

    /// The same, as a `Result`.
    #[must_use]
    pub fn tail(self) -> Perhaps {
        Perhaps { tail: true, ..self }
    }

    /// The tokens, as they stand in an expression.
    pub fn value(&self) -> TokenStream {
        let tokens = &self.tokens;
        if self.tail { quote!(#tokens?) } else { tokens.clone() }
    }

    /// As an option of a reference.
    pub fn by_ref(&self) -> TokenStream {
        let value = self.value();
        if self.owned { quote!(#value.as_ref()) } else { value }
    }

    /// As an option that owns.
    pub fn by_value(&self) -> TokenStream {
        let value = self.value();
        if self.owned {
            return value;
        }
        match self.ty {
            Ty::Text => quote!(#value.map(|found| found.to_owned())),
            Ty::Value
            | Ty::Bool
            | Ty::Number
            | Ty::Nothing
            | Ty::Object
            | Ty::List(_)
            | Ty::Map(_)
            | Ty::Tuple(_)
            | Ty::Nullable(_)
            | Ty::Record(_) => quote!(#value.cloned()),
        }
    }

    /// What is found, by the name `found`, as a piece of code.
    pub fn found(&self) -> Code {
        Code::new(quote!(found), self.ty.clone(), if self.owned { Shape::Owned } else { Shape::Ref })
    }
}

impl Maybe {
    /// The type of what is there.
    pub fn ty(&self) -> &Ty {
        match self {
            Maybe::Always(code) => &code.ty,
            Maybe::Sometimes(found) => &found.ty,
            Maybe::Never => &Ty::Value,
        }
    }
}

/// A value, a value that may be missing, or nothing at all.
#[derive(Clone, Debug)]
pub enum Maybe {
    /// It is there.
    Always(Code),
    /// It may be missing.
    Sometimes(Perhaps),
    /// It is left out.
    Never,
}
