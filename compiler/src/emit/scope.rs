//! Which variables there are, and how each function comes to them: its own, or what it is given.

use super::code::{Code, Perhaps, Shape};
use super::types::{Home, Ty, Types};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// A variable, by number: in the order in which they come to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VarId(usize);

/// A variable.
#[derive(Clone, Debug)]
pub struct Var {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: Ty,
    /// Whether there may be none.
    pub optional: bool,
    /// Where the function that owns it has it, where that is not under its name.
    pub place: Option<TokenStream>,
    /// Whether the function that owns it only borrows it.
    pub borrowed: bool,
}

/// How a function has its context at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// As its own.
    Own,
    /// As a reference.
    Given,
    /// As that of a round of its loop.
    Round,
    /// As that of an attempt of its branches.
    Attempt,
}

/// A function that is being written.
#[derive(Debug)]
pub struct Function {
    own: BTreeSet<VarId>,
    given: BTreeSet<VarId>,
    /// How it has its context.
    context: Around,
    /// Where it stands.
    pub home: Home,
}

/// What is visible.
#[derive(Debug)]
pub struct Scope {
    /// The types.
    pub types: Types,
    /// The struct of the input.
    pub input: VarId,
    vars: Vec<Var>,
    functions: Vec<Function>,
    /// The values of steps.
    pub steps: BTreeMap<SmolStr, VarId>,
    /// The values of steps in the round before.
    pub previous: BTreeMap<SmolStr, VarId>,
    /// The names of items and of what a `fail_when` and a `catch` see; the innermost last.
    pub names: Vec<(SmolStr, VarId)>,
    /// The names that closures give to items; the innermost last.
    pub closures: Vec<(SmolStr, Code, bool)>,
}

impl Scope {
    /// A scope in which nothing but the input is.
    pub fn new(types: Types, input: Var) -> Scope {
        Scope {
            types,
            input: VarId(0),
            vars: vec![input],
            functions: Vec::new(),
            steps: BTreeMap::new(),
            previous: BTreeMap::new(),
            names: Vec::new(),
            closures: Vec::new(),
        }
    }

    /// A variable of the function that is being written.
    pub fn declare(&mut self, var: Var) -> VarId {
        self.vars.push(var);
        let id = VarId(self.vars.len() - 1);
        if let Some(function) = self.functions.last_mut() {
            function.own.insert(id);
        }
        id
    }

    /// The variable.
    pub fn var(&self, id: VarId) -> Option<&Var> {
        self.vars.get(id.0)
    }

    /// From here on, that is how the variable is got at.
    pub fn adopt(&mut self, id: VarId, place: Option<TokenStream>, optional: bool) {
        if let Some(function) = self.functions.last_mut() {
            function.own.insert(id);
        }
        if let Some(var) = self.vars.get_mut(id.0) {
            var.place = place;
            var.optional = optional;
            var.borrowed = false;
        }
    }

    /// Begins a function.
    pub fn enter(&mut self, home: Home, context: Around) {
        self.functions.push(Function { own: BTreeSet::new(), given: BTreeSet::new(), context, home });
    }

    /// Ends a function: what it must be given.
    pub fn leave(&mut self) -> Vec<VarId> {
        self.functions.pop().map(|function| function.given.into_iter().collect()).unwrap_or_default()
    }

    /// Where the function stands that is being written.
    pub fn home(&self) -> Home {
        self.functions.last().map_or(Home::Lib, |function| function.home)
    }

    /// The context, as a step's function takes it.
    pub fn context(&self) -> TokenStream {
        match self.around() {
            Around::Own => quote!(&cx),
            Around::Given => quote!(cx),
            Around::Round => quote!(&round),
            Around::Attempt => quote!(&attempt),
        }
    }

    /// The context, as something that methods are called on.
    pub fn cx(&self) -> TokenStream {
        match self.around() {
            Around::Own | Around::Given => quote!(cx),
            Around::Round => quote!(round),
            Around::Attempt => quote!(attempt),
        }
    }

    fn around(&self) -> Around {
        self.functions.last().map_or(Around::Given, |function| function.context)
    }

    /// From here on, steps are those of a round or of an attempt.
    pub fn go_on(&mut self, context: Around) {
        if let Some(function) = self.functions.last_mut() {
            function.context = context;
        }
    }

    /// The function uses this variable: whether it is its own.
    fn used(&mut self, id: VarId) -> bool {
        let Some(function) = self.functions.last_mut() else { return true };
        let own = function.own.contains(&id);
        if !own {
            function.given.insert(id);
        }
        own
    }

    /// The value of a variable that is there.
    pub fn code(&mut self, id: VarId) -> Option<Code> {
        // Nothing needs no variable.
        if self.var(id).is_some_and(|var| var.ty == Ty::Nothing && !var.optional) {
            return Some(Code::new(quote!(()), Ty::Nothing, Shape::Owned));
        }
        let own = self.used(id);
        let var = self.vars.get(id.0)?;
        let name = &var.name;
        let tokens = match &var.place {
            Some(place) if own => place.clone(),
            _ => quote!(#name),
        };
        let shape = if own && !var.borrowed { Shape::Place } else { Shape::Ref };
        Some(Code::new(tokens, var.ty.clone(), shape))
    }

    /// The value of a variable that there may be none of.
    pub fn perhaps(&mut self, id: VarId) -> Option<Perhaps> {
        let own = self.used(id);
        let var = self.vars.get(id.0)?;
        let name = &var.name;
        let tokens = match &var.place {
            Some(place) if own => quote!(#place.as_ref()),
            _ if own && !var.borrowed => quote!(#name.as_ref()),
            _ => quote!(#name),
        };
        Some(Perhaps::new(tokens, var.ty.clone(), false))
    }

    /// An option that owns the value of a variable of the function that is being written.
    pub fn taken(&mut self, id: VarId) -> TokenStream {
        let Some(var) = self.var(id).cloned() else { return quote!(None) };
        let name = &var.name;
        match (var.optional, &var.place) {
            (true, Some(place)) => place.clone(),
            (true, None) => quote!(#name),
            (false, _) => {
                let owned = self.code(id).map(|code| if var.borrowed { code.owned().value() } else { code.value() });
                quote!(Some(#owned))
            }
        }
    }

    /// What a function takes.
    pub fn parameter(&self, id: VarId, home: Home) -> TokenStream {
        let Some(var) = self.vars.get(id.0) else { return TokenStream::new() };
        let name = &var.name;
        match (&var.ty, var.optional) {
            (ty, true) => {
                let ty = self.types.rust(ty, home);
                quote!(#name: Option<&#ty>)
            }
            (ty, false) => {
                let ty = self.types.borrowed(ty, home);
                quote!(#name: #ty)
            }
        }
    }

    /// What a function is given for it.
    pub fn argument(&mut self, id: VarId) -> TokenStream {
        let optional = self.var(id).is_some_and(|var| var.optional);
        let tokens = if optional { self.perhaps(id).map(|found| found.value()) } else { self.code(id).map(|code| code.by_ref()) };
        tokens.unwrap_or_default()
    }
}
