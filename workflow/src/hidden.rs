//! Characters that people do not see, or see as something else: what they review must not hold them.
//!
//! Control characters, marks of direction and width, fillers, blanks that look like a space and are none. A text with one of them can look like
//! another text, read in another order than it is, or move the cursor of a terminal.

/// Whether `c` is not seen, or seen as something else. A line break and a tab are: who lays lines out exempts them.
///
/// They are the control characters, the default ignorable ones of Unicode, what separates lines, and each space but ` ` and the ideographic one,
/// which is as wide as a letter. U+FE0F, the colourful look of an emoji, is seen.
pub fn is_hidden(c: char) -> bool {
    match c {
        ' '..='~' => false,
        // Spaces that look like ` `.
        '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{2800}' => true,
        // Marks of width, joining and direction; what separates lines and paragraphs; the byte order mark.
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' => true,
        // Fillers and vowels without a shape, selectors of a variant, annotations, and what is no character.
        '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{3164}' | '\u{FFA0}' => true,
        '\u{FE00}'..='\u{FE0E}' | '\u{FFF0}'..='\u{FFFB}' | '\u{FFFE}' | '\u{FFFF}' => true,
        '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}' => true,
        c => c.is_control(),
    }
}

/// `text` with its hidden characters as `\u{…}`.
pub fn revealed(text: &str) -> String {
    revealed_but(text, |_| false)
}

/// As [`revealed`], without those that are `exempt`.
pub fn revealed_but(text: &str, exempt: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && !exempt(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_hidden_and_what_is_seen_is_not() {
        let hidden = ('\u{0}'..='\u{1F}')
            .chain('\u{7F}'..='\u{A0}')
            .chain(['\u{AD}', '\u{61C}', '\u{200B}', '\u{200D}', '\u{200E}', '\u{200F}', '\u{2028}', '\u{2029}', '\u{FEFF}', '\u{E0041}'])
            .chain('\u{202A}'..='\u{202F}')
            .chain('\u{2066}'..='\u{2069}');
        hidden.for_each(|c| assert!(is_hidden(c), "{:x}", u32::from(c)));
        // No character that Unicode calls white space or control is missing, save the two that are seen.
        let blank = ('\u{0}'..=char::MAX).filter(|c| c.is_control() || c.is_whitespace());
        assert_eq!(blank.filter(|c| !is_hidden(*c)).collect::<String>(), " \u{3000}");
        for text in ["Größe → 1 µm", "日本語　です", "שלום", "مرحبا", "हिन्दी", "e\u{301}", "❤\u{FE0F} 🙂"]
        {
            assert_eq!(revealed(text), text);
        }
        assert_eq!(revealed("a\u{202e}b\tc"), "a\\u{202e}b\\u{9}c");
        assert_eq!(revealed_but("a\u{202e}b\tc", |c| c == '\t'), "a\\u{202e}b\tc");
    }
}
