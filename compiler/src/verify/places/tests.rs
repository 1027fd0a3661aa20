//! Lists of workflows, and where they stand.

use super::super::tests::workflow;
use super::*;

fn of(steps: &str) -> String {
    let workflow = workflow(&format!("inputs: {{ ids: {{ default: [] }} }}\nsteps:\n{steps}"));
    let lists = lists(&workflow);
    let base = |base: &Base| match base {
        Base::Place(place) => format!("{place}{}", if place.joined.is_some() { " joined" } else { "" }),
        Base::Rounds(id) => format!("rounds of {id}"),
        Base::None(_) => "nowhere".to_owned(),
    };
    lists.loops.iter().map(|(id, b)| format!("{id}: {}", base(b))).collect::<Vec<_>>().join(", ")
}

fn each(list: &str) -> String {
    of(&format!(
        "  - {{ id: a, call: s/a }}
  - id: pages
    repeat: {{ until: \"${{{{ steps.page.next == null }}}}\", at_most: 9, gather: \"${{{{ steps.page.items }}}}\" }}
    steps: [ {{ id: page, call: s/page }} ]
  - id: l
    for: {{ each: x, in: \"${{{{ {list} }}}}\" }}
    steps: [ {{ id: c, call: s/c, with: {{ x: \"${{{{ x }}}}\" }} }} ]
"
    ))
}

#[test]
fn a_list_is_followed_to_where_it_stands() {
    assert_eq!(each("steps.a.items"), "l: steps.a.items");
    assert_eq!(each("filter(steps.a.items, i, i.open)"), "l: steps.a.items");
    assert_eq!(each("map(inputs.ids, i, {id: i})"), "l: inputs.ids");
    assert_eq!(each("flatten(steps.pages)"), "l: steps.page.items joined");
    assert_eq!(each("flatten(map(steps.a.groups, g, g.items))"), "l: steps.a.groups[].items joined");
    assert_eq!(each("steps.pages"), "l: rounds of pages");
    assert_eq!(each("steps.a.items[name == 'x'].parts"), "l: steps.a.items[].parts");
    assert_eq!(each("parse_json(steps.a.text).items"), "l: steps.a.text.items");
    assert_eq!(each("split(steps.a.text, ',')"), "l: nowhere");
}

#[test]
fn inner_lists_stand_in_what_the_outer_loop_goes_through() {
    let nested = "  - { id: a, call: s/a }
  - id: outer
    for: { each: g, in: \"${{ steps.a.groups }}\" }
    steps:
      - { id: get, call: s/get, with: { g: \"${{ g.id }}\" } }
      - id: inner
        for: { each: x, in: \"${{ g.parts }}\" }
        steps: [ { id: c, call: s/c, with: { x: \"${{ x }}\" } } ]
      - id: second
        for: { each: y, in: \"${{ steps.get.items }}\" }
        steps: [ { id: d, call: s/d, with: { x: \"${{ y }}\" } } ]
";
    assert_eq!(of(nested), "inner: steps.a.groups[].parts, outer: steps.a.groups, second: steps.get.items");
}
