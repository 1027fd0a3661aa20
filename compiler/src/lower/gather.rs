//! What is kept of each round of a loop: only what is used behind it.
//!
//! Before: `map(steps.extract_each, x, x.extract.member.name)`, with whole rounds kept. After: `steps.extract_each`, with
//! `gather: steps.extract.member.name`.

use crate::naming::Names;
use crate::plan::{Origin, Plan, Point, Presence};
use crate::region::LoopKind;
use crate::rewrite;
use crate::tree::{NodeId, NodeKind, item_name, item_named, step_name, step_named};
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function};
use ltc_workflow::template::Template;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// How a way into a round is told from now on.
enum Kept {
    /// The round is what stood there.
    Alone(Vec<SmolStr>),
    /// It stands under this key.
    Under(SmolStr),
}

/// Rewrites the plan's expressions so that each loop keeps only what is used, and says what each keeps.
pub fn narrow(plan: &mut Plan, alive: &BTreeSet<NodeId>, names: &mut Names) -> BTreeMap<NodeId, Template> {
    let mut uses: BTreeMap<NodeId, BTreeMap<SmolStr, Vec<Vec<SmolStr>>>> = BTreeMap::new();
    let homes = homes(plan);
    each_expr(plan, alive, &mut |expr| {
        ways(expr, &mut |key, rest| {
            if let Some(of) = homes.get(&key) {
                uses.entry(*of).or_default().entry(key).or_default().push(rest);
            }
        });
    });
    let mut kept: BTreeMap<SmolStr, Kept> = BTreeMap::new();
    let mut gathers = BTreeMap::new();
    for node in counted(plan, alive) {
        // Only how many rounds there were is used: each keeps its item.
        if !uses.contains_key(&node) {
            gathers.insert(node, Template::Expr(Expr::Name(item_name(node))));
        }
    }
    for (node, keys) in uses {
        let lone = keys.len() == 1;
        let mut entries = Vec::new();
        for (key, rests) in keys {
            let value = if item_named(&key).is_some() { Expr::Name(key.clone()) } else { Expr::step(key.clone()) };
            if lone {
                let shared = shared(&rests);
                let value = shared.iter().fold(value, |e, k| e.key(k.clone()));
                gathers.insert(node, Template::Expr(value));
                kept.insert(key, Kept::Alone(shared));
            } else {
                let name = step_named(&key).and_then(|n| names.step(n)).or_else(|| item_named(&key).and_then(|n| names.variable(n)));
                let name = name.cloned().unwrap_or_else(|| SmolStr::new("item"));
                entries.push((name.clone(), Template::Expr(value)));
                kept.insert(key, Kept::Under(name));
            }
        }
        if !entries.is_empty() {
            gathers.insert(node, Template::Object(entries));
        }
    }
    each_expr_mut(plan, &mut |expr| retell(expr, &kept));
    gathers.into_iter().map(|(node, gather)| (node, rewrite::map_in(gather, &mut |e| retell(e, &kept)))).collect()
}

/// The loops over lists whose value something uses.
fn counted(plan: &Plan, alive: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    let is_each = |node: &NodeId| matches!(plan.tree.node(*node).map(|n| &n.kind), Some(NodeKind::Loop { kind: LoopKind::Each, .. }));
    each_expr(plan, alive, &mut |expr| {
        rewrite::each(expr, &mut |part| {
            if let Expr::Key(_, key) = part {
                found.extend(step_named(key).filter(is_each));
            }
        });
    });
    found
}

/// For the placeholder of each step in a loop, and of each loop's item: the loop.
fn homes(plan: &Plan) -> BTreeMap<SmolStr, NodeId> {
    let mut homes = BTreeMap::new();
    for (number, node) in plan.tree.nodes.iter().enumerate() {
        if let NodeKind::Loop { body, .. } = &node.kind {
            homes.insert(item_name(NodeId(number)), NodeId(number));
            for inner in plan.tree.body(*body).map(|b| b.nodes.as_slice()).unwrap_or_default() {
                homes.insert(step_name(*inner), NodeId(number));
            }
        }
    }
    homes
}

/// Sees the ways through rounds: the key of a step or an item, and all keys after it.
fn ways(expr: &Expr, see: &mut dyn FnMut(SmolStr, Vec<SmolStr>)) {
    if let Expr::Pick { path, .. } = expr
        && let Some((key, rest)) = path.split_first()
        && (step_named(key).is_some() || item_named(key).is_some())
    {
        see(key.clone(), rest.to_vec());
    }
    let mut after = Vec::new();
    let mut at = expr;
    while let Expr::Key(base, key) = at {
        if is_way(base, key) {
            after.reverse();
            see(key.clone(), after);
            return ways(base, see);
        }
        after.push(key.clone());
        at = base;
    }
    if std::ptr::eq(at, expr) {
        rewrite::children(expr).into_iter().for_each(|inner| ways(inner, see));
    } else {
        ways(at, see);
    }
}

fn is_way(base: &Expr, key: &str) -> bool {
    let from_group = matches!(base, Expr::Name(name) if name == "steps" || name == "previous");
    !from_group && (step_named(key).is_some() || item_named(key).is_some())
}

/// The keys that all ways begin with.
fn shared(ways: &[Vec<SmolStr>]) -> Vec<SmolStr> {
    let Some(first) = ways.first() else { return Vec::new() };
    let length = ways.iter().fold(first.len(), |n, way| first.iter().zip(way).take(n).take_while(|(a, b)| a == b).count());
    first.iter().take(length).cloned().collect()
}

/// One expression, told by what is kept.
fn retell(expr: Expr, kept: &BTreeMap<SmolStr, Kept>) -> Expr {
    match expr {
        Expr::Key(base, key) => {
            if is_way(&base, &key) {
                return match kept.get(&key) {
                    Some(Kept::Alone(path)) if path.is_empty() => *base,
                    Some(Kept::Alone(_)) | None => Expr::Key(base, key),
                    Some(Kept::Under(name)) => Expr::Key(base, name.clone()),
                };
            }
            let whole = Expr::Key(base, key);
            stripped(&whole, kept).unwrap_or(whole)
        }
        Expr::Pick { list, path, equals } => {
            let path = match path.split_first().and_then(|(key, rest)| Some((kept.get(key)?, rest))) {
                Some((Kept::Under(name), rest)) => [std::slice::from_ref(name), rest].concat(),
                Some((Kept::Alone(shared), rest)) => rest.get(shared.len()..).unwrap_or_default().to_vec(),
                None => path,
            };
            if path.is_empty() {
                let only = SmolStr::new("x");
                let test = Expr::Name(only.clone()).binary(ltc_workflow::expr::BinaryOp::Equal, *equals);
                return list.over(ltc_workflow::expr::OverFunction::Filter, only, test).apply(Function::Only);
            }
            Expr::Pick { list, path, equals }
        }
        other => other,
    }
}

/// `x.<step>.a.b` where the rounds are kept as `<step>.a.b` alone.
fn stripped(expr: &Expr, kept: &BTreeMap<SmolStr, Kept>) -> Option<Expr> {
    let mut keys = Vec::new();
    let mut at = expr;
    while let Expr::Key(base, key) = at {
        if is_way(base, key) {
            let Kept::Alone(path) = kept.get(key)? else { return None };
            keys.reverse();
            return (keys == path.iter().collect::<Vec<_>>()).then(|| (**base).clone());
        }
        keys.push(key);
        at = base;
    }
    None
}

fn each_expr(plan: &Plan, alive: &BTreeSet<NodeId>, see: &mut dyn FnMut(&Expr)) {
    for node in alive {
        match plan.points.get(node) {
            Some(Point::Call(with)) => with.iter().for_each(|(_, t)| rewrite::tops_in(t, see)),
            Some(Point::Each { list, test }) => std::iter::once(list).chain(test).for_each(&mut *see),
            Some(Point::Repeat { until, .. }) => see(until),
            None => {}
        }
        match plan.presence.get(node) {
            Some(Presence::When(when) | Presence::Case { when, .. }) => see(when),
            None => {}
        }
    }
    plan.output.iter().for_each(|o| rewrite::tops_in(o, see));
}

fn each_expr_mut(plan: &mut Plan, make: &mut dyn FnMut(Expr) -> Expr) {
    for point in plan.points.values_mut() {
        *point = match std::mem::replace(point, Point::Call(Vec::new())) {
            Point::Call(with) => Point::Call(with.into_iter().map(|(key, t)| (key, rewrite::map_in(t, make))).collect()),
            Point::Each { list, test } => Point::Each { list: rewrite::map(list, make), test: test.map(|t| rewrite::map(t, make)) },
            Point::Repeat { until, every, at_most } => Point::Repeat { until: rewrite::map(until, make), every, at_most },
        };
    }
    for presence in plan.presence.values_mut() {
        let (Presence::When(when) | Presence::Case { when, .. }) = presence;
        *when = rewrite::map(std::mem::replace(when, Expr::Omit), make);
    }
    plan.output = plan.output.take().map(|o| rewrite::map_in(o, make));
    for (_, expr) in plan.diagnostics.iter_mut().flat_map(|t| &mut t.exprs) {
        *expr = rewrite::map(std::mem::replace(expr, Expr::Omit), make);
    }
    for finding in &mut plan.findings {
        finding.origin = match std::mem::replace(&mut finding.origin, Origin::Constant(Value::Null)) {
            Origin::Reference(expr) => Origin::Reference(rewrite::map(expr, make)),
            Origin::Text(template) => Origin::Text(rewrite::map_in(template, make)),
            other @ (Origin::Constant(_) | Origin::Input(_) | Origin::Secret(_)) => other,
        };
        for (loser, _) in &mut finding.losers {
            *loser = rewrite::map(std::mem::replace(loser, Expr::Omit), make);
        }
    }
}
