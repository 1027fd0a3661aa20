//! How much a value says, in bits: how unlikely it is that the same value stands somewhere else by chance.
//!
//! The weight is the length of the shortest way to tell the value, of a few ways that people and programs choose values by. A plain word
//! says which word of a vocabulary it is, not which letters it has; a round number says its first digits; a date beside the recording's
//! clock says how many days they are apart. Only what no such way tells shorter is weighed by its characters.

mod letters;

use crate::text::{is_date, tokens};
use crate::trace::instant;

/// A plain word: a few hundred words make up most of what tools list, tag and order by.
const A_WORD: f64 = 8.0;
/// A name: a word with a capital letter, of which there are many more.
const A_NAME: f64 = 12.0;
/// A letter, as long as a word is too short to be weighed as a word.
const A_LETTER: f64 = 2.2;
/// Words longer than this say more with each letter.
const LONG_WORD: f64 = 14.0;
/// A character of what a machine made, from letters and digits.
const A_CHARACTER: f64 = 4.5;
/// A letter that was drawn by lot.
const A_LETTER_BY_LOT: f64 = 3.5;
/// A decimal digit.
const A_DIGIT: f64 = 3.32;
/// To say that a number is told in another way than digit by digit, and in which.
const A_WAY: f64 = 2.0;
/// A sign between tokens.
const A_SEPARATOR: f64 = 0.75;
/// The day of the clock itself, and what else is told from there.
const TODAY: f64 = 3.0;

/// How much `text` says in itself. Rough on purpose.
pub fn bits(text: &str) -> f64 {
    weigh(text)
}

/// Whether a word has letters that were drawn by lot: one of the words of a machine.
pub fn is_drawn(word: &str) -> bool {
    letters::are_drawn(word)
}

/// How much `text` says to who knows the recording's clock, in nanoseconds since 1970: a day near it is no news.
pub fn bits_beside(text: &str, clock: Option<i128>) -> f64 {
    match clock.and_then(|clock| near(text, clock)) {
        Some(told) => told.min(weigh(text)),
        None => weigh(text),
    }
}

/// A date, an instant or a year as its distance from the clock.
fn near(text: &str, clock: i128) -> Option<f64> {
    const A_DAY: i128 = 86_400_000_000_000;
    let midnight = |day: &str| instant::parse(&format!("{day}T00:00:00Z"));
    if is_date(text) {
        let days = (midnight(text.get(..10)?)? - clock.div_euclid(A_DAY) * A_DAY) / A_DAY;
        let time = text.get(10..)?.trim_start_matches(['T', 't', ' ']);
        let of_day = time.split(['Z', 'z', '+', '-']).next()?;
        // Midnight and full hours are round.
        return Some(distance(days) + weigh(of_day.trim_end_matches(['0', ':', '.'])));
    }
    if !is_year(text) {
        return None;
    }
    let year: i128 = text.parse().ok()?;
    let now: i128 = instant::print(clock)?.get(..4)?.parse().ok()?;
    Some(distance(year - now))
}

/// What it takes to tell how far away something is that is likely to be near.
fn distance(steps: i128) -> f64 {
    let steps = f64::from(u32::try_from(steps.unsigned_abs()).unwrap_or(u32::MAX));
    TODAY + 2.0 * (1.0 + steps).log2()
}

fn weigh(text: &str) -> f64 {
    let mut sum = 0.0;
    let mut separators = 0.0;
    let mut last = 0;
    let mut after_word = false;
    for token in tokens(text) {
        let between = text.get(last..token.start).unwrap_or_default();
        separators += count(between);
        let kind = kind(text.get(token.start..token.end).unwrap_or_default());
        sum += match kind {
            Kind::Word(bits) if after_word => bits * after(between),
            Kind::Word(bits) | Kind::Name(bits) | Kind::Number(bits) | Kind::Opaque(bits) => bits,
        };
        after_word = matches!(kind, Kind::Word(_));
        last = token.end;
    }
    separators += count(text.get(last..).unwrap_or_default());
    sum + separators.min(8.0) * A_SEPARATOR
}

/// How much of a word is news after the word before it, by what ties them: `needs_review` is hardly more than one word of a program's list,
/// `image/png` and a sentence are more, and what has other signs between its words is an address or a sum.
fn after(sign: &str) -> f64 {
    match sign {
        "_" => 0.25,
        "-" | " " | "/" => 0.5,
        _ => 1.0,
    }
}

/// What a token is, with what it says.
enum Kind {
    Word(f64),
    Name(f64),
    Number(f64),
    Opaque(f64),
}

fn kind(token: &str) -> Kind {
    let length = count(token);
    let digits = count_where(token, char::is_numeric);
    if digits == length {
        return Kind::Number(number(token));
    }
    if digits > 0.0 {
        let word = token.trim_end_matches(char::is_numeric);
        let letters = count(word);
        let is_word_with_number = digits <= 2.0 && letters > 2.0 && letters + digits == length && word.chars().all(char::is_lowercase);
        return Kind::Opaque(if is_word_with_number { word_of(letters, A_WORD) + A_DIGIT * digits } else { A_CHARACTER * length });
    }
    if letters::are_drawn(token) {
        return Kind::Opaque(A_LETTER_BY_LOT * length);
    }
    let upper = count_where(token, char::is_uppercase);
    let starts_upper = token.chars().next().is_some_and(char::is_uppercase);
    if upper == 0.0 || upper == length {
        return Kind::Word(word_of(length, A_WORD));
    }
    if upper == 1.0 && starts_upper {
        return Kind::Name(word_of(length, A_NAME));
    }
    // `createdAt` is words; where a capital comes every other letter, there are none.
    let parts = upper + if starts_upper { 0.0 } else { 1.0 };
    if length / parts >= 3.0 {
        Kind::Word(word_of(length, A_WORD) + (parts - 1.0) * A_WORD / 2.0)
    } else {
        Kind::Opaque(A_LETTER_BY_LOT * length)
    }
}

fn word_of(letters: f64, most: f64) -> f64 {
    (A_LETTER * letters).min(most) + (letters - LONG_WORD).max(0.0)
}

/// The shortest of the ways to tell a number.
fn number(digits: &str) -> f64 {
    let plain = A_DIGIT * count(digits);
    [round(digits), repeated(digits), row(digits), power_of_two(digits), time(digits), year(digits)]
        .into_iter()
        .flatten()
        .fold(plain, f64::min)
}

/// `1200` is 12, and zeros.
fn round(digits: &str) -> Option<f64> {
    let first = digits.trim_end_matches('0');
    (first.len() < digits.len()).then(|| A_DIGIT * count(first) + A_WAY)
}

/// `8080` is 80, and again.
fn repeated(digits: &str) -> Option<f64> {
    let again = |length: &usize| digits.len().is_multiple_of(*length) && digits.get(..digits.len() - length) == digits.get(*length..);
    let length = (1..digits.len()).find(again)?;
    Some(A_DIGIT * count(digits.get(..length)?) + A_WAY)
}

/// `1234` starts at 1 and counts.
fn row(digits: &str) -> Option<f64> {
    let steps: Vec<i16> = digits.as_bytes().windows(2).filter_map(|w| Some(i16::from(*w.get(1)?) - i16::from(*w.first()?))).collect();
    let counts = |by: i16| steps.iter().all(|step| *step == by);
    (digits.len() > 2 && (counts(1) || counts(-1))).then_some(A_DIGIT + A_WAY + 1.0)
}

/// `4096`, and `4095`: which of 64.
fn power_of_two(digits: &str) -> Option<f64> {
    let number: u128 = digits.parse().ok()?;
    (number.is_power_of_two() || number.checked_add(1)?.is_power_of_two()).then_some(6.0 + A_WAY)
}

/// `1800` is 30 minutes, in seconds or in thousandths of them.
fn time(digits: &str) -> Option<f64> {
    let number: u128 = digits.parse().ok()?;
    let in_units = |unit: u128| {
        let units = (number > 0 && number.is_multiple_of(unit)).then(|| (number / unit).to_string())?;
        Some(round(&units).unwrap_or(A_DIGIT * count(&units)) + A_WAY + 1.0)
    };
    [60, 3_600, 86_400, 3_600_000, 86_400_000].into_iter().filter_map(in_units).reduce(f64::min)
}

/// One of two hundred years.
fn year(digits: &str) -> Option<f64> {
    is_year(digits).then_some(8.0)
}

fn is_year(digits: &str) -> bool {
    digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20")) && digits.bytes().all(|b| b.is_ascii_digit())
}

fn count(text: &str) -> f64 {
    count_where(text, |_| true)
}

fn count_where(text: &str, test: impl Fn(char) -> bool) -> f64 {
    let n = text.chars().filter(|c| test(*c)).count();
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it takes to name a place in a result.
    const A_PLACE: f64 = 9.25;

    #[test]
    fn ids_say_more_than_words_and_words_more_than_small_numbers() {
        assert!(bits("usr_8f3k2m1x") > 30.0);
        assert!(bits("overdue") > 7.0 && bits("12") < bits("overdue"));
        assert!(bits("12") < 8.0 && bits("1") < 4.0 && bits("en") < 5.0);
        assert!(bits("https://shop.example.com/api") > 30.0);
    }

    #[test]
    fn a_word_alone_is_no_evidence_however_long_it_is_nor_in_capitals() {
        for word in ["open", "standard", "continental", "ACTIVE", "in_progress", "UTC"] {
            assert!(bits(word) < A_PLACE, "{word}: {}", bits(word));
        }
        for text in ["acme-docs-site", "qf7x2", "Ada Marsh", "ada@example.com"] {
            assert!(bits(text) > A_PLACE, "{text}: {}", bits(text));
        }
    }

    #[test]
    fn a_number_that_is_told_shorter_than_by_its_digits_is_no_evidence() {
        for number in ["100", "1200", "3600", "8080", "1024", "65535", "86400", "604800", "5000000", "1111", "1234", "2026"] {
            assert!(bits(number) < A_PLACE, "{number}: {}", bits(number));
        }
        for number in ["48213", "7391", "120450", "90217"] {
            assert!(bits(number) > A_PLACE, "{number}: {}", bits(number));
        }
    }

    #[test]
    fn a_date_says_how_far_it_is_from_the_clock() {
        let clock = instant::parse("2026-02-03T09:00:00Z");
        let says = |text: &str| bits_beside(text, clock);
        assert!(says("2026-02-03") < 4.0 && says("2026-02-04") < 6.0 && says("2026-01-30") < A_PLACE);
        assert!(says("2025-11-17") > A_PLACE && says("2031-04-19") > A_PLACE);
        assert!(says("2026-02-03T00:00:00Z") < A_PLACE && says("2026-02-03T08:41:17Z") > A_PLACE);
        assert!(says("2026") < 4.0 && says("2024") < 7.0);
        assert!(bits_beside("2026-02-03", None) > 20.0);
    }
}
