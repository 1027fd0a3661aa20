//! One order for keys whose order means nothing: by name. A permuted recording gives the same bytes.

use crate::rewrite;
use ltc_workflow::expr::{Expr, Function};
use ltc_workflow::template::Template;
use ltc_workflow::{Object, Value};

/// `template` with the keys of its objects in order.
pub fn template(template: Template) -> Template {
    match rewrite::map_tops(template, &mut expr) {
        Template::Literal(value) => Template::Literal(self::value(&value)),
        Template::Object(mut entries) => {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Template::Object(entries.into_iter().map(|(key, item)| (key, self::template(item))).collect())
        }
        Template::Array(items) => Template::Array(items.into_iter().map(self::template).collect()),
        other @ (Template::Expr(_) | Template::Text(_)) => other,
    }
}

/// `expr` with the keys of its records in order, save in a text that is made of them: there the order shows.
fn expr(whole: Expr) -> Expr {
    match whole {
        Expr::Call(Function::ToJson, _) => whole,
        Expr::Literal(value) => Expr::Literal(self::value(&value)),
        other => match rewrite::map_children(other, &mut expr) {
            Expr::Record(mut entries) => {
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                Expr::Record(entries)
            }
            other => other,
        },
    }
}

/// `value` with the keys of its objects in order.
pub fn value(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(self::value).collect(),
        Value::Object(object) => Value::Object(object.sorted().into_iter().map(|(k, v)| (k.clone(), self::value(v))).collect::<Object>()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
