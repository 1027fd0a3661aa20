//! Dates without a clock: the proleptic Gregorian calendar from year 0 to 9999.

use super::eval::fail;
use crate::advance::Failure;
use crate::value::{Number, Value};

/// A day as year, month, day.
struct Day {
    year: i64,
    month: i64,
    day: i64,
}

/// `2024-02-29` or `2024-02-29T…` → the day and what stands behind it.
fn parse(text: &str) -> Option<(Day, &str)> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split('-');
    let mut part = |length: usize| {
        let digits = parts.next().filter(|p| p.len() == length && p.bytes().all(|b| b.is_ascii_digit()))?;
        digits.parse::<i64>().ok()
    };
    let day = Day { year: part(4)?, month: part(2)?, day: part(2)? };
    let there = (1..=12).contains(&day.month) && (1..=days_in_month(day.year, day.month)).contains(&day.day);
    (there && (rest.is_empty() || is_time(rest))).then_some((day, rest))
}

/// RFC 3339 behind the date: `T12:34:56.789Z`, `t…`, ` …`, with `+01:00` in place of `Z`.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let pair = |at: usize, most: u8| match (bytes.get(at), bytes.get(at + 1)) {
        (Some(tens), Some(ones)) if tens.is_ascii_digit() && ones.is_ascii_digit() => (tens - b'0') * 10 + (ones - b'0') <= most,
        _ => false,
    };
    let is = |at: usize, set: &[u8]| bytes.get(at).is_some_and(|b| set.contains(b));
    let clock = is(0, b"Tt ") && pair(1, 23) && is(3, b":") && pair(4, 59) && is(6, b":") && pair(7, 60);
    let fraction = if is(9, b".") { 1 + bytes.iter().skip(10).take_while(|b| b.is_ascii_digit()).count() } else { 0 };
    let zone = 9 + fraction;
    let utc = is(zone, b"Zz") && bytes.len() == zone + 1;
    let offset = is(zone, b"+-") && pair(zone + 1, 23) && is(zone + 3, b":") && pair(zone + 4, 59) && bytes.len() == zone + 6;
    clock && fraction != 1 && (utc || offset)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 0000-03-01, in eras of 400 years.
fn number_of(day: &Day) -> i64 {
    let year = if day.month <= 2 { day.year - 1 } else { day.year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((day.month + 9) % 12) + 2) / 5 + day.day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year
}

fn day_of(number: i64) -> Day {
    let (era, of_era) = (number.div_euclid(146_097), number.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    Day { year: era * 400 + year + i64::from(month <= 2), month, day: of_year - (153 * shifted + 2) / 5 + 1 }
}

fn not_a_date() -> Failure {
    fail("not-a-date", "the text is neither a date `YYYY-MM-DD` nor an instant in RFC 3339")
}

/// The date of an instant, in the offset that the instant is written in.
pub(super) fn date(text: &str) -> Result<Value, Failure> {
    parse(text).ok_or_else(not_a_date)?;
    Ok(Value::from(text.get(..10).unwrap_or_default()))
}

/// The date or instant so many days later; the time of day stays as it is written.
pub(super) fn add_days(text: &str, days: &Number) -> Result<Value, Failure> {
    let (day, rest) = parse(text).ok_or_else(not_a_date)?;
    let days = days.as_i64().ok_or_else(|| fail("wrong-type", "`add_days` takes a whole number of days"))?;
    let moved = number_of(&day).checked_add(days).filter(|n| (-10_000_000..10_000_000).contains(n)).map(day_of);
    match moved {
        Some(Day { year: year @ 0..=9999, month, day }) => Ok(Value::string(format!("{year:04}-{month:02}-{day:02}{rest}"))),
        Some(_) | None => Err(fail("not-a-date", "the day lies outside of the years 0000 to 9999")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str, days: i64) -> String {
        add_days(text, &days.into()).map_or_else(|f| f.code.to_string(), |v| v.as_str().unwrap_or_default().to_string())
    }

    #[test]
    fn days_are_added_across_months_and_leap_years() {
        assert_eq!(added("2024-02-28", 1), "2024-02-29");
        assert_eq!(added("2023-02-28", 1), "2023-03-01");
        assert_eq!(added("1900-02-28", 1), "1900-03-01");
        assert_eq!(added("2000-02-28", 366), "2001-02-28");
        assert_eq!(added("2024-01-01", -1), "2023-12-31");
        assert_eq!(added("1970-01-01", 19_723), "2024-01-01");
        assert_eq!(added("2024-12-31T23:59:60.5+01:00", 1), "2025-01-01T23:59:60.5+01:00");
        assert_eq!(added("9999-12-31", 1), "not-a-date");
        assert_eq!(added("0000-01-01", i64::MIN), "not-a-date");
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "2023-02-29",
            "2024-13-01",
            "2024-1-1",
            "20240101",
            "2024-01-01T",
            "2024-01-01T25:00:00Z",
            "2024-01-01T00:00:00",
            "é024-01-01",
            "2024-01-01T00:00:00.Z",
        ] {
            assert_eq!(date(text).expect_err(text).code, "not-a-date");
        }
        assert_eq!(date("2024-01-01t00:00:00.123z"), Ok(Value::from("2024-01-01")));
    }
}
