//! Branches as functions: what was done in them is known behind them, as a struct of what may be there.

use super::code::Maybe;
use super::flow::{Gives, Writer};
use super::layout::documented;
use super::modules::idents;
use super::scope::{Around, Var};
use super::types::{Field, Home, Record, Ty};
use super::words::code;
use ltc_workflow::document::{Step, StepKind};
use ltc_workflow::expr::Expr;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use smol_str::SmolStr;
use std::collections::BTreeSet;

impl Writer<'_, '_> {
    /// The steps inside of `bodies` whose values something behind uses.
    pub(super) fn visible(&self, bodies: &[&[Step]]) -> Vec<SmolStr> {
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

    /// Cases, of which the first one counts whose test is true, or branches that go on at once.
    pub(super) fn branches(&mut self, step: &Step, bodies: &[(Option<&Expr>, &[Step])], one: bool) -> (TokenStream, Gives) {
        if step.retry.is_some() {
            self.scope.go_on(Around::Attempt);
        }
        let function = self.function.clone();
        let is_used = self.used.contains(&step.id) && one;
        let inner = self.visible(&bodies.iter().map(|(_, body)| *body).collect::<Vec<_>>());
        let mut blocks = Vec::new();
        let mut values: Vec<Option<Maybe>> = Vec::new();
        for (test, body) in bodies {
            let test = test.map(|test| {
                let test = self.scope.test(test);
                self.evaluated(&quote!(cx), &step.id, test).value()
            });
            let mut statements = self.body(body);
            let last = body.last().and_then(|last| self.scope.steps.get(&last.id).copied()).filter(|_| is_used);
            let value = last.and_then(|last| match self.scope.var(last) {
                Some(var) if var.optional => self.scope.perhaps(last).map(Maybe::Sometimes),
                Some(_) | None => self.scope.code(last).map(Maybe::Always),
            });
            let mut here = Vec::new();
            crate::steps::each(body, &mut |step, _| here.push(step.id.clone()));
            // Where the value of the step itself is taken too, that is before a variable is given away.
            let own_place = statements.len();
            for id in inner.iter().filter(|id| here.contains(id)) {
                self.keep_in_taken(&mut statements, id, value.is_none());
            }
            blocks.push((test, statements, own_place));
            values.push(value);
        }
        let types: Vec<Ty> = values.iter().flatten().map(|value| value.ty().clone()).collect();
        let own = types.first().map(|first| if types.iter().all(|ty| ty == first) { first.clone() } else { Ty::Value });
        for ((_, statements, place), value) in blocks.iter_mut().zip(&values) {
            let is_same = value.as_ref().is_some_and(|value| Some(value.ty()) == own.as_ref());
            let value = match value {
                Some(Maybe::Always(code)) => {
                    let value = if is_same { code.owned().value() } else { code.to_value().value() };
                    quote!(Some(#value))
                }
                Some(Maybe::Sometimes(found)) if is_same => found.by_value(),
                Some(Maybe::Sometimes(found)) => {
                    let found = found.by_ref();
                    quote!(#found.map(ToValue::to_value))
                }
                Some(Maybe::Never) | None => continue,
            };
            statements.insert(*place, quote!(taken.value = #value;));
        }
        if !one {
            let branches = blocks.iter().map(|(_, statements, _)| quote!(Box::pin(async { #(#statements)* Ok(()) })));
            let cx = self.scope.cx();
            let flow = quote!(#cx.parallel([#(#branches),*]).await);
            return match (inner.is_empty(), self.used.contains(&step.id)) {
                (true, true) => (flow, Gives::Value { ty: Ty::Nothing, optional: false }),
                (true, false) => (flow, Gives::Nothing),
                (false, is_used) => {
                    let own = is_used.then_some(Ty::Nothing);
                    let value = own.as_ref().map(|_| quote!(taken.value = Some(());));
                    let record = self.taken_record(step, &function, &inner, own.clone());
                    (quote!(let mut taken = #record::default(); #flow?; #value Ok(taken)), Gives::Taken { record, inner, value: own })
                }
            };
        }
        let mut flow = TokenStream::new();
        for (number, (test, statements, _)) in blocks.iter().enumerate() {
            let lead = if number > 0 { quote!(else) } else { quote!() };
            flow.extend(match test {
                Some(test) => quote!(#lead if #test { #(#statements)* }),
                None => quote!(#lead { #(#statements)* }),
            });
        }
        if inner.is_empty() && !is_used {
            return (quote!(#flow Ok(())), Gives::Nothing);
        }
        let record = self.taken_record(step, &function, &inner, own.clone());
        (quote!(let mut taken = #record::default(); #flow Ok(taken)), Gives::Taken { record, inner, value: own })
    }

    /// Keeps the value of a step where those behind the branch find it: at once, where nothing else of the branch uses it.
    fn keep_in_taken(&mut self, statements: &mut Vec<TokenStream>, id: &SmolStr, at_once: bool) {
        let Some(var) = self.scope.steps.get(id).copied() else { return };
        let Some(name) = self.scope.var(var).map(|var| var.name.clone()) else { return };
        let value = self.scope.taken(var);
        let is_given_away = name == value.to_string() || value.to_string() == quote!(Some(#name)).to_string();
        let mentions = |statement: &TokenStream| {
            let mut found = BTreeSet::new();
            idents(statement.clone(), &mut found, &mut BTreeSet::new());
            found.contains(&name.to_string())
        };
        let places: Vec<usize> = statements.iter().enumerate().filter(|(_, s)| mentions(s)).map(|(place, _)| place).collect();
        if let ([place], true) = (places.as_slice(), is_given_away && at_once)
            && let Some(statement) = statements.get_mut(*place)
            && let Ok(syn::Stmt::Local(syn::Local { init: Some(init), .. })) = syn::parse2(statement.clone())
        {
            let made = init.expr;
            *statement = if self.scope.var(var).is_some_and(|var| var.optional) {
                quote!(taken.#name = #made;)
            } else {
                quote!(taken.#name = Some(#made);)
            };
            return;
        }
        statements.push(quote!(taken.#name = #value;));
    }

    fn taken_record(&mut self, step: &Step, function: &str, inner: &[SmolStr], value: Option<Ty>) -> Ident {
        let name = self.scope.types.name(Home::Steps, function);
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
        let doc = format!("What is known after {}: the steps that were done.", code(&step.id));
        self.scope.types.add(Record { home: Home::Steps, name: name.clone(), doc, fields, other: None });
        name
    }

    pub(super) fn taken_type(&self, record: &Record) -> TokenStream {
        let fields = record.fields.iter().map(|field| {
            let (name, ty) = (&field.name, self.scope.types.rust(&field.ty, Home::Steps));
            let doc = super::words::doc(&[field.doc.clone().unwrap_or_default()]);
            quote!(#doc pub #name: Option<#ty>)
        });
        let name = &record.name;
        documented(std::slice::from_ref(&record.doc), &quote!(#[derive(Clone, Debug, Default)] pub struct #name { #(#fields,)* }))
    }

    /// Names for what a `catch` sees of the failure; the one for its step, which has to be a variable of its own.
    fn names_of_error(&mut self) -> Ident {
        let mut step = format_ident!("step");
        for (key, place) in
            [("code", Some(quote!(error.failure.code.as_str()))), ("message", Some(quote!(error.failure.message.as_str()))), ("step", None)]
        {
            let name = self.names.snake(&format!("error {key}"));
            step = name.clone();
            let borrowed = place.is_some();
            let var = self.scope.declare(Var { name, ty: Ty::Text, optional: !borrowed, place, borrowed });
            self.scope.names.push((SmolStr::new(format!("error.{key}")), var));
        }
        step
    }

    /// A step whose failure is dealt with.
    pub(super) fn caught(
        &mut self,
        step: &Step,
        catch: &ltc_workflow::document::Catch,
        call: TokenStream,
        gives: Gives,
        name: &Ident,
    ) -> (TokenStream, Gives) {
        let id = step.id.as_str();
        let is_used = self.used.contains(&step.id);
        let mut inner = self.visible(&[&catch.steps]);
        let step_of_error = self.names_of_error();
        let when = catch.when.as_ref().map(|when| {
            let test = self.unless_true(&quote!(cx), step, when);
            quote!(if #test { return Err(error.into()); })
        });
        let mut statements = self.body(&catch.steps);
        let mut own: Option<Ty> = None;
        let mut tried = Vec::new();
        // The value of what was tried as an option: as it is, and as any value.
        let mut own_value = None;
        match gives {
            Gives::Nothing => {}
            Gives::Value { ty, optional } => {
                if is_used {
                    own_value = Some(if optional {
                        (quote!(found), quote!(found.map(|found| found.to_value())))
                    } else {
                        (quote!(Some(found)), quote!(Some(found.to_value())))
                    });
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
                    own_value = Some((quote!(found.value), quote!(found.value.map(|found| found.to_value()))));
                    own = value;
                }
            }
        }
        for id in inner.clone() {
            if catch.steps.iter().any(|step| step.id == id) {
                self.keep_in_taken(&mut statements, &id, true);
            }
        }
        let last = catch.steps.last().and_then(|last| self.scope.steps.get(&last.id).copied()).filter(|_| is_used);
        let mut is_any = false;
        if let Some(last) = last {
            let ty = self.scope.var(last).map_or(Ty::Value, |var| var.ty.clone());
            let field = self.scope.var(last).map(|var| var.name.clone());
            let same = own.as_ref().is_none_or(|own| *own == ty);
            is_any = !same && own.as_ref() != Some(&Ty::Value);
            let convert = if same || ty == Ty::Value { quote!(.clone()) } else { quote!(.as_ref().map(ToValue::to_value)) };
            statements.push(quote!(taken.value = taken.#field #convert;));
            own = Some(if same { ty } else { Ty::Value });
        }
        if let Some((same, any)) = own_value {
            let value = if is_any { any } else { same };
            tried.push(quote!(taken.value = #value;));
        }
        let pattern = if tried.is_empty() { quote!(_) } else { quote!(found) };
        let needs = !inner.is_empty() || own.is_some();
        let record = needs.then(|| self.taken_record(step, &name.to_string(), &inner, own.clone()));
        let start = record.as_ref().map(|record| quote!(let mut taken = #record::default();));
        let end = if needs { quote!(Ok(taken)) } else { quote!(Ok(())) };
        let mut dealing = BTreeSet::new();
        idents(quote!(#when #(#statements)*), &mut dealing, &mut BTreeSet::new());
        let step = dealing.contains(&step_of_error.to_string()).then(|| quote!(let #step_of_error = error.step().map(str::to_owned);));
        let (failed, error) = if step.is_some() || dealing.contains("error") {
            (quote!(stop), quote!(let error = stop.caught(cx, #id); #step))
        } else {
            (quote!(_), quote!())
        };
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
}
