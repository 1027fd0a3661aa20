//! Instants in the ways in which recorders write them: RFC 3339, and numbers in some unit since 1970.

use crate::trace::instant;
use ltc_workflow::Value;

/// Longer numbers are no instants; shorter ones can be added without a care.
const LONGEST: usize = 28;

/// A number of units as nanoseconds, where one unit is ten to the `power` nanoseconds: 9 for seconds, 6 for milliseconds. The digits are
/// moved, never rounded; those below a nanosecond are cut.
pub(crate) fn scaled(value: &Value, power: usize) -> Option<i128> {
    let text = match value {
        Value::Number(number) => number.as_str(),
        Value::String(text) => text.as_str(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number =
        whole.strip_prefix('-').unwrap_or(whole).bytes().all(|b| b.is_ascii_digit()) && fraction.bytes().all(|b| b.is_ascii_digit());
    if !is_number || text.len() > LONGEST {
        return None;
    }
    format!("{whole}{:0<power$}", fraction.get(..power).unwrap_or(fraction)).parse().ok()
}

/// An instant in RFC 3339, or a number since 1970 whose size tells its unit: seconds, milliseconds, microseconds or nanoseconds.
pub(crate) fn any(value: &Value) -> Option<i128> {
    if let Some(nanos) = value.as_str().and_then(instant::parse) {
        return Some(nanos);
    }
    let seconds = scaled(value, 9)?;
    let second = 1_000_000_000_i128;
    let found = match seconds {
        0 => return None,
        s if s < 100_000_000_000 * second => s,
        s if s < 100_000_000_000_000 * second => s / 1_000,
        s if s < 100_000_000_000_000_000 * second => s / 1_000_000,
        s => s / second,
    };
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    #[test]
    fn units() {
        let expected = Some(1_776_658_414_952_000_000);
        for text in [
            "1776658414.952",
            "1776658414952",
            "1776658414952000",
            "1776658414952000000",
            "\"2026-04-20T04:13:34.952Z\"",
            "\"1776658414952000000\"",
        ] {
            assert_eq!(any(&json::parse(text.as_bytes()).unwrap()), expected, "{text}");
        }
        assert_eq!(scaled(&Value::from(41_i64), 6), Some(41_000_000));
        assert_eq!(any(&Value::from("soon")), None);
        assert_eq!(any(&Value::from("9".repeat(60).as_str())), None);
    }
}
