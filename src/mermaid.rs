//! A workflow as a Mermaid flowchart: steps in their order, loops and branches as boxes around their steps.
//!
//! Every text of the workflow is escaped character by character, so that a step's words can be neither syntax nor markup.

use ltc_workflow::Workflow;
use ltc_workflow::document::{Step, StepKind};
use ltc_workflow::expr::print::print_short;
use std::fmt::Write as _;

/// The picture of `workflow`.
pub fn draw(workflow: &Workflow) -> String {
    let mut picture = Picture::default();
    picture.line("flowchart TD");
    picture.depth = 1;
    let inputs: Vec<&str> = workflow.inputs.keys().map(|name| name.as_str()).collect();
    let title = if inputs.is_empty() { workflow.name.to_string() } else { format!("{}\n{}", workflow.name, inputs.join(", ")) };
    let start = picture.node("([", &title, "])");
    let ends = picture.steps(&workflow.steps, vec![Edge::plain(start)]);
    let end = picture.node("([", if workflow.output.is_some() { "output" } else { "end" }, "])");
    picture.connect(&ends, end);
    picture.out
}

/// Where an arrow comes from, and what is written on it.
#[derive(Clone)]
struct Edge {
    from: usize,
    label: String,
}

impl Edge {
    fn plain(from: usize) -> Edge {
        Edge { from, label: String::new() }
    }

    fn labelled(from: usize, label: impl Into<String>) -> Edge {
        Edge { from, label: label.into() }
    }
}

#[derive(Default)]
struct Picture {
    out: String,
    depth: usize,
    nodes: usize,
    boxes: usize,
}

impl Picture {
    fn line(&mut self, text: &str) {
        // Writing to a text cannot fail.
        let _ = writeln!(self.out, "{}{text}", "    ".repeat(self.depth));
    }

    fn node(&mut self, open: &str, label: &str, close: &str) -> usize {
        let id = self.nodes;
        self.nodes += 1;
        self.line(&format!("n{id}{open}\"{}\"{close}", escaped(label)));
        id
    }

    fn connect(&mut self, edges: &[Edge], to: usize) {
        for edge in edges {
            let label = if edge.label.is_empty() { String::new() } else { format!("|\"{}\"|", escaped(&edge.label)) };
            self.line(&format!("n{} -->{label} n{to}", edge.from));
        }
    }

    fn begin_box(&mut self, label: &str) {
        let id = self.boxes;
        self.boxes += 1;
        self.line(&format!("subgraph b{id}[\"{}\"]", escaped(label)));
        self.depth += 1;
    }

    fn end_box(&mut self) {
        self.depth -= 1;
        self.line("end");
    }

    /// Draws `steps` behind `before`; the value is what leads on.
    fn steps(&mut self, steps: &[Step], before: Vec<Edge>) -> Vec<Edge> {
        steps.iter().fold(before, |before, step| self.step(step, before))
    }

    fn step(&mut self, step: &Step, before: Vec<Edge>) -> Vec<Edge> {
        let mut around = Vec::new();
        let before = match &step.when {
            None => before,
            Some(test) => {
                let choice = self.node("{{", &format!("when {}", print_short(test)), "}}");
                self.connect(&before, choice);
                around.push(Edge::labelled(choice, "no"));
                vec![Edge::labelled(choice, "yes")]
            }
        };
        let mut after = self.kind(step, before);
        if let Some(catch) = &step.catch {
            let failed = after.iter().map(|edge| Edge::labelled(edge.from, "fails")).collect();
            let caught = self.steps(&catch.steps, failed);
            after.extend(caught);
        }
        after.extend(around);
        after
    }

    fn kind(&mut self, step: &Step, before: Vec<Edge>) -> Vec<Edge> {
        let label = label(step);
        match &step.kind {
            StepKind::Call { .. } | StepKind::Wait { .. } | StepKind::Set { .. } => self.one("[", &label, "]", &before),
            StepKind::Escalate { .. } => self.one("[/", &label, "/]", &before),
            StepKind::Run { .. } => self.one("[[", &label, "]]", &before),
            StepKind::For { steps, .. } | StepKind::Repeat { steps, .. } => {
                self.begin_box(&label);
                let after = self.steps(steps, before);
                self.end_box();
                after
            }
            StepKind::Parallel { branches } => {
                let mut after = Vec::new();
                for branch in branches {
                    self.begin_box(&label);
                    after.extend(self.steps(branch, before.clone()));
                    self.end_box();
                }
                after
            }
            StepKind::Switch { cases } => {
                let choice = self.node("{", &label, "}");
                self.connect(&before, choice);
                let mut after = Vec::new();
                for case in cases {
                    let test = case.when.as_ref().map_or_else(|| "else".to_owned(), print_short);
                    after.extend(self.steps(&case.steps, vec![Edge::labelled(choice, test)]));
                }
                if cases.iter().all(|case| case.when.is_some()) {
                    after.push(Edge::labelled(choice, "none"));
                }
                after
            }
        }
    }

    fn one(&mut self, open: &str, label: &str, close: &str, before: &[Edge]) -> Vec<Edge> {
        let node = self.node(open, label, close);
        self.connect(before, node);
        vec![Edge::plain(node)]
    }
}

fn label(step: &Step) -> String {
    let id = &step.id;
    match &step.kind {
        StepKind::Call { server, tool, .. } => {
            let fails = step.fail_when.as_ref().map(|test| format!("\nfails when {}", print_short(test))).unwrap_or_default();
            format!("{id}\n{server}/{tool}{fails}")
        }
        StepKind::For { each, list, test: Some(test), .. } => {
            format!("{id}: for each {each} in {} where {}", print_short(list), print_short(test))
        }
        StepKind::For { each, list, test: None, .. } => format!("{id}: for each {each} in {}", print_short(list)),
        StepKind::Repeat { until, .. } => format!("{id}: repeat until {}", print_short(until)),
        StepKind::Switch { .. } | StepKind::Parallel { .. } => id.to_string(),
        StepKind::Escalate { role, .. } => format!("{id}\nasks {role}"),
        StepKind::Wait { duration } => format!("{id}\nwaits {duration}"),
        StepKind::Set { values } => {
            let names: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
            format!("{id}\nsets {}", names.join(", "))
        }
        StepKind::Run { workflow, .. } => format!("{id}\nruns {workflow}"),
    }
}

/// `text` as the inside of a quoted label: letters, digits and what is harmless stay, a line break is one, everything else is its code.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in ltc_workflow::hidden::revealed_but(text, |c| c == '\n').chars() {
        match c {
            '\n' => out.push_str("<br>"),
            c if c.is_alphanumeric() || " _-.,:/=+()".contains(c) => out.push(c),
            c => {
                let _ = write!(out, "#{};", u32::from(c));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::yaml;

    fn drawn(text: &str) -> String {
        draw(&yaml::read(text).expect("a workflow in a test"))
    }

    #[test]
    fn steps_loops_and_branches_are_drawn_in_order() {
        let text = r#"
workflow: w
inputs:
  a: { type: string }
steps:
  - id: list
    call: s/list
  - id: each
    for: { each: item, in: "${{ steps.list.items }}" }
    steps:
      - id: label
        when: "${{ item.stale }}"
        call: s/label
output: "${{ steps.list }}"
"#;
        let expected = r#"flowchart TD
    n0(["w<br>a"])
    n1["list<br>s/list"]
    n0 --> n1
    subgraph b0["each: for each item in steps.list.items"]
        n2{{"when item.stale"}}
        n1 --> n2
        n3["label<br>s/label"]
        n2 -->|"yes"| n3
    end
    n4(["output"])
    n3 --> n4
    n2 -->|"no"| n4
"#;
        assert_eq!(drawn(text), expected);
    }

    #[test]
    fn words_are_never_syntax() {
        assert_eq!(escaped("a\u{202e}\u{1b}b"), "a#92;u#123;202e#125;#92;u#123;1b#125;b");
        assert_eq!(
            escaped("a\"]; click n0 <b>`x`</b> #1\n%%{"),
            "a#34;#93;#59; click n0 #60;b#62;#96;x#96;#60;/b#62; #35;1<br>#37;#37;#123;"
        );
    }
}
