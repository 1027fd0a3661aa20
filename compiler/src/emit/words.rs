//! Documentation: words of others as comments that are only words.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

/// The longest text of others that is shown whole.
const LONGEST: usize = 160;

/// `text` as a part of a line of documentation: on one line, not too long, and without anything that Markdown makes something of.
pub fn words(text: &str) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() || ltc_workflow::hidden::is_hidden(c) { ' ' } else { c }).collect();
    let mut line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(end);
        line.push('…');
    }
    line.chars().flat_map(|c| "\\`*_[]<>#|~&".contains(c).then_some('\\').into_iter().chain([c])).collect()
}

/// `text` as code in a line of documentation.
pub fn code(text: &str) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() || ltc_workflow::hidden::is_hidden(c) { ' ' } else { c }).collect();
    let mut line = visible.trim().to_owned();
    if let Some((end, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(end);
        line.push('…');
    }
    if line.is_empty() {
        return "` `".to_owned();
    }
    if line.contains('`') {
        return words(&line);
    }
    format!("`{line}`")
}

/// A doc comment of these lines. Whatever stands in one, it stays one: a second line could be a fence, and what is behind it a test that is run.
pub fn doc(lines: &[String]) -> TokenStream {
    let lines = lines.iter().map(|line| {
        let line = if line.is_empty() { String::new() } else { format!(" {}", line.replace(char::is_control, " ")) };
        Literal::string(&line)
    });
    quote!(#(#[doc = #lines])*)
}

/// The longest part of a literal that stands on one line.
const LINE: usize = 60;

/// A text as a literal. A long one goes over several lines, each with a `\\` at its end, so that the code around it can still be laid out.
pub fn literal(text: &str) -> Literal {
    let whole = Literal::string(text);
    if text.chars().count() <= LINE + LINE / 3 {
        return whole;
    }
    let mut source = String::from("\"");
    let mut length = 0;
    let mut before = ' ';
    for c in text.chars() {
        // White space at the head of a line would be skipped with the line break.
        let may_break = !c.is_whitespace() && (before.is_whitespace() || length > LINE + LINE / 3);
        if length > LINE && may_break {
            source.push_str("\\\n             ");
            length = 0;
        }
        let escaped = Literal::string(&c.to_string()).to_string();
        source.push_str(escaped.trim_start_matches('"').strip_suffix('"').unwrap_or_default());
        length += 1;
        before = c;
    }
    source.push('"');
    match source.parse::<Literal>() {
        Ok(literal) if syn::parse_str::<syn::LitStr>(&source).is_ok_and(|read| read.value() == text) => literal,
        _ => whole,
    }
}
