//! Tokens as the text of a file.

use super::words::doc;
use proc_macro2::TokenStream;
use quote::quote;

/// A Rust file, as tokens.
#[derive(Debug, Default)]
pub struct Module {
    /// What the file is for: the first lines.
    pub doc: Vec<String>,
    /// Its items, in order.
    pub items: Vec<TokenStream>,
}

/// The text of a file.
pub fn file(module: &Module) -> Result<String, String> {
    let mut text = String::new();
    for line in &module.doc {
        text.push_str(format!("//! {line}").trim_end());
        text.push('\n');
    }
    let mut was_line = false;
    for item in &module.items {
        let tokens = quote!(#item);
        let parsed: syn::File = syn::parse2(tokens.clone()).map_err(|error| format!("{error}: {tokens}"))?;
        let printed = prettyplease::unparse(&parsed);
        // Uses, modules and constants that take a line stand together; everything else stands by itself.
        let is_line = printed.lines().count() == 1;
        if !(is_line && was_line) {
            text.push('\n');
        }
        was_line = is_line;
        text.push_str(&printed);
    }
    Ok(text)
}

/// An item with documentation.
pub fn documented(lines: &[String], item: &TokenStream) -> TokenStream {
    let doc = doc(lines);
    quote!(#doc #item)
}
