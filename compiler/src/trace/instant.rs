//! Instants: RFC 3339 text ↔ nanoseconds since 1970, exact both ways.

/// The instant that an RFC 3339 `text` names, in nanoseconds since 1970-01-01T00:00:00Z.
///
/// A blank in place of the `T` is read, and a text without a zone is taken as UTC: some recorders write both. Digits past the ninth of a
/// fraction are cut. A leap second is read as the second after it.
pub fn parse(text: &str) -> Option<i128> {
    let mut reader = Digits { rest: text.trim() };
    let (year, month, day) = (reader.number(4)?, reader.after('-')?.number(2)?, reader.after('-')?.number(2)?);
    if !reader.rest.starts_with(['T', 't', ' ']) {
        return None;
    }
    reader.skip();
    let (hour, minute, second) = (reader.number(2)?, reader.after(':')?.number(2)?, reader.after(':')?.number(2)?);
    let nanos = reader.fraction()?;
    let offset = reader.zone()?;
    let in_range = (1..=12).contains(&month) && day >= 1 && day <= days_in(year, month) && hour < 24 && minute < 60 && second <= 60;
    if !in_range || !reader.rest.is_empty() {
        return None;
    }
    let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset * 60;
    Some(i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
}

/// `nanos` since 1970 as RFC 3339 in UTC, with as many digits of a fraction as it needs (0, 3, 6 or 9); nothing outside the years 0 to 9999.
pub fn print(nanos: i128) -> Option<String> {
    let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
    let fraction = nanos.rem_euclid(1_000_000_000);
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
    if !(0..=9999).contains(&year) {
        return None;
    }
    let of_day = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    let fraction = match fraction {
        0 => String::new(),
        f if f % 1_000_000 == 0 => format!(".{:03}", f / 1_000_000),
        f if f % 1_000 == 0 => format!(".{:06}", f / 1_000),
        f => format!(".{f:09}"),
    };
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

struct Digits<'t> {
    rest: &'t str,
}

impl Digits<'_> {
    fn skip(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        let head = self.rest.get(..digits)?;
        if !head.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        self.rest = self.rest.get(digits..)?;
        head.parse().ok()
    }

    fn after(&mut self, mark: char) -> Option<&mut Self> {
        self.rest = self.rest.strip_prefix(mark)?;
        Some(self)
    }

    fn fraction(&mut self) -> Option<i64> {
        let Some(rest) = self.rest.strip_prefix(['.', ',']) else {
            return Some(0);
        };
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        let digits = rest.get(..count).filter(|d| !d.is_empty())?;
        self.rest = rest.get(count..)?;
        format!("{digits:0<9}").get(..9)?.parse().ok()
    }

    /// The offset in minutes.
    fn zone(&mut self) -> Option<i64> {
        let sign = match self.rest.chars().next() {
            None => return Some(0),
            Some('Z' | 'z') => {
                self.skip();
                return Some(0);
            }
            Some('+') => 1,
            Some('-') => -1,
            Some(_) => return None,
        };
        self.skip();
        let hours = self.number(2)?;
        self.rest = self.rest.strip_prefix(':').unwrap_or(self.rest);
        let minutes = self.number(2)?;
        (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01 of a date in the Gregorian calendar. The year is made to begin in March, so that the leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse("2000-02-29T12:00:00Z"), Some(951_825_600_000_000_000));
        assert_eq!(parse("1969-12-31T23:59:59.5Z"), Some(-500_000_000));
        assert_eq!(parse("2026-01-02T03:04:05.006Z"), parse("2026-01-02T04:04:05.006+01:00"));
        assert_eq!(parse("2026-01-02 03:04:05.006"), parse("2026-01-02T03:04:05.006000Z"));
        assert_eq!(parse("2016-12-31T23:59:60Z"), parse("2017-01-01T00:00:00Z"));
    }

    #[test]
    fn what_is_no_instant() {
        for text in
            ["", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-01-01", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00Zx", "１"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(print(i128::MAX), None);
    }

    #[test]
    fn printing_is_the_inverse() {
        for nanos in
            [0, 1, -1, 1_772_704_809_400_000_000, 951_825_600_000_000_000, -62_167_219_200_000_000_000, 253_402_300_799_999_999_999]
        {
            assert_eq!(print(nanos).as_deref().and_then(parse), Some(nanos));
        }
        assert_eq!(print(1_772_704_809_400_000_000).as_deref(), Some("2026-03-05T10:00:09.400Z"));
    }
}
