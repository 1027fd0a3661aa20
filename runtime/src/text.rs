//! Text that others wrote, made fit for a terminal and a log: no escape sequences, no line breaks, no unseen characters.

use ltc_workflow::hidden::is_hidden;

/// The longest line that is shown whole, in characters.
const LONGEST: usize = 2000;

/// `text` on one line, without anything that a terminal acts on.
pub fn one_line(text: &str) -> String {
    let clean = without_escapes(text);
    let mut words = clean.split('\n').map(str::trim_end).filter(|line| !line.is_empty());
    let mut line = words.next().unwrap_or_default().to_owned();
    for more in words {
        line.push_str(" ⏎ ");
        line.push_str(more.trim_start());
    }
    shortened(&line)
}

/// `text` with its line breaks, without anything else that a terminal acts on.
pub fn lines(text: &str) -> String {
    without_escapes(text)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… ({} characters in all)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

/// Escape sequences go whole (`ESC [ … letter`, `ESC ] … BEL`), and so does every other character that is not seen: with them a text can
/// pretend to be another. What looks like a space becomes one, and a carriage return, which would write over its line, a line break.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => match rest.next() {
                Some('[') => skip_until(&mut rest, |c| ('\u{40}'..='\u{7e}').contains(&c)),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_until(&mut rest, |c| c == '\u{7}' || c == '\\'),
                Some(_) | None => {}
            },
            '\u{9b}' => skip_until(&mut rest, |c| ('\u{40}'..='\u{7e}').contains(&c)),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' | '\r' => out.push('\n'),
            c if !is_hidden(c) => out.push(c),
            c if c.is_whitespace() => out.push(' '),
            _ => {}
        }
    }
    out
}

/// Skips up to and with the first character that ends a sequence; one that never ends takes no more than its own line.
fn skip_until(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, ends: impl Fn(char) -> bool) {
    while let Some(c) = rest.peek().copied() {
        if c == '\n' {
            return;
        }
        rest.next();
        if ends(c) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_nothing_to_act_on() {
        assert_eq!(one_line("\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}x\u{8}\u{9b}2Jy"), "red xy");
        assert_eq!(one_line("a\nerror[fake]: b\r\n"), "a ⏎ error[fake]: b");
        assert_eq!(one_line("a\u{202e}b"), "ab");
        assert_eq!(one_line("a\u{2066}b\u{200b}c\u{a0}d\u{2028}e\u{7f}"), "abc d e");
        assert_eq!(lines("one\r\ntwo\rthree\u{8}"), "one\ntwo\nthree");
        assert_eq!(lines("\u{1b}]never ends\nnext"), "\nnext");
    }

    #[test]
    fn ordinary_text_stays() {
        assert_eq!(one_line("Größe: 1 µm → ok 🙂 ❤\u{fe0f}"), "Größe: 1 µm → ok 🙂 ❤\u{fe0f}");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        let cut = one_line(&"ä".repeat(LONGEST + 1));
        assert_eq!(cut, format!("{}… (2001 characters in all)", "ä".repeat(LONGEST)));
    }
}
