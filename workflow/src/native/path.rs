//! Keys and items of values: `.key` and `[0]` where they must be there, and as the left side of `??` looks for them.

use crate::advance::Failure;
use crate::expr::access::{self, Told};
use crate::expr::equal;
use crate::expr::eval::Budget;
use crate::value::Value;

use super::typed::ToValue;

const TOLD: Told = &|| "the value".to_owned();

/// Takes what must be there out of a value.
pub trait Path {
    /// The value under `key`, as `value.key`.
    ///
    /// # Errors
    /// `no-such-key`; `wrong-type` where this is no object.
    fn key(&self, key: &str) -> Result<&Value, Failure>;

    /// The item at `index`, as `value[index]`: a negative one counts from the end.
    ///
    /// # Errors
    /// `no-such-item`; `wrong-type` where this is no list.
    fn item(&self, index: i64) -> Result<&Value, Failure>;

    /// The items.
    ///
    /// # Errors
    /// `wrong-type` where this is no list.
    fn items(&self) -> Result<&[Value], Failure>;

    /// The one item whose field at `path` equals `wanted`, as `value[path == wanted]`.
    ///
    /// # Errors
    /// `none-matches`, `several-match`; `wrong-type` where this is no list.
    fn pick(&self, path: &[&str], wanted: impl ToValue) -> Result<&Value, Failure>;
}

/// Looks for what may be missing: each gives nothing where nothing is there, or null is looked into. What is there may be null itself.
pub trait Find<'v>: Sized {
    /// What is looked into.
    fn subject(self) -> Option<&'v Value>;

    /// The value under `key`.
    ///
    /// # Errors
    /// `wrong-type` where this is neither an object nor null.
    fn find(self, key: &str) -> Result<Option<&'v Value>, Failure> {
        self.subject().map_or(Ok(None), |subject| access::key(subject, key, TOLD))
    }

    /// The item at `index`.
    ///
    /// # Errors
    /// `wrong-type` where this is neither a list nor null.
    fn find_item(self, index: i64) -> Result<Option<&'v Value>, Failure> {
        let Some(subject) = self.subject() else { return Ok(None) };
        let items = access::list(subject, TOLD)?;
        Ok(access::place(index, items.len()).and_then(|at| items.get(at)))
    }

    /// The one item whose field at `path` equals `wanted`.
    ///
    /// # Errors
    /// `several-match`; `wrong-type` where this is neither a list nor null.
    fn find_one(self, path: &[&str], wanted: impl ToValue) -> Result<Option<&'v Value>, Failure> {
        self.subject().map_or(Ok(None), |subject| matching(access::list(subject, TOLD)?, path, &wanted.to_value()))
    }
}

impl<'v> Find<'v> for &'v Value {
    fn subject(self) -> Option<&'v Value> {
        (!self.is_null()).then_some(self)
    }
}

impl<'v> Find<'v> for Option<&'v Value> {
    fn subject(self) -> Option<&'v Value> {
        self.filter(|subject| !subject.is_null())
    }
}

impl Path for Value {
    fn key(&self, key: &str) -> Result<&Value, Failure> {
        match (access::key(self, key, TOLD)?, self.as_object()) {
            (Some(value), _) => Ok(value),
            (None, object) => Err(access::no_such_key(TOLD, key, &object.cloned().unwrap_or_default())),
        }
    }

    fn item(&self, index: i64) -> Result<&Value, Failure> {
        let items = self.items()?;
        let at = access::place(index, items.len()).and_then(|at| items.get(at));
        at.ok_or_else(|| access::no_such_item(TOLD, index, items.len()))
    }

    fn items(&self) -> Result<&[Value], Failure> {
        access::list(self, TOLD)
    }

    fn pick(&self, path: &[&str], wanted: impl ToValue) -> Result<&Value, Failure> {
        let items = self.items()?;
        matching(items, path, &wanted.to_value())?.ok_or_else(|| access::none_matches(items.len(), &test(path)))
    }
}

fn test(path: &[&str]) -> String {
    format!("{} == …", path.join("."))
}

fn matching<'v>(items: &'v [Value], path: &[&str], wanted: &Value) -> Result<Option<&'v Value>, Failure> {
    let mut budget = Budget::default();
    let (mut found, mut matches) = (None, 0_usize);
    for item in items {
        let field = path.iter().try_fold(item, |value, key| value.get(key));
        if let Some(field) = field
            && equal(field, wanted, &mut budget)?
        {
            matches += 1;
            found = Some(item);
        }
    }
    if matches > 1 { Err(access::several_match(matches, items.len(), &test(path))) } else { Ok(found) }
}
