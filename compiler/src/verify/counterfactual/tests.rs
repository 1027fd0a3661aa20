//! Workflows in worlds that were not recorded: what follows passes, what was frozen is told.

use super::super::tests::{told, trace, workflow};
use super::super::{Tally, verify};
use super::*;

fn verified(steps: &str, input: &str, calls: &str) -> Verdict {
    let verdict = verify(&workflow(steps), &[trace(input, calls)], false);
    assert_eq!(verdict.recorded, Tally { passed: 1, tried: 1 }, "{:?}", told(&verdict));
    verdict
}

fn not_tried(verdict: &Verdict) -> Vec<String> {
    verdict.not_tried.iter().map(|n| format!("{}: {}", n.world, n.why)).collect()
}

#[test]
fn an_id_that_is_taken_from_its_source_passes_and_one_that_was_frozen_is_told() {
    let calls = r#"
        a/list {} -> {"things": [{"id": "thing_ab3def7", "n": 9007199254740993}]}
        a/open {"url": "https://x.example/t/AB3DEF7?n=9007199254740993"} -> {"ok": true}
    "#;
    let taken = verified(
        "steps:
  - { id: list, call: a/list }
  - id: open
    call: a/open
    with: { url: \"https://x.example/t/${{ upper(between(steps.list.things[0].id, '_', '')) }}?n=${{ steps.list.things[0].n }}\" }
",
        "{}",
        calls,
    );
    assert_eq!((told(&taken), taken.counterfactual), (vec![], Tally { passed: 1, tried: 1 }));
    let frozen = verified(
        "steps:
  - { id: list, call: a/list }
  - { id: open, call: a/open, with: { url: \"https://x.example/t/AB3DEF7?n=${{ steps.list.things[0].n }}\" } }
",
        "{}",
        calls,
    );
    assert_eq!(
        told(&frozen),
        [
            "question leaks-recorded-value step open: \"https://x.example/t/AB3DEF7?n=\" stands in the workflow, but comes from the result of call call_1 (a/list) in the recording: another run has another value"
        ]
    );
    assert_eq!(frozen.counterfactual, Tally { passed: 0, tried: 1 });
}

#[test]
fn a_value_of_the_input_must_not_stand_in_the_workflow() {
    let steps = |name: &str| {
        format!("inputs: {{ account: {{ type: string }} }}\nsteps:\n  - {{ id: get, call: a/get, with: {{ account: \"{name}\" }} }}\n")
    };
    let calls = "a/get {\"account\": \"acct-118812\"} -> {}";
    let input = r#"{"account": "acct-118812"}"#;
    assert!(told(&verified(&steps("${{ inputs.account }}"), input, calls)).is_empty());
    let [leak] = told(&verified(&steps("acct-118812"), input, calls)).try_into().unwrap();
    assert!(
        leak.starts_with("question leaks-recorded-value step get: \"acct-118812\" stands in the workflow, but comes from the input"),
        "{leak}"
    );
}

#[test]
fn what_a_call_was_given_first_is_no_leak_where_results_repeat_it() {
    let calls = r#"
        a/use {"model": "gpt4o20240513"} -> {"model": "gpt4o20240513"}
        a/use {"model": "gpt4o20240513"} -> {"model": "gpt4o20240513"}
    "#;
    let steps = "steps:
  - { id: one, call: a/use, with: { model: gpt4o20240513 } }
  - { id: two, call: a/use, with: { model: gpt4o20240513 } }
";
    assert!(told(&verified(steps, "{}", calls)).is_empty());
}

#[test]
fn what_depends_on_how_an_id_is_spelled_is_told() {
    let calls = r#"
        a/get {} -> {"id": "ab3def7"}
        a/open {"id": "ab3def7"} -> {}
    "#;
    let steps = "steps:
  - { id: get, call: a/get }
  - { id: open, call: a/open, when: \"${{ starts_with(steps.get.id, 'ab') }}\", with: { id: \"${{ steps.get.id }}\" } }
";
    let [told] = told(&verified(steps, "{}", calls)).try_into().unwrap();
    assert!(
        told.starts_with("question differs-with-other-values call call_2 (a/open): in a world in which every id is another one"),
        "{told}"
    );
}

const PAGES: &str = r#"
    a/list {} -> {"pages": [{"ref": "img_fe9ubkpk", "rank": 1}, {"ref": "img_wzojwq18", "rank": 2}]}
    a/get_job {"ref": "img_fe9ubkpk"} -> {"job": "job_77ax1b"}
    a/run {"job": "job_77ax1b", "ref": "img_fe9ubkpk"} -> {}
    a/get_job {"ref": "img_wzojwq18"} -> {"job": "job_9c3zz0"}
    a/run {"job": "job_9c3zz0", "ref": "img_wzojwq18"} -> {}
    b/save {"refs": "img_fe9ubkpk,img_wzojwq18", "jobs": ["job_77ax1b", "job_9c3zz0"]} -> {}
"#;

fn over_pages(loop_of: &str, refs: &str) -> Verdict {
    let steps = format!(
        "steps:
  - {{ id: list, call: a/list }}
  - id: each
    for: {{ each: page, {loop_of}, gather: \"${{{{ steps.job.job }}}}\" }}
    steps:
      - {{ id: job, call: a/get_job, with: {{ ref: \"${{{{ page.ref }}}}\" }} }}
      - {{ id: run, call: a/run, with: {{ job: \"${{{{ steps.job.job }}}}\", ref: \"${{{{ page.ref }}}}\" }} }}
  - {{ id: save, call: b/save, with: {{ refs: \"${{{{ {refs} }}}}\", jobs: \"${{{{ steps.each }}}}\" }} }}
"
    );
    verified(&steps, "{}", PAGES)
}

const REFS: &str = "join(map(steps.list.pages, p, p.ref), ',')";

#[test]
fn a_loop_follows_its_list() {
    let verdict = over_pages("in: \"${{ steps.list.pages }}\"", REFS);
    // Other ids; no item, one, one more, and the other way round.
    assert_eq!((told(&verdict), not_tried(&verdict), verdict.counterfactual), (vec![], vec![], Tally { passed: 5, tried: 5 }));
}

#[test]
fn a_loop_that_does_not_follow_its_list_is_told() {
    let verdict = over_pages("in: \"${{ steps.list.pages }}\", where: \"${{ loop.index < 2 }}\"", REFS);
    assert_eq!(
        told(&verdict),
        [
            "question fails-with-other-list step each: in a world with `steps.list.pages` with one item more it runs 2 times, where 3 should follow"
        ]
    );
}

#[test]
fn nothing_is_said_of_an_item_that_other_values_choose() {
    let calls = r#"
        a/list {} -> {"pages": [{"ref": "img_fe9ubkpk"}, {"ref": "img_wzojwq18"}], "wanted": ["img_wzojwq18"]}
        a/run {"ref": "img_wzojwq18"} -> {}
    "#;
    let steps = "steps:
  - { id: list, call: a/list }
  - id: each
    for: { each: page, in: \"${{ steps.list.pages }}\", where: \"${{ contains(steps.list.wanted, page.ref) }}\" }
    steps: [ { id: run, call: a/run, with: { ref: \"${{ page.ref }}\" } } ]
";
    let verdict = verified(steps, "{}", calls);
    assert_eq!(told(&verdict), Vec::<String>::new());
    assert_eq!(
        not_tried(&verdict),
        ["`steps.list.pages` with one item more: which items `each` is about depends on other values than theirs"]
    );
}

#[test]
fn an_expression_that_needs_two_items_is_told() {
    let refs = "steps.list.pages[0].ref }},${{ between(join(map(steps.list.pages, p, p.ref), ','), ',', '')";
    let verdict = over_pages("in: \"${{ steps.list.pages }}\"", refs);
    let told = told(&verdict);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("question fails-with-other-list step save: the run fails in a world with `steps.list.pages` with 1 item: "),
        "{told:?}"
    );
    assert_eq!(
        not_tried(&verdict),
        [
            "`steps.list.pages` in reverse order: an item is taken by its position, so another order rightly means another item",
            "`steps.list.pages` with 0 items: step save needs an item that is not there then: `steps.list.pages` has 0 items, so none at [0]",
        ]
    );
}

#[test]
fn a_list_that_cannot_be_made_longer_is_told_as_not_tried() {
    let calls = r#"
        a/get {} -> {"names": "x,y"}
        a/do {"name": "x"} -> {}
        a/do {"name": "y"} -> {}
    "#;
    let steps = "steps:
  - { id: get, call: a/get }
  - id: each
    for: { each: name, in: \"${{ split(steps.get.names, ',') }}\" }
    steps: [ { id: do, call: a/do, with: { name: \"${{ name }}\" } } ]
";
    let verdict = verified(steps, "{}", calls);
    assert_eq!(
        not_tried(&verdict),
        [
            "other ids: no id of an input or a result is handed on",
            "the list of `each` with other items: the list is computed in a way that cannot be gone back",
        ]
    );
    assert_eq!(verdict.counterfactual, Tally::default());
}

#[test]
fn of_a_list_in_an_input_and_of_inner_lists_every_size_is_tried() {
    let calls = r#"
        a/list {"sprint": "s1"} -> {"tasks": [{"id": "tsk_a1b2c3"}, {"id": "tsk_d4e5f6"}, {"id": "tsk_x7y8z9"}]}
        a/close {"task": "tsk_a1b2c3"} -> {}
        a/close {"task": "tsk_x7y8z9"} -> {}
        a/list {"sprint": "s2"} -> {"tasks": []}
        a/list {"sprint": "s3"} -> {"tasks": [{"id": "tsk_q1w2e3", "open": true}]}
        a/close {"task": "tsk_q1w2e3"} -> {}
    "#;
    let calls = calls.replace("a1b2c3\"}, ", "a1b2c3\", \"open\": true}, ").replace("d4e5f6\"}", "d4e5f6\", \"open\": false}");
    let calls = calls.replace("{\"id\": \"tsk_x7y8z9\"}", "{\"id\": \"tsk_x7y8z9\", \"open\": true}");
    let steps = "inputs: { sprints: { type: array } }
steps:
  - id: each
    for: { each: sprint, in: \"${{ inputs.sprints }}\" }
    steps:
      - { id: list, call: a/list, with: { sprint: \"${{ sprint }}\" } }
      - id: inner
        for: { each: task, in: \"${{ steps.list.tasks }}\", where: \"${{ task.open }}\" }
        steps: [ { id: close, call: a/close, with: { task: \"${{ task.id }}\" } } ]
";
    let verdict = verified(steps, r#"{"sprints": ["s1", "s2", "s3"]}"#, &calls);
    assert_eq!((told(&verdict), not_tried(&verdict), verdict.counterfactual), (vec![], vec![], Tally { passed: 11, tried: 11 }));
}

#[test]
fn an_item_is_picked_by_what_is_in_it_in_any_order() {
    let calls = r#"
        a/list {} -> {"jobs": [{"id": "job_a1b2c3", "at": 2}, {"id": "job_d4e5f6", "at": 9}, {"id": "job_x7y8z9", "at": 9}]}
        a/stop {"job": "job_d4e5f6"} -> {}
    "#;
    let with = |expr: &str| {
        verified(
            &format!(
                "steps:\n  - {{ id: list, call: a/list }}\n  - {{ id: stop, call: a/stop, with: {{ job: \"${{{{ {expr} }}}}\" }} }}\n"
            ),
            "{}",
            calls,
        )
    };
    let by_largest = with("max_by(steps.list.jobs, j, j.at).id");
    assert_eq!(
        told(&by_largest),
        [
            "question depends-on-order step stop: does something else where `steps.list.jobs` is in another order, though it picks items by what is in them"
        ]
    );
    let by_position = with("steps.list.jobs[1].id");
    assert!(told(&by_position).is_empty());
}

fn paged(until: &str, rest: &str) -> Verdict {
    let calls = r#"
        a/search {} -> {"items": [{"id": "f_a1b2c3"}], "next": "cur_11aa22"}
        a/search {"cursor": "cur_11aa22"} -> {"items": [{"id": "f_d4e5f6"}], "next": "cur_33bb44"}
        a/search {"cursor": "cur_33bb44"} -> {"items": [{"id": "f_x7y8z9"}], "next": null}
        a/drop {"ids": ["f_a1b2c3", "f_d4e5f6", "f_x7y8z9"]} -> {}
    "#;
    let steps = format!(
        "steps:
  - id: pages
    repeat: {{ until: \"${{{{ {until} }}}}\", at_most: 100, gather: \"${{{{ steps.page.items }}}}\" }}
    steps: [ {{ id: page, call: a/search, with: {{ cursor: \"${{{{ previous.page.next ?? omit }}}}\" }} }} ]
  - {{ id: drop, call: a/drop, with: {{ ids: {rest} }} }}
"
    );
    verified(&steps, "{}", calls)
}

const ALL_IDS: &str = "\"${{ map(flatten(steps.pages), f, f.id) }}\"";

#[test]
fn pages_end_where_their_answer_says_so() {
    let verdict = paged("steps.page.next == null", ALL_IDS);
    // Other ids; five of the items on all pages; a page less, a page more.
    assert_eq!((told(&verdict), not_tried(&verdict), verdict.counterfactual), (vec![], vec![], Tally { passed: 8, tried: 8 }));
}

#[test]
fn pages_that_are_counted_are_told() {
    let counted = paged("loop.index == 2", ALL_IDS);
    assert!(
        not_tried(&counted)
            .contains(&"one round more of `pages`: its end does not follow from the answers of its last round alone".to_owned())
    );
    let frozen = "[ \"${{ steps.pages[0][0].id }}\", \"${{ steps.pages[1][0].id }}\", \"${{ steps.pages[2][0].id }}\" ]";
    let verdict = paged("steps.page.next == null", frozen);
    let [told] = told(&verdict).try_into().unwrap();
    assert!(
        told.starts_with("question fails-with-other-rounds step drop: the run fails in a world with one round less of `pages`: "),
        "{told}"
    );
}

#[test]
fn nothing_is_tried_where_the_recorded_world_fails() {
    let verdict = verify(&workflow("steps:\n  - { id: get, call: a/get }\n"), &[trace("{}", "a/do {} -> 1")], false);
    assert_eq!(not_tried(&verdict), ["counterfactual worlds: the workflow does not do what was recorded"]);
    assert_eq!(
        verdict.to_string(),
        "recorded: 0 of 1 run exactly as recorded\ncounterfactual: no world was tried\nnot tried: counterfactual worlds: the workflow does not do what was recorded\n"
    );
}
