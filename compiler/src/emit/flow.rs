//! The order of steps as Rust: a body is a block, a loop and a branch are functions with their bodies in them.

use super::code::{Code, Maybe, Shape};
use super::declare::Ways;
use super::layout::{Module, documented};
use super::names::Names;
use super::scope::{Around, Scope, Var, VarId};
use super::steps::{KnownTool, length};
use super::types::{Field, Home, Record, RecordId, Ty, Types};
use super::words::{code, words};
use super::{Source, StepOrigin};
use ltc_workflow::document::{Step, StepKind};
use ltc_workflow::expr::Expr;
use ltc_workflow::expr::names::Reference;
use ltc_workflow::template::Template;
use ltc_workflow::{Value, Workflow};
use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
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
    functions: Vec<TokenStream>,
    names: Names,
    /// Steps whose value something uses.
    used: BTreeSet<SmolStr>,
}

/// What the function of a step gives.
enum Gives {
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
        used: used(source.workflow),
    };
    writer.know_tools();
    writer.lib(input)
}

/// The struct of the input.
fn input_type(source: &Source<'_>, types: &mut Types) -> RecordId {
    let mut names = Names::default();
    let runs = source.recording.get("runs").and_then(Value::as_array).unwrap_or_default();
    let mut fields = Vec::new();
    for (key, schema) in source.workflow.inputs.iter() {
        let ty = types.of_schema(schema, key, Home::Lib);
        // A default is taken as it is, whatever the schema says of it.
        let given = runs.iter().filter_map(|run| run.get("input")?.get(key)).chain(schema.get("default"));
        let ty = if given.into_iter().all(|value| types.fits(&ty, value)) { ty } else { Ty::Value };
        let doc = schema.get("description").and_then(Value::as_str).map(str::to_owned);
        fields.push(Field { key: key.clone(), name: names.snake(key), ty, optional: false, doc });
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
    fn lib(mut self, input: RecordId) -> Written {
        self.scope.enter(Home::Lib, Around::Own);
        self.scope.adopt(self.scope.input, None, false);
        let workflow = self.source.workflow;
        let body = self.body(&workflow.steps);
        let (output, result) = self.output(workflow.output.as_ref());
        self.scope.leave();
        // What nobody uses has a name that says so.
        let all = quote!(#(#body)* #result);
        let mut used = BTreeSet::new();
        idents(all, &mut used, &mut BTreeSet::new());
        let (cx, given) = (unless(used.contains("cx"), "cx"), unless(used.contains("input"), "input"));
        let run = documented(
            &[
                "Does the workflow once.".to_owned(),
                String::new(),
                "# Errors".to_owned(),
                "The failure of the step that failed.".to_owned(),
            ],
            &quote!(pub async fn run(#cx: Context, #given: Input) -> Result<Output, Stop> { #(#body)* #result }),
        );
        let named = documented(
            &["The workflow, for a registry, a server or a command.".to_owned()],
            &quote!(
                pub fn workflow() -> NativeWorkflow {
                    NativeWorkflow::new(DOCUMENT, run)
                }
            ),
        );
        let document = documented(
            &["The YAML that this crate was written from, and does the same as.".to_owned()],
            &quote!(
                pub const DOCUMENT: &str = include_str!("../workflow.yaml");
            ),
        );
        let mut items = Vec::new();
        for record in self.scope.types.in_home(Home::Lib) {
            let ways = if record.name == "Output" { Ways::Written } else { Ways::Both };
            items.extend(self.scope.types.declaration(record, ways, Home::Lib));
        }
        let _ = input;
        let body = [vec![document], items, output, vec![named, run]].concat();
        let doc = vec![self.title()];
        let modules = if self.functions.is_empty() {
            quote!(
                pub mod tools;
            )
        } else {
            quote!(
                mod steps;
                pub mod tools;
            )
        };
        let lib = Module { doc, items: [vec![modules], uses(&body, Home::Lib), body].concat() };
        let steps = std::mem::take(&mut self.functions);
        let records: Vec<TokenStream> = self.scope.types.in_home(Home::Steps).map(|record| self.taken_type(record)).collect();
        let steps = [records, steps].concat();
        let doc = vec!["The steps, in the order of the workflow: a function each.".to_owned()];
        let steps = if steps.is_empty() { Module::default() } else { Module { doc, items: [uses(&steps, Home::Steps), steps].concat() } };
        let tools = self.tools_module();
        Written { lib, steps, tools }
    }

    fn title(&self) -> String {
        let said = self.source.workflow.description.as_deref().map(words).filter(|said| !said.is_empty());
        said.unwrap_or_else(|| format!("The workflow {}.", code(&self.source.workflow.name)))
    }

    fn tools_module(&self) -> Module {
        let mut items = Vec::new();
        let arguments: Vec<Ident> =
            self.tools.iter().filter_map(|tool| self.scope.types.record(tool.arguments)).map(|record| record.name.clone()).collect();
        for record in self.scope.types.in_home(Home::Tools) {
            let ways = if arguments.contains(&record.name) { Ways::Written } else { Ways::Both };
            items.extend(self.scope.types.declaration(record, ways, Home::Tools));
            if let Some(tool) =
                self.tools.iter().find(|tool| self.scope.types.record(tool.arguments).is_some_and(|r| r.name == record.name))
            {
                let (name, server, called) = (&record.name, tool.server.as_str(), tool.tool.as_str());
                let answer = self.scope.types.rust(&tool.answer, Home::Tools);
                items.push(quote! {
                    impl Tool for #name {
                        const SERVER: &'static str = #server;
                        const TOOL: &'static str = #called;
                        type Answer = #answer;
                    }
                });
            }
        }
        let doc = vec!["The tools: what each is asked and what it answers, as its JSON Schemas say.".to_owned()];
        Module { doc, items: [uses(&items, Home::Tools), items].concat() }
    }

    /// The type of the output, and the expression that gives it.
    fn output(&mut self, output: Option<&Template>) -> (Vec<TokenStream>, TokenStream) {
        let alias = |ty: TokenStream| vec![documented(&["What a run gives.".to_owned()], &quote!(pub type Output = #ty;))];
        let filled = match output {
            None => return (alias(quote!(())), quote!(Ok(()))),
            Some(Template::Object(entries)) if !entries.is_empty() => return self.output_struct(entries),
            Some(template) => self.scope.template(template),
        };
        let code = match filled {
            Maybe::Always(code) => code.owned(),
            Maybe::Sometimes(found) => {
                let option = found.by_ref();
                Code::new(quote!(#option.map(ToValue::to_value).unwrap_or_default()), Ty::Value, Shape::Owned)
            }
            Maybe::Never => super::expr::null(),
        };
        let (ty, value) = (self.scope.types.rust(&code.ty, Home::Lib), code.value());
        (alias(ty), quote!(Ok(#value)))
    }

    fn output_struct(&mut self, entries: &[(SmolStr, Template)]) -> (Vec<TokenStream>, TokenStream) {
        let mut names = Names::default();
        let (mut fields, mut values) = (Vec::new(), Vec::new());
        for (key, template) in entries {
            let name = names.snake(key);
            let (ty, optional, value) = match self.scope.template(template) {
                Maybe::Always(code) => {
                    let code = code.owned();
                    (code.ty.clone(), false, code.value())
                }
                Maybe::Sometimes(found) => (found.ty.clone(), true, found.by_value()),
                Maybe::Never => (Ty::Value, true, quote!(None)),
            };
            values.push(quote!(#name: #value));
            fields.push(Field { key: key.clone(), name, ty, optional, doc: None });
        }
        let doc = "What a run gives.".to_owned();
        self.scope.types.add(Record { home: Home::Lib, name: Ident::new("Output", Span::call_site()), doc, fields, other: None });
        (Vec::new(), quote!(Ok(Output { #(#values,)* })))
    }

    /// The statements of a body.
    fn body(&mut self, steps: &[Step]) -> Vec<TokenStream> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    /// The statement that does a step, and leaves its value where others find it.
    fn step(&mut self, step: &Step) -> TokenStream {
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
            (Gives::Nothing, Some(test)) => return quote!(if #test { #call; }),
            (Gives::Value { .. } | Gives::Taken { .. }, None) => quote!(let #name = #call;),
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
    fn evaluated(&self, cx: &TokenStream, id: &SmolStr, code: Code) -> Code {
        if !code.is_fallible() {
            return code;
        }
        let code = code.lasting();
        let (id, result) = (id.as_str(), code.result());
        Code::new(quote!(#cx.eval(#id, || #result)), code.ty.clone(), code.shape).tail()
    }

    /// Writes the function of a step; the call of it, and what it gives.
    fn function(&mut self, step: &Step, name: &Ident) -> (TokenStream, Gives) {
        let slot = self.functions.len();
        self.functions.push(TokenStream::new());
        self.scope.enter(Home::Steps, Around::Given);
        let kept = self.scope.names.len();
        let (body, gives) = match &step.catch {
            Some(catch) => {
                let tried = self.names.snake(&format!("{} tried", step.id));
                let inner = Step { catch: None, when: None, ..step.clone() };
                let (call, gives) = self.function(&inner, &tried);
                self.caught(step, catch, call, gives)
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

    fn kind(&mut self, step: &Step) -> (TokenStream, Gives) {
        match &step.kind {
            StepKind::Call { .. } | StepKind::Escalate { .. } | StepKind::Run { .. } | StepKind::Wait { .. } | StepKind::Set { .. } => {
                let (body, ty) = self.effect(step);
                (body, Gives::Value { ty, optional: false })
            }
            StepKind::For { each, list, test, gather, steps, .. } => self.for_each(step, each, list, test.as_ref(), gather.as_ref(), steps),
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
                self.repeat(step, until, &rounds, gather.as_ref(), steps)
            }
            StepKind::Switch { cases } => {
                let bodies: Vec<(Option<&Expr>, &[Step])> = cases.iter().map(|case| (case.when.as_ref(), case.steps.as_slice())).collect();
                self.branches(step, &bodies, true)
            }
            StepKind::Parallel { branches } => {
                let bodies: Vec<(Option<&Expr>, &[Step])> = branches.iter().map(|branch| (None, branch.as_slice())).collect();
                self.branches(step, &bodies, false)
            }
        }
    }

    fn for_each(
        &mut self,
        step: &Step,
        each: &SmolStr,
        list: &Expr,
        test: Option<&Expr>,
        gather: Option<&Template>,
        steps: &[Step],
    ) -> (TokenStream, Gives) {
        let id = step.id.as_str();
        let outer = quote!(cx);
        let list = self.scope.expr(list).lasting();
        let list = if matches!(list.ty, Ty::Value | Ty::List(_)) { list } else { list.to_value() };
        let item_ty = if let Ty::List(item) = &list.ty { (**item).clone() } else { Ty::Value };
        let (before, items) = match (&list.ty, list.shape) {
            (Ty::List(_), Shape::Place | Shape::Ref) if !list.is_fallible() => (quote!(), list.by_ref()),
            (Ty::List(_), shape) => {
                let evaluated = self.evaluated(&outer, &step.id, list).value();
                (quote!(let items = #evaluated;), if shape == Shape::Ref { quote!(items) } else { quote!(&items) })
            }
            (_, Shape::Owned) => {
                let evaluated = self.evaluated(&outer, &step.id, list).value();
                (quote!(let listed = #evaluated; let items = cx.eval(#id, || listed.items())?;), quote!(items))
            }
            (_, _) => {
                let receiver = list.receiver();
                let items = Code::new(quote!(#receiver.items()), list.ty.clone(), Shape::Ref).tail();
                let evaluated = self.evaluated(&outer, &step.id, items).value();
                (quote!(let items = #evaluated;), quote!(items))
            }
        };
        let name = self.names.snake(each);
        let item = Var { name: name.clone(), ty: item_ty, optional: false, place: None, borrowed: true };
        let item = self.scope.declare(item);
        self.scope.names.push((each.clone(), item));
        self.scope.in_round();
        let test = test.map(|test| {
            let test = self.scope.test(test);
            let test = self.evaluated(&outer, &step.id, test).receiver();
            quote!(if !#test { continue; })
        });
        let body = self.body(steps);
        let gathered = gather.map(|gather| self.gathered(step, gather));
        self.scope.names.pop();
        let push = gathered.as_ref().map(|(push, _)| push);
        let mut inside = BTreeSet::new();
        idents(quote!(#test #(#body)* #push), &mut inside, &mut BTreeSet::new());
        let pattern = if inside.contains(&name.to_string()) { quote!(#name) } else { quote!(_) };
        let round = unless(inside.contains("round"), "round");
        match gathered {
            Some((push, ty)) => {
                let body = quote! {
                    #before
                    let mut gathered = Vec::new();
                    for (#round, #pattern) in cx.each(#id, #items) { #test #(#body)* #push }
                    Ok(gathered)
                };
                (body, Gives::Value { ty: Ty::List(Box::new(ty)), optional: false })
            }
            None => {
                let body = quote!(#before for (#round, #pattern) in cx.each(#id, #items) { #test #(#body)* } Ok(()));
                (body, if self.used.contains(&step.id) { Gives::Value { ty: Ty::Nothing, optional: false } } else { Gives::Nothing })
            }
        }
    }

    /// The statement that keeps what is gathered, and the type of that.
    fn gathered(&mut self, step: &Step, gather: &Template) -> (TokenStream, Ty) {
        let cx = quote!(cx);
        match self.scope.template(gather) {
            Maybe::Always(code) => {
                let code = self.evaluated(&cx, &step.id, code.owned());
                let value = code.value();
                (quote!(gathered.push(#value);), code.ty)
            }
            Maybe::Sometimes(found) => {
                let code = Code::new(found.by_value(), found.ty.clone(), Shape::Owned);
                let value = self.evaluated(&cx, &step.id, code).value();
                (quote!(gathered.extend(#value);), found.ty)
            }
            Maybe::Never => (quote!(gathered.extend(None::<Value>);), Ty::Value),
        }
    }

    fn repeat(
        &mut self,
        step: &Step,
        until: &Expr,
        rounds: &TokenStream,
        gather: Option<&Template>,
        steps: &[Step],
    ) -> (TokenStream, Gives) {
        let id = step.id.as_str();
        let before = self.previous(steps);
        self.scope.in_round();
        let body = self.body(steps);
        let gathered = gather.map(|gather| self.gathered(step, gather));
        let until = self.scope.test(until);
        let until = self.evaluated(&quote!(cx), &step.id, until).value();
        let last = steps.last().filter(|_| self.used.contains(&step.id)).and_then(|last| self.scope.steps.get(&last.id).copied());
        let (result, gives) = match (&gathered, last.and_then(|last| self.scope.var(last).cloned()), last) {
            (Some((_, ty)), ..) => (quote!(gathered), Gives::Value { ty: Ty::List(Box::new(ty.clone())), optional: false }),
            (None, Some(var), Some(last)) if var.optional => (self.scope.taken(last), Gives::Value { ty: var.ty, optional: true }),
            (None, Some(var), Some(last)) => {
                let value = self.scope.code(last).map(|code| code.value());
                (quote!(#value), Gives::Value { ty: var.ty, optional: false })
            }
            (None, ..) => (quote!(()), Gives::Nothing),
        };
        let kept: Vec<TokenStream> = before.iter().map(|(id, var)| self.keep(id, *var)).collect();
        let declared = before.iter().filter_map(|(_, var)| self.scope.var(*var)).map(|var| {
            let (name, ty) = (&var.name, self.scope.types.rust(&var.ty, Home::Steps));
            quote!(let mut #name: Option<#ty> = None;)
        });
        let start = gathered.as_ref().map(|_| quote!(let mut gathered = Vec::new();));
        let push = gathered.as_ref().map(|(push, _)| push);
        let body = quote! {
            #start
            #(#declared)*
            let mut rounds = cx.rounds(#id) #rounds;
            loop {
                let round = rounds.next().await?;
                #(#body)*
                #push
                if #until { return Ok(#result); }
                #(#kept)*
            }
        };
        for (id, _) in before {
            self.scope.previous.remove(&id);
        }
        (body, gives)
    }

    /// Variables for the values of the round before, as far as the body uses them.
    fn previous(&mut self, steps: &[Step]) -> Vec<(SmolStr, VarId)> {
        let mut wanted = BTreeSet::new();
        crate::steps::each(steps, &mut |step, _| {
            let mut see = |expr: &Expr| {
                wanted.extend(expr.references().into_iter().filter_map(|reference| match reference {
                    Reference::Member(root, key) if root == "previous" => Some(key),
                    Reference::Member(..) | Reference::Name(_) => None,
                }));
            };
            for part in crate::steps::parts(step) {
                match part {
                    crate::steps::Part::Expr(expr) => see(expr),
                    crate::steps::Part::Template(template) => crate::rewrite::each_in(template, &mut see),
                }
            }
        });
        let mut found: BTreeMap<SmolStr, Ty> = BTreeMap::new();
        crate::steps::each(steps, &mut |step, around| {
            // Steps of a loop inside are not seen from outside of it.
            let hidden = around.iter().any(|outer| matches!(outer.kind, StepKind::For { .. } | StepKind::Repeat { .. }));
            if wanted.contains(&step.id) && !hidden {
                let ty = match &step.kind {
                    StepKind::Call { server, tool, .. } if step.catch.is_none() => {
                        self.tools.iter().find(|known| known.server == *server && known.tool == *tool).map(|known| known.answer.clone())
                    }
                    _ => None,
                };
                found.insert(step.id.clone(), ty.unwrap_or(Ty::Value));
            }
        });
        let mut before = Vec::new();
        for (id, ty) in found {
            let name = self.names.snake(&format!("previous {id}"));
            let var = self.scope.declare(Var { name, ty, optional: true, place: None, borrowed: false });
            self.scope.previous.insert(id.clone(), var);
            before.push((id, var));
        }
        before
    }

    /// Keeps the value of a step for the next round.
    fn keep(&mut self, id: &SmolStr, previous: VarId) -> TokenStream {
        let (Some(var), Some(previous)) = (self.scope.steps.get(id).copied(), self.scope.var(previous).cloned()) else { return quote!() };
        let name = &previous.name;
        let same = self.scope.var(var).is_some_and(|var| var.ty == previous.ty);
        let value = self.scope.taken(var);
        if same { quote!(#name = #value;) } else { quote!(#name = #value.map(|found| found.to_value());) }
    }

    /// The steps inside of `bodies` whose values something behind uses.
    fn visible(&self, bodies: &[&[Step]]) -> Vec<SmolStr> {
        let mut found = Vec::new();
        for body in bodies {
            crate::steps::each(body, &mut |step, around| {
                let hidden = around.iter().any(|outer| matches!(outer.kind, StepKind::For { .. } | StepKind::Repeat { .. }));
                if !hidden && self.used.contains(&step.id) {
                    found.push(step.id.clone());
                }
            });
        }
        found
    }

    fn branches(&mut self, step: &Step, bodies: &[(Option<&Expr>, &[Step])], one: bool) -> (TokenStream, Gives) {
        let is_used = self.used.contains(&step.id) && one;
        let inner = self.visible(&bodies.iter().map(|(_, body)| *body).collect::<Vec<_>>());
        let mut blocks = Vec::new();
        let mut own: Option<Ty> = None;
        for (test, body) in bodies {
            let test = test.map(|test| {
                let test = self.scope.test(test);
                self.evaluated(&quote!(cx), &step.id, test).value()
            });
            let mut statements = self.body(body);
            let last = body.last().and_then(|last| self.scope.steps.get(&last.id).copied()).filter(|_| is_used);
            if let Some(last) = last {
                let ty = self.scope.var(last).map_or(Ty::Value, |var| var.ty.clone());
                let value = match self.scope.var(last) {
                    Some(var) if var.optional => self.scope.perhaps(last).map(|found| found.by_value()),
                    Some(_) | None => self.scope.code(last).map(|code| {
                        let value = code.owned().value();
                        quote!(Some(#value))
                    }),
                };
                own = Some(if own.as_ref().is_none_or(|own| *own == ty) { ty.clone() } else { Ty::Value });
                statements.push(quote!(taken.value = #value;));
            }
            let mut here = Vec::new();
            crate::steps::each(body, &mut |step, _| here.push(step.id.clone()));
            for id in inner.iter().filter(|id| here.contains(id)) {
                if let Some(var) = self.scope.steps.get(id).copied() {
                    let (field, value) = (self.scope.var(var).map(|var| var.name.clone()), self.scope.taken(var));
                    statements.push(quote!(taken.#field = #value;));
                }
            }
            blocks.push((test, quote!({ #(#statements)* })));
        }
        let mut flow = TokenStream::new();
        for (number, (test, block)) in blocks.iter().enumerate() {
            let lead = if number > 0 && one { quote!(else) } else { quote!() };
            flow.extend(match test {
                Some(test) => quote!(#lead if #test #block),
                None => quote!(#lead #block),
            });
        }
        if inner.is_empty() && !is_used {
            return (quote!(#flow Ok(())), Gives::Nothing);
        }
        let record = self.taken_record(&step.id, &inner, own.clone());
        (quote!(let mut taken = #record::default(); #flow Ok(taken)), Gives::Taken { record, inner, value: own })
    }

    fn taken_record(&mut self, id: &SmolStr, inner: &[SmolStr], value: Option<Ty>) -> Ident {
        let name = self.scope.types.name(Home::Steps, id);
        let mut fields = Vec::new();
        let mut names = BTreeSet::new();
        for id in inner {
            if let Some(var) = self.scope.steps.get(id).and_then(|var| self.scope.var(*var))
                && names.insert(id.clone())
            {
                let doc = Some(format!("The value of {}.", code(id)));
                fields.push(Field { key: id.clone(), name: var.name.clone(), ty: var.ty.clone(), optional: true, doc });
            }
        }
        if let Some(ty) = value {
            let doc = Some("The value of the step itself.".to_owned());
            fields.push(Field { key: SmolStr::new_static("value"), name: format_ident!("value"), ty, optional: true, doc });
        }
        let doc = format!("What is known after {}: the steps that were done.", code(id));
        self.scope.types.add(Record { home: Home::Steps, name: name.clone(), doc, fields, other: None });
        name
    }

    fn taken_type(&self, record: &Record) -> TokenStream {
        let fields = record.fields.iter().map(|field| {
            let (name, ty) = (&field.name, self.scope.types.rust(&field.ty, Home::Steps));
            let doc = super::words::doc(&[field.doc.clone().unwrap_or_default()]);
            quote!(#doc pub #name: Option<#ty>)
        });
        let name = &record.name;
        documented(std::slice::from_ref(&record.doc), &quote!(#[derive(Clone, Debug, Default)] pub struct #name { #(#fields,)* }))
    }

    /// A step whose failure is dealt with.
    fn caught(&mut self, step: &Step, catch: &ltc_workflow::document::Catch, call: TokenStream, gives: Gives) -> (TokenStream, Gives) {
        let id = step.id.as_str();
        let is_used = self.used.contains(&step.id);
        let mut inner = self.visible(&[&catch.steps]);
        let when = catch.when.as_ref().map(|when| {
            let test = self.scope.test(when);
            let test = self.evaluated(&quote!(cx), &step.id, test).receiver();
            quote!(if !#test { return Err(error.into()); })
        });
        let mut statements = self.body(&catch.steps);
        let mut own: Option<Ty> = None;
        let mut tried = Vec::new();
        match gives {
            Gives::Nothing => {}
            Gives::Value { ty, optional } => {
                if is_used {
                    tried.push(if optional { quote!(taken.value = found;) } else { quote!(taken.value = Some(found);) });
                    own = Some(ty);
                }
            }
            Gives::Taken { inner: before, value, .. } => {
                for id in before {
                    let field = self.scope.steps.get(&id).and_then(|var| self.scope.var(*var)).map(|var| var.name.clone());
                    tried.push(quote!(taken.#field = found.#field;));
                    inner.push(id);
                }
                if value.is_some() {
                    tried.push(quote!(taken.value = found.value;));
                    own = value;
                }
            }
        }
        for id in inner.clone() {
            let here = catch.steps.iter().any(|step| step.id == id);
            if let Some(var) = self.scope.steps.get(&id).copied().filter(|_| here) {
                let (field, value) = (self.scope.var(var).map(|var| var.name.clone()), self.scope.taken(var));
                statements.push(quote!(taken.#field = #value;));
            }
        }
        let last = catch.steps.last().and_then(|last| self.scope.steps.get(&last.id).copied()).filter(|_| is_used);
        if let Some(last) = last {
            let ty = self.scope.var(last).map_or(Ty::Value, |var| var.ty.clone());
            let field = self.scope.var(last).map(|var| var.name.clone());
            let same = own.as_ref().is_none_or(|own| *own == ty);
            if !same {
                for statement in &mut tried {
                    *statement = quote!(taken.value = Some(found.to_value()););
                }
            }
            let convert = if same { quote!(.clone()) } else { quote!(.as_ref().map(ToValue::to_value)) };
            statements.push(quote!(taken.value = taken.#field #convert;));
            own = Some(if same { ty } else { Ty::Value });
        }
        let pattern = if tried.is_empty() { quote!(_) } else { quote!(found) };
        let needs = !inner.is_empty() || own.is_some();
        let record = needs.then(|| self.taken_record(&step.id, &inner, own.clone()));
        let start = record.as_ref().map(|record| quote!(let mut taken = #record::default();));
        let end = if needs { quote!(Ok(taken)) } else { quote!(Ok(())) };
        let error_used = quote!(#when #(#statements)*).to_string().contains("error");
        let (failed, error) = if error_used { (quote!(stop), quote!(let error = stop.caught(cx, #id);)) } else { (quote!(_), quote!()) };
        let body = quote! {
            #start
            match #call {
                Ok(#pattern) => { #(#tried)* }
                Err(#failed) => { #error #when #(#statements)* }
            }
            #end
        };
        let gives = record.map_or(Gives::Nothing, |record| Gives::Taken { record, inner, value: own });
        (body, gives)
    }

    /// What is said about the function of a step.
    fn documentation(&self, step: &Step) -> Vec<String> {
        let id = code(&step.id);
        let mut lines = Vec::new();
        let origin = self.source.origins.get(&step.id);
        let calls = |origin: &StepOrigin| {
            let shown: Vec<String> = origin.calls.iter().take(MOST_CALLS).map(|call| code(call)).collect();
            let more = origin.calls.len().saturating_sub(MOST_CALLS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let noun = if origin.calls.len() == 1 { "call" } else { "calls" };
            if shown.is_empty() { String::new() } else { format!(", from the recorded {noun} {}{more}", shown.join(", ")) }
        };
        lines.push(match &step.kind {
            StepKind::Call { server, tool, .. } => {
                let from = origin.map(calls).unwrap_or_default();
                format!("{id}: {}{from}.", code(&format!("{server}/{tool}")))
            }
            StepKind::For { each, list, test, .. } => {
                let test = test.as_ref().map(|test| format!(" where {}", code(&test.to_string()))).unwrap_or_default();
                format!("{id}: for each {} of {}{test}.", code(each), code(&list.to_string()))
            }
            StepKind::Repeat { until, .. } => format!("{id}: again and again until {}.", code(&until.to_string())),
            StepKind::Switch { .. } => format!("{id}: the first case that is true."),
            StepKind::Parallel { .. } => format!("{id}: branches that do not see each other, one after the other."),
            StepKind::Escalate { role, .. } => format!("{id}: asks {}.", code(role)),
            StepKind::Wait { .. } => format!("{id}: waits."),
            StepKind::Set { .. } => format!("{id}: names values."),
            StepKind::Run { workflow, .. } => format!("{id}: runs the workflow {}.", code(workflow)),
        });
        if let Some(note) = step.note.as_deref().map(words).filter(|note| !note.is_empty()) {
            lines.extend([String::new(), note]);
        }
        let arguments = origin.map(|origin| origin.arguments.as_slice()).unwrap_or_default();
        if !arguments.is_empty() {
            lines.push(String::new());
        }
        for (argument, from) in arguments {
            let argument = if argument.is_empty() { "all of it".to_owned() } else { code(argument) };
            lines.push(format!("- {argument}: {}", code(from)));
        }
        lines
    }
}

/// How many parameters a function may have before a reader is owed a word about it.
const MOST_PARAMETERS: usize = 6;
/// How many recorded calls are named.
const MOST_CALLS: usize = 4;

/// The `use` lines of a file with these items: what they name, and no more.
fn uses(items: &[TokenStream], home: Home) -> Vec<TokenStream> {
    let (mut names, mut called) = (BTreeSet::new(), BTreeSet::new());
    items.iter().for_each(|item| idents(item.clone(), &mut names, &mut called));
    let named = |name: &&str| names.contains(*name);
    let mut from_runtime: Vec<&str> = [
        "Context",
        "Fields",
        "FromValue",
        "Mismatch",
        "NativeWorkflow",
        "Nullable",
        "Number",
        "Object",
        "Question",
        "Record",
        "Stop",
        "Tool",
        "ToValue",
        "Value",
        "lang",
    ]
    .into_iter()
    .filter(named)
    .collect();
    // Traits that are used by their methods.
    let methods = [("Find", ["find", "find_item", "find_one"].as_slice()), ("Path", ["key", "item", "items", "pick"].as_slice())];
    from_runtime.extend(methods.iter().filter(|(_, methods)| methods.iter().any(|m| called.contains(*m))).map(|(name, _)| *name));
    if called.contains("to_value") {
        from_runtime.push("ToValue");
    }
    from_runtime.sort_by_key(|name| (name.chars().next().is_some_and(char::is_lowercase), *name));
    from_runtime.dedup();
    let mut lines = Vec::new();
    if home == Home::Steps {
        let mut own: Vec<TokenStream> = Vec::new();
        // The written crate, not this one: the test of the layers reads every path in the sources.
        let here = quote!(crate);
        if names.contains("Input") {
            own.push(quote!(
                use #here::Input;
            ));
        }
        if names.contains("tools") {
            own.push(quote!(
                use #here::tools;
            ));
        }
        lines.extend(own);
    }
    if !from_runtime.is_empty() {
        let from_runtime = from_runtime.into_iter().map(|name| Ident::new(name, Span::call_site()));
        lines.push(quote!(use ltc_runtime::native::{#(#from_runtime),*};));
    }
    if names.contains("BTreeMap") {
        lines.push(quote!(
            use std::collections::BTreeMap;
        ));
    }
    if names.contains("Duration") {
        lines.push(quote!(
            use std::time::Duration;
        ));
    }
    lines
}

/// A name, with `_` before it where it is not used.
fn unless(is_used: bool, name: &str) -> Ident {
    if is_used { format_ident!("{name}") } else { format_ident!("_{name}") }
}

/// The identifiers in `tokens`, and those of them that are called as methods.
fn idents(tokens: TokenStream, found: &mut BTreeSet<String>, called: &mut BTreeSet<String>) {
    let mut tokens = tokens.into_iter().peekable();
    let mut behind_a_dot = false;
    while let Some(token) = tokens.next() {
        let was = std::mem::replace(&mut behind_a_dot, matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.'));
        match token {
            TokenTree::Ident(ident) => {
                if was && matches!(tokens.peek(), Some(TokenTree::Group(_))) {
                    called.insert(ident.to_string());
                }
                found.insert(ident.to_string());
            }
            TokenTree::Group(group) => idents(group.stream(), found, called),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}
