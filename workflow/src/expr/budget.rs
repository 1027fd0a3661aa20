//! How much work an expression may do, and how large a value it may make.

use super::eval::fail;
use crate::advance::Failure;
use crate::value::Value;

/// How much work is left. A unit is a node that is evaluated, an item that is made or compared, or 8 bytes of text.
#[derive(Clone, Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// What one expression or template may use.
    pub const FOR_ONE: u64 = 10_000_000;

    /// A budget of so many units.
    pub fn new(units: u64) -> Budget {
        Budget { left: units }
    }

    /// How many units are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Takes units out.
    ///
    /// # Errors
    /// `too-much-work` where there are fewer.
    pub fn spend(&mut self, units: usize) -> Result<(), Failure> {
        match u64::try_from(units).ok().and_then(|units| self.left.checked_sub(units)) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(fail("too-much-work", "the expression makes or compares too much to be worked out"))
            }
        }
    }

    /// Takes out what a text of so many bytes costs.
    pub(crate) fn spend_text(&mut self, bytes: usize) -> Result<(), Failure> {
        self.spend(bytes / 8 + 1)
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::new(Budget::FOR_ONE)
    }
}

/// How deep a value that a workflow makes may be: a little less than what is read back, so that it can be wrapped and journalled.
pub const MAX_VALUE_DEPTH: usize = 120;

/// Checks that a made value is neither too deep nor too large to leave: sharing can make a small value a giant text.
pub(crate) fn measure(value: &Value, budget: &mut Budget) -> Result<(), Failure> {
    measure_at(value, 0, budget)
}

fn measure_at(value: &Value, depth: usize, budget: &mut Budget) -> Result<(), Failure> {
    budget.spend(1)?;
    if depth > MAX_VALUE_DEPTH {
        return Err(fail("too-deep", format!("the value has more than {MAX_VALUE_DEPTH} levels of nesting")));
    }
    match value {
        Value::Null | Value::Bool(_) => Ok(()),
        Value::Number(n) => budget.spend(n.as_str().len() / 64),
        Value::String(s) => budget.spend(s.len() / 64),
        Value::Array(items) => items.iter().try_for_each(|item| measure_at(item, depth + 1, budget)),
        Value::Object(object) => object.iter().try_for_each(|(_, item)| measure_at(item, depth + 1, budget)),
    }
}
