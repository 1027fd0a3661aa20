//! Steps that are one effect: a function each.

use super::code::{Code, Maybe, Shape};
use super::flow::Writer;
use super::literals::literal;
use super::types::{Field, Home, Record, RecordId, Ty};
use super::words::{code, words};
use crate::trace::Tool;
use ltc_workflow::Value;
use ltc_workflow::document::{Duration, Retry, Step, StepKind};
use ltc_workflow::expr::Expr;
use ltc_workflow::template::Template;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use smol_str::SmolStr;
use std::collections::BTreeMap;

use super::fill::{may_omit, set};
use super::names::Names;

/// A tool, as the crate knows it.
#[derive(Clone, Debug)]
pub struct KnownTool {
    /// The struct of its arguments.
    pub arguments: RecordId,
    /// The type of its result.
    pub answer: Ty,
    /// The server.
    pub server: SmolStr,
    /// The tool.
    pub tool: SmolStr,
}

impl Writer<'_, '_> {
    /// The tools that the workflow calls, with types for their arguments and results.
    pub fn know_tools(&mut self) {
        let mut uses: BTreeMap<(SmolStr, SmolStr), Vec<(SmolStr, Template)>> = BTreeMap::new();
        crate::steps::each(&self.source.workflow.steps, &mut |step, _| {
            if let StepKind::Call { server, tool, with } = &step.kind {
                uses.entry((server.clone(), tool.clone())).or_default().extend(with.iter().cloned());
            }
        });
        let several = |tool: &SmolStr| uses.keys().filter(|(_, other)| other == tool).count() > 1;
        let named: Vec<(SmolStr, SmolStr, bool)> =
            uses.keys().map(|(server, tool)| (server.clone(), tool.clone(), several(tool))).collect();
        for (server, tool, several) in named {
            let with = uses.remove(&(server.clone(), tool.clone())).unwrap_or_default();
            let known = self.know_tool(&server, &tool, several, &with);
            self.tools.push(known);
        }
    }

    fn know_tool(&mut self, server: &SmolStr, tool: &SmolStr, several: bool, with: &[(SmolStr, Template)]) -> KnownTool {
        let entry: Option<&Tool> = self
            .source
            .servers
            .iter()
            .filter(|s| crate::identifiers::server_name(&s.name) == *server)
            .find_map(|s| s.tools.iter().find(|t| t.name == *tool));
        let name = if several { format!("{server} {tool}") } else { tool.to_string() };
        let rust_name = self.scope.types.name(Home::Tools, &name);
        let mut names = Names::default();
        let schema = entry.and_then(|tool| tool.input_schema.clone()).unwrap_or_default();
        let mut fields = self.scope.types.fields_of(&schema, &name, Home::Tools, &mut names);
        // What the workflow gives and the schema does not know; what it leaves out although the schema wants it; what was recorded otherwise.
        for (key, _) in with {
            if !fields.iter().any(|field| field.key == *key) {
                fields.push(Field { key: key.clone(), name: names.field(key), ty: Ty::Value, optional: false, doc: None });
            }
        }
        let calls: Vec<_> = self.source.calls.iter().filter(|call| call.server == *server && call.tool == *tool).collect();
        let uses = |key: &SmolStr| with.iter().filter(|(k, _)| k == key).map(|(_, t)| t).collect::<Vec<_>>();
        let steps = self.steps_that_call(server, tool);
        for field in &mut fields {
            let given = uses(&field.key);
            field.optional |= given.len() < steps || given.iter().any(|template| may_omit(template));
            let fits = |value: &Value| self.scope.types.fits(&field.ty, value);
            let recorded = calls.iter().filter_map(|call| call.arguments.get(&field.key)).all(fits);
            let literal = given.iter().all(|template| !matches!(template, Template::Literal(value) if !fits(value)));
            if !recorded || !literal {
                field.ty = Ty::Value;
            }
        }
        // A description that says no more than the name says nothing.
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
        let said = entry.and_then(|tool| tool.description.as_deref());
        let said = said.map(words).filter(|said| !said.is_empty() && letters(said) != letters(tool));
        let doc = match said {
            Some(said) => format!("What {} is asked: {said}", code(tool)),
            None => format!("What {} is asked.", code(tool)),
        };
        let arguments = self.scope.types.add(Record { home: Home::Tools, name: rust_name, doc, fields, other: None });
        let answer = match entry.and_then(|tool| tool.output_schema.clone()) {
            Some(schema) => self.scope.types.of_schema(&schema, &format!("{name} result"), Home::Tools),
            None => Ty::Value,
        };
        self.scope.types.describe(&answer, &format!("What {} answers", code(tool)));
        // A schema is believed as far as the recording bears it out.
        let answer = if calls.iter().all(|call| self.scope.types.fits(&answer, &call.result)) { answer } else { Ty::Value };
        KnownTool { arguments, answer, server: server.clone(), tool: tool.clone() }
    }

    fn steps_that_call(&self, server: &SmolStr, tool: &SmolStr) -> usize {
        let mut count = 0;
        crate::steps::each(&self.source.workflow.steps, &mut |step, _| {
            count += usize::from(matches!(&step.kind, StepKind::Call { server: s, tool: t, .. } if s == server && t == tool));
        });
        count
    }

    /// The function of a step that is one effect: its body and the type of its value.
    pub fn effect(&mut self, step: &Step) -> (TokenStream, Ty) {
        match &step.kind {
            StepKind::Call { server, tool, with } => self.call(step, server, tool, with),
            StepKind::Escalate { role, message, form, data, priority, triage } => {
                let builder = self.builder(step);
                let message = match self.scope.template(message) {
                    Maybe::Always(code) if code.ty == Ty::Text => code.owned(),
                    Maybe::Always(code) => {
                        let value = code.by_any();
                        Code::new(quote!(lang::text(#value)?.to_string()), Ty::Text, Shape::Owned)
                    }
                    Maybe::Sometimes(_) | Maybe::Never => Code::new(quote!(lang::text(Value::Null)?.to_string()), Ty::Text, Shape::Owned),
                };
                let message = message.value();
                let role = role.as_str();
                let mut fields = vec![quote!(role: #role), quote!(message: #message)];
                if let Some(form) = form {
                    let form = literal(form).to_value().value();
                    fields.push(quote!(form: Some(#form)));
                }
                if let Some(data) = data {
                    fields.push(match self.scope.fill(data, &Ty::Value, "data") {
                        Maybe::Always(code) => {
                            let value = code.value();
                            quote!(data: Some(#value))
                        }
                        Maybe::Sometimes(found) => {
                            let value = found.by_value();
                            quote!(data: #value)
                        }
                        Maybe::Never => quote!(data: None),
                    });
                }
                if let Some(priority) = priority {
                    let priority = Literal::u8_unsuffixed(*priority);
                    fields.push(quote!(priority: Some(#priority)));
                }
                if *triage {
                    fields.push(quote!(triage: true));
                }
                let rest = if fields.len() < FIELDS_OF_A_QUESTION { quote!(..Question::default()) } else { quote!() };
                (quote!(#builder.ask(|| Ok(Question { #(#fields,)* #rest })).await), Ty::Value)
            }
            StepKind::Run { workflow, with } => {
                let builder = self.builder(step);
                let input = match self.scope.template(&Template::Object(with.clone())) {
                    Maybe::Always(code) => code.result(),
                    Maybe::Sometimes(_) | Maybe::Never => quote!(Ok(Value::Null)),
                };
                let workflow = workflow.as_str();
                (quote!(#builder.run(#workflow, || #input).await), Ty::Value)
            }
            StepKind::Wait { duration } => {
                let (id, duration) = (step.id.as_str(), length(*duration));
                let cx = quote!(cx);
                (quote!(#cx.wait(#id, #duration).await), Ty::Nothing)
            }
            StepKind::Set { values } => {
                let value = match self.scope.template(&Template::Object(values.clone())) {
                    Maybe::Always(code) => code,
                    Maybe::Sometimes(_) | Maybe::Never => super::literals::null(),
                };
                let value = value.result();
                let (id, cx) = (step.id.as_str(), quote!(cx));
                (quote!(#cx.eval(#id, || #value)), Ty::Value)
            }
            StepKind::For { .. } | StepKind::Repeat { .. } | StepKind::Switch { .. } | StepKind::Parallel { .. } => {
                (quote!(Ok(())), Ty::Nothing)
            }
        }
    }

    fn call(&mut self, step: &Step, server: &SmolStr, tool: &SmolStr, with: &[(SmolStr, Template)]) -> (TokenStream, Ty) {
        let Some(known) = self.tools.iter().find(|known| known.server == *server && known.tool == *tool).cloned() else {
            return (quote!(Ok(Value::Null)), Ty::Value);
        };
        let arguments = self.arguments(known.arguments, with);
        let failed = step.fail_when.as_ref().map(|test| self.failed(test, &known.answer));
        let id = step.id.as_str();
        let call = match (failed, step.timeout.is_some() || step.retry.is_some()) {
            (None, false) => {
                let cx = quote!(cx);
                quote!(#cx.call(#id, || Ok(#arguments)))
            }
            (None, true) => {
                let builder = self.builder(step);
                quote!(#builder.call(|| Ok(#arguments)))
            }
            (Some(failed), _) => {
                let builder = self.builder(step);
                quote!(#builder.call_unless(|| Ok(#arguments), #failed))
            }
        };
        (quote!(#call.await), known.answer)
    }

    fn arguments(&mut self, id: RecordId, with: &[(SmolStr, Template)]) -> TokenStream {
        let Some(record) = self.scope.types.record(id).cloned() else { return quote!() };
        let mut values = Vec::new();
        for field in &record.fields {
            if let Some((_, template)) = with.iter().find(|(key, _)| *key == field.key) {
                let filled = self.scope.fill(template, &field.ty, &field.key);
                values.push(set(field, &filled));
            }
        }
        let path = self.scope.types.path(id, Home::Steps);
        let rest = if values.len() == record.fields.len() { quote!() } else { quote!(..#path::default()) };
        quote!(#path { #(#values,)* #rest })
    }

    /// The closure that says whether a result is a failure.
    fn failed(&mut self, test: &Expr, answer: &Ty) -> TokenStream {
        let var = super::scope::Var {
            name: Ident::new("result", proc_macro2::Span::call_site()),
            ty: answer.clone(),
            optional: false,
            place: None,
            borrowed: true,
        };
        let result = self.scope.declare(var);
        self.scope.names.push((SmolStr::new_static("result"), result));
        let test = self.scope.test(test).result();
        self.scope.names.pop();
        quote!(|result| #test)
    }

    /// `cx.step("id")` with its timeout and attempts.
    pub(super) fn builder(&self, step: &Step) -> TokenStream {
        let (id, cx) = (step.id.as_str(), quote!(cx));
        let timeout = step.timeout.map(|timeout| {
            let timeout = length(timeout);
            quote!(.timeout(#timeout))
        });
        let retry = step.retry.as_ref().map(|Retry { attempts, backoff, factor }| {
            let (attempts, backoff) = (Literal::u32_unsuffixed(*attempts), length(*backoff));
            let factor = literal(&Value::Number(factor.clone())).value();
            quote!(.retry(#attempts, #backoff, #factor))
        });
        quote!(#cx.step(#id) #timeout #retry)
    }
}

/// How many fields `Question` has.
const FIELDS_OF_A_QUESTION: usize = 6;

/// A length of time.
pub fn length(duration: Duration) -> TokenStream {
    let millis = duration.millis;
    if millis == 0 {
        quote!(Duration::ZERO)
    } else if millis.is_multiple_of(1000) {
        let seconds = Literal::u64_unsuffixed(millis / 1000);
        quote!(Duration::from_secs(#seconds))
    } else {
        let millis = Literal::u64_unsuffixed(millis);
        quote!(Duration::from_millis(#millis))
    }
}
