//! The order of steps as Rust: a body is a block, a loop and a branch are functions with their bodies in them.

use super::Source;
use super::code::Code;
use super::layout::{Module, documented};
use super::modules::{idents, unless};
use super::names::Names;
use super::scope::{Around, Scope, Var};
use super::steps::{KnownTool, length};
use super::types::{Field, Home, Record, RecordId, Ty, Types};
use super::words::code;
use ltc_workflow::document::{Step, StepKind};
use ltc_workflow::expr::Expr;
use ltc_workflow::expr::names::Reference;
use ltc_workflow::{Value, Workflow};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// The Rust of a crate.
#[derive(Debug)]
pub struct Written {
    /// `src/lib.rs`
    pub lib: Module,
    /// `src/steps.rs`
    pub steps: Module,
    /// `src/tools.rs`
    pub tools: Module,
}

/// Writes the functions of a workflow.
pub struct Writer<'s, 'w> {
    pub(super) source: &'s Source<'w>,
    pub(super) scope: Scope,
    pub(super) tools: Vec<KnownTool>,
    pub(super) functions: Vec<TokenStream>,
    pub(super) names: Names,
    /// What items are called: in loops that call theirs the same, they have the same name.
    pub(super) items: BTreeMap<SmolStr, Ident>,
    /// The function that is being written; what it knows behind a branch is called after it.
    pub(super) function: String,
    /// Steps whose value something uses.
    pub(super) used: BTreeSet<SmolStr>,
}

/// What the function of a step gives.
pub enum Gives {
    /// Nothing that anything uses.
    Nothing,
    /// Its value.
    Value { ty: Ty, optional: bool },
    /// A struct of the values of steps inside of it, and perhaps its own.
    Taken { record: Ident, inner: Vec<SmolStr>, value: Option<Ty> },
}

/// Writes the Rust of a crate.
pub fn write(source: &Source<'_>) -> Written {
    let mut types = Types::default();
    let input = input_type(source, &mut types);
    let var = Var { name: Ident::new("input", Span::call_site()), ty: Ty::Record(input), optional: false, place: None, borrowed: false };
    let mut writer = Writer {
        source,
        scope: Scope::new(types, var),
        tools: Vec::new(),
        functions: Vec::new(),
        names: Names::default(),
        items: BTreeMap::new(),
        function: String::new(),
        used: used(source.workflow),
    };
    writer.know_tools();
    writer.lib()
}

/// The struct of the input.
fn input_type(source: &Source<'_>, types: &mut Types) -> RecordId {
    let mut names = Names::default();
    let runs = source.recording.get("runs").and_then(Value::as_array).unwrap_or_default();
    let mut fields = Vec::new();
    for (key, schema) in source.workflow.inputs.iter() {
        let ty = types.of_schema(schema, key, Home::Lib);
        types.describe(&ty, &format!("What stands under {}", code(key)));
        // A default is taken as it is, whatever the schema says of it.
        let given = runs.iter().filter_map(|run| run.get("input")?.get(key)).chain(schema.get("default"));
        let ty = if given.into_iter().all(|value| types.fits(&ty, value)) { ty } else { Ty::Value };
        let doc = schema.get("description").and_then(Value::as_str).map(str::to_owned);
        fields.push(Field { key: key.clone(), name: names.field(key), ty, optional: false, doc });
    }
    let doc = "What a run is given.".to_owned();
    types.add(Record { home: Home::Lib, name: Ident::new("Input", Span::call_site()), doc, fields, other: None })
}

/// The steps whose value something uses.
fn used(workflow: &Workflow) -> BTreeSet<SmolStr> {
    let mut found = BTreeSet::new();
    let mut see = |expr: &Expr| {
        for reference in expr.references() {
            if let Reference::Member(root, key) = reference
                && (root == "steps" || root == "previous")
            {
                found.insert(key);
            }
        }
    };
    crate::steps::each(&workflow.steps, &mut |step, _| {
        for part in crate::steps::parts(step) {
            match part {
                crate::steps::Part::Expr(expr) => see(expr),
                crate::steps::Part::Template(template) => crate::rewrite::each_in(template, &mut see),
            }
        }
        step.catch.iter().filter_map(|catch| catch.when.as_ref()).for_each(&mut see);
    });
    workflow.output.iter().for_each(|output| crate::rewrite::each_in(output, &mut see));
    // Where the value of a body is used, so is that of its last step.
    loop {
        let mut more = BTreeSet::new();
        crate::steps::each(&workflow.steps, &mut |step, _| {
            let gathers = matches!(step.kind, StepKind::For { .. } | StepKind::Repeat { gather: Some(_), .. });
            if found.contains(&step.id) && !gathers {
                more.extend(crate::steps::bodies(step).into_iter().filter_map(|body| body.last()).map(|last| last.id.clone()));
            }
        });
        if more.is_subset(&found) {
            return found;
        }
        found.extend(more);
    }
}

impl Writer<'_, '_> {
    /// The statements of a body.
    pub(super) fn body(&mut self, steps: &[Step]) -> Vec<TokenStream> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    /// The statement that does a step, and leaves its value where others find it.
    pub(super) fn step(&mut self, step: &Step) -> TokenStream {
        let name = self.names.snake(&step.id);
        let (call, gives) = self.function(step, &name);
        let test = step.when.as_ref().map(|when| {
            let test = self.scope.test(when);
            let cx = self.scope.cx();
            self.evaluated(&cx, &step.id, test).value()
        });
        let (call, skipped) = (quote!(#call?), step.when.is_some());
        // The answer of a call that nothing uses is let go.
        let gives = if self.used.contains(&step.id) || matches!(gives, Gives::Taken { .. }) { gives } else { Gives::Nothing };
        let statement = match (&gives, test) {
            (Gives::Nothing, None) => return quote!(#call;),
            (Gives::Value { ty: Ty::Nothing, optional: false }, None) => quote!(#call;),
            (Gives::Nothing, Some(test)) => return quote!(if #test { #call; }),
            (Gives::Value { .. } | Gives::Taken { .. }, None) => quote!(let #name = #call;),
            (Gives::Value { ty: Ty::Nothing, optional: false }, Some(test)) => {
                quote!(let #name = if #test { #call; Some(()) } else { None };)
            }
            (Gives::Value { optional: false, .. }, Some(test)) => quote!(let #name = if #test { Some(#call) } else { None };),
            (Gives::Value { .. }, Some(test)) => quote!(let #name = if #test { #call } else { None };),
            (Gives::Taken { .. }, Some(test)) => quote!(let #name = if #test { #call } else { Default::default() };),
        };
        match gives {
            Gives::Nothing => {}
            Gives::Value { ty, optional } => {
                let var = Var { name, ty, optional: optional || skipped, place: None, borrowed: false };
                let var = self.scope.declare(var);
                self.scope.steps.insert(step.id.clone(), var);
            }
            Gives::Taken { inner, value, .. } => {
                for id in inner {
                    if let Some(var) = self.scope.steps.get(&id).copied() {
                        let field = self.scope.var(var).map(|var| var.name.clone());
                        self.scope.adopt(var, Some(quote!(#name.#field)), true);
                    }
                }
                if let Some(ty) = value {
                    let place = Some(quote!(#name.value));
                    let var = Var { name: name.clone(), ty, optional: true, place, borrowed: false };
                    let var = self.scope.declare(var);
                    self.scope.steps.insert(step.id.clone(), var);
                }
            }
        }
        statement
    }

    /// An expression of a step: where it can fail, its failure is that step's.
    pub(super) fn evaluated(&self, cx: &TokenStream, id: &SmolStr, code: Code) -> Code {
        if !code.is_fallible() {
            return code;
        }
        let code = code.lasting();
        let (id, result) = (id.as_str(), code.result());
        Code::new(quote!(#cx.eval(#id, || #result)), code.ty.clone(), code.shape).tail()
    }

    /// Writes the function of a step; the call of it, and what it gives.
    pub(super) fn function(&mut self, step: &Step, name: &Ident) -> (TokenStream, Gives) {
        let slot = self.functions.len();
        self.functions.push(TokenStream::new());
        self.scope.enter(Home::Steps, Around::Given);
        let kept = self.scope.names.len();
        self.function = name.to_string();
        let (body, gives) = match &step.catch {
            Some(catch) => {
                let tried = self.names.snake(&format!("{} tried", step.id));
                let inner = Step { catch: None, when: None, ..step.clone() };
                let (call, gives) = self.function(&inner, &tried);
                self.caught(step, catch, call, gives, name)
            }
            None => self.kind(step),
        };
        self.scope.names.truncate(kept);
        let given = self.scope.leave();
        let parameters: Vec<TokenStream> = given.iter().map(|var| self.scope.parameter(*var, Home::Steps)).collect();
        let returned = match &gives {
            Gives::Nothing => quote!(()),
            Gives::Value { ty, optional } => {
                let ty = self.scope.types.rust(ty, Home::Steps);
                if *optional { quote!(Option<#ty>) } else { ty }
            }
            Gives::Taken { record, .. } => quote!(#record),
        };
        let many = (parameters.len() > MOST_PARAMETERS)
            .then(|| quote!(#[allow(clippy::too_many_arguments, reason = "the step uses what so many others found")]));
        let item = quote!(#many pub async fn #name(cx: &Context, #(#parameters),*) -> Result<#returned, Stop> { #body });
        let item = documented(&self.documentation(step), &item);
        if let Some(place) = self.functions.get_mut(slot) {
            *place = item;
        }
        let arguments: Vec<TokenStream> = given.iter().map(|var| self.scope.argument(*var)).collect();
        let (cx, path) = (self.scope.context(), if self.scope.home() == Home::Lib { quote!(steps::) } else { quote!() });
        (quote!(#path #name(#cx, #(#arguments),*).await), gives)
    }

    pub(super) fn kind(&mut self, step: &Step) -> (TokenStream, Gives) {
        match &step.kind {
            StepKind::Call { .. } | StepKind::Escalate { .. } | StepKind::Run { .. } | StepKind::Wait { .. } | StepKind::Set { .. } => {
                let (body, ty) = self.effect(step);
                (body, Gives::Value { ty, optional: false })
            }
            StepKind::For { each, list, test, at_once, gather, steps } => {
                let written = self.for_each(step, each, list, test.as_ref(), *at_once, gather.as_ref(), steps);
                self.tried_again(step, &quote!(retry_loop), written)
            }
            StepKind::Repeat { until, every, at_most, gather, steps } => {
                let mut rounds = TokenStream::new();
                if let Some(every) = every {
                    let every = length(*every);
                    rounds.extend(quote!(.every(#every)));
                }
                if let Some(at_most) = at_most {
                    let at_most = Literal::u32_unsuffixed(*at_most);
                    rounds.extend(quote!(.at_most(#at_most)));
                }
                let written = self.repeat(step, until, &rounds, gather.as_ref(), steps);
                self.tried_again(step, &quote!(retry_loop), written)
            }
            StepKind::Switch { cases } => {
                let bodies: Vec<(Option<&Expr>, &[Step])> = cases.iter().map(|case| (case.when.as_ref(), case.steps.as_slice())).collect();
                let written = self.branches(step, &bodies, true);
                self.tried_again(step, &quote!(retry_branches), written)
            }
            StepKind::Parallel { branches } => {
                let bodies: Vec<(Option<&Expr>, &[Step])> = branches.iter().map(|branch| (None, branch.as_slice())).collect();
                let written = self.branches(step, &bodies, false);
                self.tried_again(step, &quote!(retry_branches), written)
            }
        }
    }

    /// A loop or branches, gone through again where the step says so.
    fn tried_again(&self, step: &Step, method: &TokenStream, (body, gives): (TokenStream, Gives)) -> (TokenStream, Gives) {
        if step.retry.is_none() {
            return (body, gives);
        }
        let mut inside = BTreeSet::new();
        idents(body.clone(), &mut inside, &mut BTreeSet::new());
        let (builder, attempt) = (self.builder(step), unless(inside.contains("attempt"), "attempt"));
        (quote!(#builder.#method(|#attempt| async move { #body }).await), gives)
    }
}

/// How many parameters a function may have before a reader is owed a word about it.
const MOST_PARAMETERS: usize = 6;
