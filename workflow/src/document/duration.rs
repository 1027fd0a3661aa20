//! Lengths of time: `250ms`, `2s`, `1m30s`, `1h`, `2d`. Units go from the longest to the shortest, each at most once, with whole numbers.

use super::Duration;
use std::fmt;

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

impl Duration {
    /// A length in milliseconds.
    pub fn from_millis(millis: u64) -> Duration {
        Duration { millis }
    }

    /// The length that `text` spells; `90s` and `1m30s` are the same.
    pub fn parse(text: &str) -> Option<Duration> {
        let (mut millis, mut rest, mut next) = (0_u64, text, 0_usize);
        while !rest.is_empty() || next == 0 {
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let (number, behind) = rest.split_at_checked(digits)?;
            let unit = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
            let (name, behind) = behind.split_at_checked(unit)?;
            let (at, (_, length)) = UNITS.iter().enumerate().skip(next).find(|(_, (unit, _))| *unit == name)?;
            millis = millis.checked_add(number.parse::<u64>().ok()?.checked_mul(*length)?)?;
            (rest, next) = (behind, at + 1);
        }
        Some(Duration { millis })
    }
}

impl fmt::Display for Duration {
    /// The one canonical spelling, which [`Duration::parse`] reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.millis == 0 {
            return f.write_str("0s");
        }
        let mut left = self.millis;
        for (unit, length) in UNITS {
            if left >= length {
                write!(f, "{}{unit}", left / length)?;
                left %= length;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings() {
        let cases = [
            ("250ms", 250),
            ("2s", 2000),
            ("1m30s", 90_000),
            ("90s", 90_000),
            ("1h", 3_600_000),
            ("2d", 172_800_000),
            ("0s", 0),
            ("1d1ms", 86_400_001),
        ];
        for (text, millis) in cases {
            assert_eq!(Duration::parse(text), Some(Duration { millis }), "{text}");
        }
        assert_eq!(Duration { millis: 90_000 }.to_string(), "1m30s");
        for text in ["", "5", "s", "1.5s", "-1s", "1s1m", "1s1s", "1 s", "1S", "99999999999999999999s", "9999999999999999999d", "1w"] {
            assert_eq!(Duration::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn printing_is_read_back(millis in any::<u64>()) {
            let duration = Duration { millis };
            prop_assert_eq!(Duration::parse(&duration.to_string()), Some(duration));
        }
    }
}
