//! The files of Rust: what stands in each, and which names it takes from elsewhere.

use super::code::{Code, Maybe, Shape};
use super::declare::Ways;
use super::flow::{Writer, Written};
use super::layout::{Module, documented};
use super::names::Names;
use super::project::RUNTIME;
use super::scope::Around;
use super::types::{Field, Home, Record, Ty};
use super::words::{code, words};
use ltc_workflow::template::Template;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

impl Writer<'_, '_> {
    pub(super) fn lib(mut self) -> Written {
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

    pub(super) fn title(&self) -> String {
        let said = self.source.workflow.description.as_deref().map(words).filter(|said| !said.is_empty());
        said.unwrap_or_else(|| format!("The workflow {}.", code(&self.source.workflow.name)))
    }

    pub(super) fn tools_module(&self) -> Module {
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
    pub(super) fn output(&mut self, output: Option<&Template>) -> (Vec<TokenStream>, TokenStream) {
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
            Maybe::Never => super::literals::null(),
        };
        let ty = self.scope.types.rust(&code.ty, Home::Lib);
        let value = moved(vec![code.value()]);
        (alias(ty), quote!(Ok(#(#value)*)))
    }

    pub(super) fn output_struct(&mut self, entries: &[(SmolStr, Template)]) -> (Vec<TokenStream>, TokenStream) {
        let mut names = Names::default();
        let (mut fields, mut values) = (Vec::new(), Vec::new());
        for (key, template) in entries {
            let name = names.field(key);
            let (ty, optional, value) = match self.scope.template(template) {
                Maybe::Always(code) => {
                    let code = code.owned();
                    (code.ty.clone(), false, code.value())
                }
                Maybe::Sometimes(found) => (found.ty.clone(), true, found.by_value()),
                Maybe::Never => (Ty::Value, true, quote!(None)),
            };
            values.push(value);
            fields.push(Field { key: key.clone(), name, ty, optional, doc: None });
        }
        let doc = "What a run gives.".to_owned();
        let named: Vec<TokenStream> =
            fields.iter().map(|field| &field.name).zip(moved(values)).map(|(name, value)| field_of(name, &value)).collect();
        self.scope.types.add(Record { home: Home::Lib, name: Ident::new("Output", Span::call_site()), doc, fields, other: None });
        (Vec::new(), quote!(Ok(Output { #(#named,)* })))
    }
}

/// The last values of a function: what is only named once more is given away and not copied.
fn moved(values: Vec<TokenStream>) -> Vec<TokenStream> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    values.iter().for_each(|value| count(value.clone(), &mut counts));
    let given_away = |value: TokenStream| {
        let tokens: Vec<TokenTree> = value.clone().into_iter().collect();
        match tokens.as_slice() {
            [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Ident(clone), TokenTree::Group(nothing)]
                if clone == "clone" && nothing.stream().is_empty() && counts.get(&name.to_string()) == Some(&1) =>
            {
                quote!(#name)
            }
            _ => value,
        }
    };
    values.into_iter().map(given_away).collect()
}

/// A field of a struct that is made: by its name alone where that is the name of the value too.
pub fn field_of(name: &Ident, value: &TokenStream) -> TokenStream {
    if *name == value.to_string() { quote!(#name) } else { quote!(#name: #value) }
}

/// How often each identifier is there.
fn count(tokens: TokenStream, found: &mut BTreeMap<String, usize>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => *found.entry(ident.to_string()).or_default() += 1,
            TokenTree::Group(group) => count(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

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
        let runtime = Ident::new(&RUNTIME.replace('-', "_"), Span::call_site());
        lines.push(quote!(use #runtime::native::{#(#from_runtime),*};));
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
pub fn unless(is_used: bool, name: &str) -> Ident {
    if is_used { format_ident!("{name}") } else { format_ident!("_{name}") }
}

/// The identifiers in `tokens`, and those of them that are called as methods.
pub fn idents(tokens: TokenStream, found: &mut BTreeSet<String>, called: &mut BTreeSet<String>) {
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
