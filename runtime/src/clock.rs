//! The one place that looks at the clock and draws random numbers: when a run starts, and what it is called.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time: milliseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub i64);

impl Moment {
    /// Now.
    pub fn now() -> Moment {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// The moment that an RFC 3339 text in UTC names, its fraction cut to milliseconds; as [`fmt::Display`] writes it.
    pub fn read(text: &str) -> Option<Moment> {
        let number =
            |from: usize, to: usize| text.get(from..to).filter(|part| part.bytes().all(|b| b.is_ascii_digit()))?.parse::<i64>().ok();
        let marks = text.char_indices().filter(|(at, _)| [4, 7, 10, 13, 16].contains(at)).map(|(_, mark)| mark);
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let fraction = text.get(19..)?.strip_suffix('Z')?;
        let digits = fraction.strip_prefix('.').unwrap_or("0");
        let is_fraction = fraction.is_empty() || (!digits.is_empty() && digits.len() < fraction.len());
        let is_right = marks.eq("--T::".chars()) && is_fraction && digits.bytes().all(|b| b.is_ascii_digit());
        if !is_right || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let millis: i64 = digits.chars().chain("000".chars()).take(3).collect::<String>().parse().ok()?;
        // The way back of `instant`.
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * month + 2) / 5 + day - 1;
        let days = era * 146_097 + day_of_era - 719_468;
        Some(Moment((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + millis))
    }

    /// This long after.
    #[must_use]
    pub fn after(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// This long before.
    #[must_use]
    pub fn before(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long it is until `later`; nothing where that is past.
    pub fn until(self, later: Moment) -> Duration {
        Duration::from_millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

impl fmt::Display for Moment {
    /// RFC 3339, UTC, with milliseconds; a time before 1970 is shown as 1970.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = u64::try_from(self.0).unwrap_or(0);
        f.write_str(&instant(millis / 1000, millis % 1000))
    }
}

/// A point in time to the microsecond. In one process no two are the same, and a later one is never less, whatever the clock does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(u64);

impl Micros {
    /// Now.
    pub fn now() -> Micros {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        let later = |last: u64| Some(now.max(last.saturating_add(1)));
        let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later).unwrap_or_default();
        Micros(now.max(last.saturating_add(1)))
    }
}

impl fmt::Display for Micros {
    /// RFC 3339, UTC, with microseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = instant(self.0 / 1_000_000, self.0 / 1000 % 1000);
        write!(f, "{}{:03}Z", text.trim_end_matches('Z'), self.0 % 1000)
    }
}

/// A name that nothing else has: the time, then sixteen random digits.
pub fn unique_name() -> String {
    let digits: String = Moment::now().to_string().chars().filter(char::is_ascii_digit).take(14).collect();
    format!("{digits}-{:016x}", RandomState::new().build_hasher().finish())
}

/// `seconds` since 1970 as RFC 3339: days become a date by the civil-from-days method of Howard Hinnant, with years that begin in March.
fn instant(seconds: u64, millis: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_those_of_the_calendar() {
        assert_eq!(instant(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(instant(951_782_399, 7), "2000-02-28T23:59:59.007Z");
        assert_eq!(instant(951_782_400, 0), "2000-02-29T00:00:00.000Z");
        assert_eq!(instant(1_000_000_000, 0), "2001-09-09T01:46:40.000Z");
        assert_eq!(instant(4_107_542_400, 0), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn microseconds_are_those_of_the_calendar_and_none_is_given_twice() {
        assert_eq!(Micros(951_782_399_007_008).to_string(), "2000-02-28T23:59:59.007008Z");
        let many: Vec<Micros> = (0..1000).map(|_| Micros::now()).collect();
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_is() {
        for millis in [0, 7, 951_782_399_007, 951_782_400_000, 1_709_164_800_123, 4_107_542_400_000, 253_402_300_799_999] {
            assert_eq!(Moment::read(&Moment(millis).to_string()), Some(Moment(millis)), "{}", Moment(millis));
        }
        assert_eq!(Moment::read("1970-01-01T00:00:01Z"), Some(Moment(1000)));
        assert_eq!(Moment::read("1970-01-01T00:00:00.5Z"), Some(Moment(500)));
        assert_eq!(Moment::read("1970-01-01T00:00:00.123456789Z"), Some(Moment(123)));
        for bad in [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-01-01T00:00:00.Z",
            "1970-13-01T00:00:00Z",
            "1970-01-01 00:00:00Z",
            "é970-01-01T00:00:00Z",
        ] {
            assert_eq!(Moment::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn two_runs_have_two_names() {
        assert_ne!(unique_name(), unique_name());
    }
}
