//! Loops as functions: a `for` over a list, a `loop` with rounds.

use super::code::{Code, Maybe, Shape};
use super::flow::{Gives, Writer};
use super::modules::{idents, unless};
use super::scope::{Around, Var, VarId};
use super::types::{Home, Ty};
use ltc_workflow::document::{Step, StepKind};
use ltc_workflow::expr::names::Reference;
use ltc_workflow::expr::{BinaryOp, Expr};
use ltc_workflow::template::Template;
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// What is gathered of a round: a value, or an option of one.
enum Gathered {
    Always(Code),
    Sometimes(Code),
}

impl Gathered {
    /// The statement that keeps it.
    fn push(&self) -> TokenStream {
        match self {
            Gathered::Always(code) => {
                let value = code.value();
                quote!(gathered.push(#value);)
            }
            Gathered::Sometimes(code) => {
                let value = code.value();
                quote!(gathered.extend(#value);)
            }
        }
    }

    /// The expression that gives it as what may be there, as a `Result`.
    fn option(&self) -> TokenStream {
        match self {
            Gathered::Always(code) => {
                let value = code.value();
                quote!(Ok(Some(#value)))
            }
            Gathered::Sometimes(code) => code.result(),
        }
    }

    /// What a step gives that gathers such values.
    fn list(&self) -> Gives {
        let (Gathered::Always(code) | Gathered::Sometimes(code)) = self;
        Gives::Value { ty: Ty::List(Box::new(code.ty.clone())), optional: false }
    }
}

/// The context that a loop takes its rounds from: a further attempt has rounds of its own.
fn looping(step: &Step) -> TokenStream {
    if step.retry.is_some() { quote!(attempt) } else { quote!(cx) }
}

impl Writer<'_, '_> {
    #[allow(clippy::too_many_arguments, reason = "they are what a `for` consists of")]
    pub(super) fn for_each(
        &mut self,
        step: &Step,
        each: &SmolStr,
        list: &Expr,
        test: Option<&Expr>,
        at_once: u32,
        gather: Option<&Template>,
        steps: &[Step],
    ) -> (TokenStream, Gives) {
        let id = step.id.as_str();
        let (outer, looping) = (quote!(cx), looping(step));
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
        let names = &mut self.names;
        let name = self.items.entry(each.clone()).or_insert_with(|| names.snake(each)).clone();
        let item = Var { name: name.clone(), ty: item_ty, optional: false, place: None, borrowed: true };
        let item = self.scope.declare(item);
        self.scope.names.push((each.clone(), item));
        self.scope.go_on(Around::Round);
        let skip = match (at_once > 1, gather) {
            (false, _) => quote!(continue;),
            (true, Some(_)) => quote!(return Ok(None);),
            (true, None) => quote!(return Ok(());),
        };
        let test = test.map(|test| {
            let test = self.unless_true(&outer, step, test);
            quote!(if #test { #skip })
        });
        let body = self.body(steps);
        let gathered = gather.map(|gather| self.gathered(step, gather));
        self.scope.names.pop();
        let value = gathered.as_ref().map(Gathered::option);
        let mut inside = BTreeSet::new();
        idents(quote!(#test #(#body)* #value), &mut inside, &mut BTreeSet::new());
        let pattern = if inside.contains(&name.to_string()) { quote!(#name) } else { quote!(_) };
        let round = unless(inside.contains("round"), "round");
        let nothing = || if self.used.contains(&step.id) { Gives::Value { ty: Ty::Nothing, optional: false } } else { Gives::Nothing };
        if at_once > 1 {
            let limit = Literal::u32_unsuffixed(at_once);
            let (method, end) = match &value {
                Some(value) => (quote!(gather_at_once), value.clone()),
                None => (quote!(each_at_once), quote!(Ok(()))),
            };
            let round = quote!(|#round, #pattern| async move { #test #(#body)* #end });
            let body = quote!(#before #looping.#method(#id, #limit, #items, #round).await);
            return (body, gathered.map_or_else(nothing, |gathered| gathered.list()));
        }
        let push = gathered.as_ref().map(Gathered::push);
        let rounds = quote!(for (#round, #pattern) in #looping.each(#id, #items) { #test #(#body)* #push });
        match gathered {
            Some(gathered) => (quote!(#before let mut gathered = Vec::new(); #rounds Ok(gathered)), gathered.list()),
            None => (quote!(#before #rounds Ok(())), nothing()),
        }
    }

    /// Whether a test of `step` is false.
    pub(super) fn unless_true(&mut self, cx: &TokenStream, step: &Step, test: &Expr) -> TokenStream {
        let flipped = |op: BinaryOp| if op == BinaryOp::Equal { BinaryOp::NotEqual } else { BinaryOp::Equal };
        let opposite = if let Expr::Binary(op @ (BinaryOp::Equal | BinaryOp::NotEqual), left, right) = test {
            Some(Expr::Binary(flipped(*op), left.clone(), right.clone()))
        } else {
            None
        };
        let is_flipped = opposite.is_some();
        let test = self.scope.test(opposite.as_ref().unwrap_or(test));
        let test = self.evaluated(cx, &step.id, test);
        let (value, receiver) = (test.value(), test.receiver());
        if is_flipped { value } else { quote!(!#receiver) }
    }

    /// What is gathered of a round.
    fn gathered(&mut self, step: &Step, gather: &Template) -> Gathered {
        let cx = quote!(cx);
        match self.scope.template(gather) {
            Maybe::Always(code) => Gathered::Always(self.evaluated(&cx, &step.id, code.owned())),
            Maybe::Sometimes(found) => {
                let code = Code::new(found.by_value(), found.ty.clone(), Shape::Owned);
                Gathered::Sometimes(self.evaluated(&cx, &step.id, code))
            }
            Maybe::Never => Gathered::Sometimes(Code::new(quote!(None::<Value>), Ty::Value, Shape::Owned)),
        }
    }

    pub(super) fn repeat(
        &mut self,
        step: &Step,
        until: &Expr,
        rounds: &TokenStream,
        gather: Option<&Template>,
        steps: &[Step],
    ) -> (TokenStream, Gives) {
        let (id, looping) = (step.id.as_str(), looping(step));
        let before = self.previous(steps);
        self.scope.go_on(Around::Round);
        let body = self.body(steps);
        let gathered = gather.map(|gather| self.gathered(step, gather));
        let until = self.scope.test(until);
        let until = self.evaluated(&quote!(cx), &step.id, until).value();
        let last = steps.last().filter(|_| self.used.contains(&step.id)).and_then(|last| self.scope.steps.get(&last.id).copied());
        let (result, gives) = match (&gathered, last.and_then(|last| self.scope.var(last).cloned()), last) {
            (Some(gathered), ..) => (quote!(gathered), gathered.list()),
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
        let push = gathered.as_ref().map(Gathered::push);
        let body = quote! {
            #start
            #(#declared)*
            let mut rounds = #looping.rounds(#id) #rounds;
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
    pub(super) fn previous(&mut self, steps: &[Step]) -> Vec<(SmolStr, VarId)> {
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
    pub(super) fn keep(&mut self, id: &SmolStr, previous: VarId) -> TokenStream {
        let (Some(var), Some(previous)) = (self.scope.steps.get(id).copied(), self.scope.var(previous).cloned()) else { return quote!() };
        let name = &previous.name;
        let same = self.scope.var(var).is_some_and(|var| var.ty == previous.ty);
        let value = self.scope.taken(var);
        if same { quote!(#name = #value;) } else { quote!(#name = #value.map(|found| found.to_value());) }
    }
}
