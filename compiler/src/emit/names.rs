//! Identifiers: whatever a recording calls a thing, its name in Rust is plain, unique and no keyword.

use crate::names::words_as_they_are;
use proc_macro2::{Ident, Span};
use std::collections::BTreeSet;

/// Words that are no identifiers.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else", "enum", "extern",
    "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv",
    "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof", "union", "unsafe", "unsized",
    "use", "virtual", "where", "while", "yield",
];

/// Words that stand for something in written functions and files.
const TAKEN: &[&str] = &[
    "cx", "input", "found", "gathered", "items", "listed", "round", "attempt", "taken", "lang", "rounds", "result", "stop", "error",
    "steps", "tools", "std", "core", "alloc", "main", "run", "workflow", "clone", "default", "drop",
];

/// Words that are looked for in what was written: where they stand, a file has a `use` line, and a function a variable. No field is called so.
const LOOKED_FOR: &[&str] = &["cx", "error", "input", "lang", "tools"];

/// Types that every written file knows.
const KNOWN_TYPES: &[&str] = &[
    "Self",
    "Context",
    "Stop",
    "Value",
    "Number",
    "Object",
    "Nullable",
    "Input",
    "Output",
    "Question",
    "Fields",
    "Record",
    "Find",
    "Path",
    "Tool",
    "FromValue",
    "ToValue",
    "Mismatch",
    "NativeWorkflow",
    "String",
    "Vec",
    "Option",
    "Some",
    "None",
    "Ok",
    "Err",
    "Result",
    "BTreeMap",
    "Duration",
    "Default",
    "Clone",
    "Debug",
    "PartialEq",
    "Box",
    "Send",
    "Sync",
    "Fn",
    "From",
    "Into",
    "Iterator",
    "Drop",
];

/// Whether a name cannot be that of a crate.
pub fn is_taken(name: &str) -> bool {
    KEYWORDS.contains(&name) || TAKEN.contains(&name)
}

/// The longest name that is kept whole.
const LONGEST: usize = 60;

/// Names that are given out, each once.
#[derive(Clone, Debug, Default)]
pub struct Names {
    given: BTreeSet<String>,
}

impl Names {
    /// A name like `text_like_this` that was not given out before.
    pub fn snake(&mut self, text: &str) -> Ident {
        self.lower(text, is_taken)
    }

    /// As [`Names::snake`], for a field.
    pub fn field(&mut self, text: &str) -> Ident {
        self.lower(text, |name| KEYWORDS.contains(&name) || LOOKED_FOR.contains(&name))
    }

    fn lower(&mut self, text: &str, is_taken: impl Fn(&str) -> bool) -> Ident {
        let words = words(text);
        let name = if words.is_empty() { "unnamed".to_owned() } else { words.join("_") };
        let name = if name.starts_with(|c: char| c.is_ascii_digit()) { format!("n{name}") } else { name };
        let name = if is_taken(&name) { format!("{name}_") } else { name };
        self.fresh(name, "_")
    }

    /// A name like `TextLikeThis` that was not given out before.
    pub fn pascal(&mut self, text: &str) -> Ident {
        let capital = |word: &String| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
        };
        let name: String = words(text).iter().map(capital).collect();
        let name = if name.is_empty() { "Unnamed".to_owned() } else { name };
        let name = if name.starts_with(|c: char| c.is_ascii_digit()) { format!("N{name}") } else { name };
        let name = if KNOWN_TYPES.contains(&name.as_str()) { format!("{name}Type") } else { name };
        self.fresh(name, "")
    }

    fn fresh(&mut self, base: String, separator: &str) -> Ident {
        let base = if base.len() > LONGEST { base.get(..LONGEST).unwrap_or_default().trim_end_matches('_').to_owned() } else { base };
        let mut name = base.clone();
        for number in 2.. {
            if self.given.insert(name.clone()) {
                break;
            }
            let base = base.trim_end_matches('_');
            let between = if separator.is_empty() && base.ends_with(|c: char| c.is_ascii_digit()) { "N" } else { separator };
            name = format!("{base}{between}{number}");
        }
        Ident::new(&name, Span::call_site())
    }
}

/// The words of a text in lower case; what ASCII has no letter for falls away, but for letters that have a common spelling.
fn words(text: &str) -> Vec<String> {
    let spelled: String = text.chars().map(spelled).collect();
    let ascii = |word: String| word.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect::<String>();
    words_as_they_are(&spelled).into_iter().map(ascii).filter(|word| !word.is_empty()).collect()
}

/// A letter as ASCII writes it.
fn spelled(c: char) -> String {
    match c {
        'ä' | 'Ä' => "ae".to_owned(),
        'ö' | 'Ö' => "oe".to_owned(),
        'ü' | 'Ü' => "ue".to_owned(),
        'ß' => "ss".to_owned(),
        'á' | 'à' | 'â' | 'ã' | 'å' => "a".to_owned(),
        'é' | 'è' | 'ê' | 'ë' => "e".to_owned(),
        'í' | 'ì' | 'î' | 'ï' => "i".to_owned(),
        'ó' | 'ò' | 'ô' | 'õ' => "o".to_owned(),
        'ú' | 'ù' | 'û' => "u".to_owned(),
        'ñ' => "n".to_owned(),
        'ç' => "c".to_owned(),
        c if c.is_ascii() => c.to_string(),
        _ => " ".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_may_be_called_as_a_variable_is() {
        let mut names = Names::default();
        let fields: Vec<String> =
            ["round", "result", "type", "self", "round", "lang"].iter().map(|text| names.field(text).to_string()).collect();
        assert_eq!(fields, ["round", "result", "type_", "self_", "round_2", "lang_"]);
        assert_eq!(Names::default().snake("attempt").to_string(), "attempt_");
    }

    #[test]
    fn names_are_plain_and_each_is_given_once() {
        let mut names = Names::default();
        let given: Vec<String> = ["type", "type", "self", "Self", "1st", "größe", "", "日本", "nextCursor", "a-b", "a_b", "_", "\"; x"]
            .iter()
            .map(|text| names.snake(text).to_string())
            .collect();
        let wanted = [
            "type_",
            "type_2",
            "self_",
            "self_2",
            "n1st",
            "groesse",
            "unnamed",
            "unnamed_2",
            "next_cursor",
            "a_b",
            "a_b_2",
            "unnamed_3",
            "x",
        ];
        assert_eq!(given, wanted);
        let types: Vec<String> = ["Self", "list_orders", "listOrders", "1st", "", "value", "v2", "v2"]
            .iter()
            .map(|text| names.pascal(text).to_string())
            .collect();
        assert_eq!(types, ["SelfType", "ListOrders", "ListOrders2", "N1st", "Unnamed", "ValueType", "V2", "V2N2"]);
    }
}
