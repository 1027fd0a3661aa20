//! Types as Rust: structs, and how they are read from values and written as values.

use super::types::{Home, Record, Types};
use super::words::{code, doc, words};
use proc_macro2::TokenStream;
use quote::quote;

/// Which of its two ways a struct needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// It is read and written.
    Both,
    /// It is only written.
    Written,
}

impl Types {
    /// The struct, with what reads and writes it.
    pub fn declaration(&self, record: &Record, ways: Ways, home: Home) -> Vec<TokenStream> {
        let name = &record.name;
        let docs = doc(std::slice::from_ref(&record.doc));
        let fields = record.fields.iter().map(|field| {
            let (name, ty) = (&field.name, self.rust(&field.ty, home));
            let ty = if field.optional { quote!(Option<#ty>) } else { ty };
            let said = field.doc.as_deref().map(words).filter(|said| !said.is_empty());
            let docs = doc(&[said.unwrap_or_else(|| code(&field.key))]);
            quote!(#docs pub #name: #ty)
        });
        let other = record.other.iter().map(|other| {
            let docs = doc(&["What the schema does not know.".to_owned()]);
            quote!(#docs pub #other: Object)
        });
        let mut items = vec![quote! {
            #docs
            #[derive(Clone, Debug, Default, PartialEq)]
            pub struct #name { #(#fields,)* #(#other,)* }
        }];
        if ways == Ways::Both {
            items.push(self.reads(record));
        }
        items.push(self.writes(record));
        items
    }

    fn reads(&self, record: &Record) -> TokenStream {
        let name = &record.name;
        let fields = record.fields.iter().map(|field| {
            let (name, key) = (&field.name, field.key.as_str());
            if field.optional { quote!(#name: fields.optional(#key)?) } else { quote!(#name: fields.required(#key)?) }
        });
        let other = record.other.iter().map(|other| quote!(#other: fields.others()));
        let start = match (record.fields.is_empty(), record.other.is_some()) {
            (true, false) => quote!(Fields::of(value)?;),
            (true, true) => quote!(let fields = Fields::of(value)?;),
            (false, _) => quote!(let mut fields = Fields::of(value)?;),
        };
        quote! {
            impl FromValue for #name {
                fn from_value(value: &Value) -> Result<Self, Mismatch> {
                    #start
                    Ok(#name { #(#fields,)* #(#other,)* })
                }
            }
        }
    }

    fn writes(&self, record: &Record) -> TokenStream {
        let name = &record.name;
        let fields = record.fields.iter().map(|field| {
            let (name, key) = (&field.name, field.key.as_str());
            if field.optional { quote!(.with_some(#key, self.#name.as_ref())) } else { quote!(.with(#key, &self.#name)) }
        });
        let other = record.other.iter().map(|other| quote!(.with_others(&self.#other)));
        quote! {
            impl ToValue for #name {
                fn to_value(&self) -> Value {
                    Record::new() #(#fields)* #(#other)* .into()
                }
            }
        }
    }
}
