//! Arithmetic and comparison of numbers by their value, without rounding: integers of any size, decimals as decimals.

use super::eval::fail;
use crate::advance::Failure;
use crate::value::Number;
use num_bigint::{BigInt, Sign};
use std::cmp::Ordering;

/// The most digits, and the largest power of ten, that arithmetic works with.
const MOST_DIGITS: usize = 10_000;

/// A number as `0.digits × 10^exponent`, without zeros at either end of `digits`; zero has none.
struct Normal {
    negative: bool,
    digits: String,
    exponent: i128,
    /// The exponent as it was written did not fit.
    clipped: bool,
}

/// The parts of a JSON number: sign, digits before the point, digits behind it, exponent.
fn split(number: &Number) -> (bool, &str, &str, &str) {
    let text = number.as_str();
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    (negative, whole, fraction, exponent)
}

fn normal(number: &Number) -> Normal {
    let (negative, whole, fraction, exponent) = split(number);
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let leading = all.len() - digits.len();
    let parsed = exponent.strip_prefix('+').unwrap_or(exponent).parse::<i128>();
    let limit = i128::MAX / 4;
    let written = match &parsed {
        Ok(e) => (*e).clamp(-limit, limit),
        Err(_) if exponent.starts_with('-') => -limit,
        Err(_) => limit,
    };
    let length = |n: usize| i128::try_from(n).unwrap_or(limit);
    let digits = digits.trim_end_matches('0').to_string();
    let zero = digits.is_empty();
    Normal {
        negative: negative && !zero,
        exponent: if zero { 0 } else { written + length(whole.len()) - length(leading) },
        clipped: !zero && parsed.map_or(true, |e| e.abs() > limit),
        digits,
    }
}

/// Which number is smaller, by value: `10` and `10.0` are equal, `9007199254740993` and `9007199254740992` are not.
pub fn compare(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    let (x, y) = (normal(a), normal(b));
    let sign = |n: &Normal| {
        if n.digits.is_empty() {
            0
        } else if n.negative {
            -1
        } else {
            1
        }
    };
    let magnitude = || {
        let by_size = x.exponent.cmp(&y.exponent).then_with(|| x.digits.cmp(&y.digits));
        // Two exponents past 10^37 that were both clipped differ in their text only.
        by_size.then(x.clipped.cmp(&y.clipped)).then_with(|| if x.clipped { a.cmp(b) } else { Ordering::Equal })
    };
    match sign(&x).cmp(&sign(&y)) {
        Ordering::Equal if sign(&x) == 0 => Ordering::Equal,
        Ordering::Equal if x.negative => magnitude().reverse(),
        Ordering::Equal => magnitude(),
        unequal => unequal,
    }
}

/// A text that two numbers share exactly if they are equal by value.
pub(super) fn identity(number: &Number) -> String {
    let n = normal(number);
    match (n.digits.is_empty(), n.clipped) {
        (true, _) => "0".to_string(),
        (false, true) => number.as_str().to_string(),
        (false, false) => format!("{}{}e{}", if n.negative { "-" } else { "" }, n.digits, n.exponent),
    }
}

/// A number as `mantissa × 10^-scale`.
struct Decimal {
    mantissa: BigInt,
    scale: usize,
}

fn decimal(number: &Number) -> Result<Decimal, Failure> {
    let (negative, whole, fraction, exponent) = split(number);
    let too_large = || fail("number-too-large", format!("arithmetic works with numbers of at most {MOST_DIGITS} digits"));
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent).parse::<i32>().map_err(|_| too_large())?;
    let shift = usize::try_from(exponent.unsigned_abs()).unwrap_or(usize::MAX);
    if whole.len() + fraction.len() > MOST_DIGITS || shift > MOST_DIGITS {
        return Err(too_large());
    }
    let mut mantissa = BigInt::parse_bytes(format!("{whole}{fraction}").as_bytes(), 10).unwrap_or_default();
    if negative {
        mantissa = -mantissa;
    }
    let scale = if exponent < 0 {
        fraction.len() + shift
    } else {
        mantissa *= power_of_ten(shift.saturating_sub(fraction.len()));
        fraction.len().saturating_sub(shift)
    };
    Ok(Decimal { mantissa, scale })
}

fn power_of_ten(exponent: usize) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).unwrap_or(u32::MAX))
}

fn spell(decimal: &Decimal) -> Result<Number, Failure> {
    let mut digits = decimal.mantissa.magnitude().to_string();
    if decimal.scale > 0 {
        let missing = (decimal.scale + 1).saturating_sub(digits.len());
        digits.insert_str(0, &"0".repeat(missing));
        digits.insert(digits.len() - decimal.scale, '.');
    }
    if decimal.mantissa.sign() == Sign::Minus {
        digits.insert(0, '-');
    }
    Number::parse(&digits).ok_or_else(|| fail("number-too-large", format!("`{digits}` is no number")))
}

fn aligned(a: &Number, b: &Number) -> Result<(Decimal, Decimal), Failure> {
    let (mut a, mut b) = (decimal(a)?, decimal(b)?);
    let scale = a.scale.max(b.scale);
    a.mantissa *= power_of_ten(scale - a.scale);
    b.mantissa *= power_of_ten(scale - b.scale);
    (a.scale, b.scale) = (scale, scale);
    Ok((a, b))
}

fn small(a: &Number, b: &Number, op: fn(i64, i64) -> Option<i64>) -> Option<Number> {
    op(a.as_i64()?, b.as_i64()?).map(Number::from)
}

/// `a + b`, exactly: `1.10 + 2.2` is `3.30`.
pub(crate) fn add(a: &Number, b: &Number) -> Result<Number, Failure> {
    if let Some(sum) = small(a, b, i64::checked_add) {
        return Ok(sum);
    }
    let (a, b) = aligned(a, b)?;
    spell(&Decimal { mantissa: a.mantissa + b.mantissa, scale: a.scale })
}

/// `a - b`, exactly.
pub(crate) fn subtract(a: &Number, b: &Number) -> Result<Number, Failure> {
    if let Some(difference) = small(a, b, i64::checked_sub) {
        return Ok(difference);
    }
    let (a, b) = aligned(a, b)?;
    spell(&Decimal { mantissa: a.mantissa - b.mantissa, scale: a.scale })
}

/// `a * b`, exactly: `1.5 * 2.0` is `3.00`.
pub(crate) fn multiply(a: &Number, b: &Number) -> Result<Number, Failure> {
    if let Some(product) = small(a, b, i64::checked_mul) {
        return Ok(product);
    }
    let (a, b) = (decimal(a)?, decimal(b)?);
    spell(&Decimal { mantissa: a.mantissa * b.mantissa, scale: a.scale + b.scale })
}

/// `n * factor` without what is behind the point; 0 where that is negative, the largest number where it is too large.
pub(crate) fn times(n: u64, factor: &Number) -> u64 {
    let product = Number::parse(&n.to_string()).and_then(|n| multiply(&n, factor).ok());
    let Some(product) = product else { return u64::MAX };
    let text = product.as_str();
    let whole = text.split('.').next().unwrap_or(text);
    if text.starts_with('-') { 0 } else { whole.parse().unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(text: &str) -> Number {
        Number::parse(text).expect(text)
    }

    #[test]
    fn arithmetic_is_exact() {
        let cases = [
            ("1", "2", "3", "-1", "2"),
            ("0.1", "0.2", "0.3", "-0.1", "0.02"),
            ("1.10", "2.2", "3.30", "-1.10", "2.420"),
            ("9223372036854775807", "1", "9223372036854775808", "9223372036854775806", "9223372036854775807"),
            ("1e3", "1", "1001", "999", "1000"),
            ("15e-1", "0.5", "2.0", "1.0", "0.75"),
            ("1.25e1", "0", "12.5", "12.5", "0.0"),
            ("-0", "0", "0", "0", "0"),
            ("0.05", "-0.05", "0.00", "0.10", "-0.0025"),
        ];
        for (a, b, sum, difference, product) in cases {
            assert_eq!(add(&n(a), &n(b)).expect("small"), n(sum), "{a} + {b}");
            assert_eq!(subtract(&n(a), &n(b)).expect("small"), n(difference), "{a} - {b}");
            assert_eq!(multiply(&n(a), &n(b)).expect("small"), n(product), "{a} * {b}");
        }
        assert_eq!(add(&n("1e1000000000"), &n("1")).expect_err("huge").code, "number-too-large");
        assert_eq!(add(&n(&"9".repeat(10_001)), &n("1")).expect_err("huge").code, "number-too-large");
    }

    #[test]
    fn comparison_is_by_value() {
        for (a, b) in [("10", "10.0"), ("1e1", "10"), ("0", "-0.00"), ("0e99", "0"), ("100", "1e2"), ("0.5", "5e-1"), ("1E+2", "100.0")] {
            assert_eq!(compare(&n(a), &n(b)), Ordering::Equal, "{a} {b}");
            assert_eq!(identity(&n(a)), identity(&n(b)), "{a} {b}");
        }
        let ascending = [
            "-1e99999999999999999999999999999999999999999999999",
            "-1e400",
            "-12",
            "-1.5",
            "-1e-99999999999999999999999999999999999999999999999",
            "0",
            "1e-400",
            "0.3",
            "0.30000000000000004",
            "9007199254740992",
            "9007199254740993",
            "123456789012345678901234567890",
            "1e400",
            "1e99999999999999999999999999999999999999999999999",
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(compare(&n(a), &n(b)), i.cmp(&j), "{a} {b}");
                assert_eq!(identity(&n(a)) == identity(&n(b)), i == j, "{a} {b}");
            }
        }
    }
}
