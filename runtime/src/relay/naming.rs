//! What tools and prompts are called where those of several servers are shown as one server's.
//!
//! A naming gives each the name that it would have alone. Two that would have the same are told apart by a few digits of a digest of where they
//! come from: the same in every session, whatever the order, and never one in the place of the other.

use ltc_workflow::digest;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// How names are made.
pub trait Naming: Send + Sync {
    /// What `name` of `server` is called, as long as nothing else is called that.
    fn name(&self, server: &str, name: &str) -> String;

    /// The most characters that a name may have.
    fn longest(&self) -> usize {
        usize::MAX
    }
}

/// `server__name`
#[derive(Clone, Copy, Debug)]
pub struct Qualified;

impl Naming for Qualified {
    fn name(&self, server: &str, name: &str) -> String {
        format!("{server}__{name}")
    }
}

/// `mcp_server_name`, with no other characters than letters, digits, `_` and `-`, and no more of them than clients take.
#[derive(Clone, Copy, Debug)]
pub struct Gateway;

impl Naming for Gateway {
    fn name(&self, server: &str, name: &str) -> String {
        let plain = |text: &str| -> String {
            text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
        };
        format!("mcp_{}_{}", plain(server), plain(name))
    }

    fn longest(&self) -> usize {
        64
    }
}

/// The names of these, each a server and a name of its own, in their order. No two that differ have the same.
pub fn apart(naming: &dyn Naming, items: &[(SmolStr, SmolStr)]) -> Vec<SmolStr> {
    let mut wanted: BTreeMap<String, BTreeSet<&(SmolStr, SmolStr)>> = BTreeMap::new();
    for item in items {
        wanted.entry(naming.name(&item.0, &item.1)).or_default().insert(item);
    }
    let fits = |name: &str| name.chars().count() <= naming.longest();
    let mut taken: BTreeSet<SmolStr> =
        wanted.iter().filter(|(name, of)| of.len() == 1 && fits(name)).map(|(name, _)| SmolStr::new(name)).collect();
    let mut given: BTreeMap<&(SmolStr, SmolStr), SmolStr> = BTreeMap::new();
    for (name, of) in &wanted {
        if of.len() == 1 && fits(name) {
            given.extend(of.iter().map(|item| (*item, SmolStr::new(name))));
            continue;
        }
        for item in of {
            given.insert(item, told_apart(naming, name, item, &mut taken));
        }
    }
    items.iter().map(|item| given.get(item).cloned().unwrap_or_default()).collect()
}

fn told_apart(naming: &dyn Naming, name: &str, (server, own): &(SmolStr, SmolStr), taken: &mut BTreeSet<SmolStr>) -> SmolStr {
    let digest = digest::of_bytes(format!("{}:{server}{own}", server.len()).as_bytes());
    let digits = digest.strip_prefix("sha256:").unwrap_or(&digest);
    let mut length = 6;
    loop {
        let suffix: String = digits.chars().take(length).collect();
        let room = naming.longest().saturating_sub(length + 1);
        let stem: String = name.chars().take(room).collect();
        let told = SmolStr::new(format!("{stem}_{suffix}"));
        if taken.insert(told.clone()) || length >= digits.len() {
            return told;
        }
        length += 6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn item(server: &str, name: &str) -> (SmolStr, SmolStr) {
        (server.into(), name.into())
    }

    #[test]
    fn names_say_where_they_come_from() {
        assert_eq!(apart(&Qualified, &[item("a", "t"), item("b", "t")]), ["a__t", "b__t"]);
        assert_eq!(apart(&Gateway, &[item("my desk", "get/mail"), item("b", "t")]), ["mcp_my_desk_get_mail", "mcp_b_t"]);
    }

    #[test]
    fn what_would_be_called_the_same_is_told_apart_in_any_order() {
        let (one, other) = (item("a__b", "c"), item("a", "b__c"));
        let names = apart(&Qualified, &[one.clone(), other.clone()]);
        assert!(names.iter().all(|name| name.starts_with("a__b__c_")), "{names:?}");
        assert_ne!(names[0], names[1]);
        assert_eq!(apart(&Qualified, &[other, one]), [names[1].clone(), names[0].clone()]);
    }

    #[test]
    fn a_long_name_is_cut_and_stays_its_own() {
        let (one, other) = (item("s", &"x".repeat(80)), item("s", &"x".repeat(81)));
        let names = apart(&Gateway, &[one, other]);
        assert!(names.iter().all(|name| name.len() == 64), "{names:?}");
        assert_ne!(names[0], names[1]);
    }

    proptest! {
        #[test]
        fn no_two_are_called_the_same(items in proptest::collection::btree_set(("[a_ -]{1,4}", "[a_ -]{1,4}"), 0..40)) {
            let items: Vec<(SmolStr, SmolStr)> = items.into_iter().map(|(server, name)| item(&server, &name)).collect();
            for naming in [&Qualified as &dyn Naming, &Gateway] {
                let names = apart(naming, &items);
                let unique: BTreeSet<&SmolStr> = names.iter().collect();
                prop_assert_eq!(unique.len(), items.len());
                let mut turned = items.clone();
                turned.reverse();
                let mut again = apart(naming, &turned);
                again.reverse();
                prop_assert_eq!(names, again);
            }
        }
    }
}
