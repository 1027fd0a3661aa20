//! Expressions: what stands between `${{` and `}}`.
//!
//! They are total: no user functions, no recursion, loops only over lists that are there, and a budget for work. The syntax is
//! in `expr/parse.rs` and `expr/print.rs` (each the other's inverse), the meaning in `expr/eval.rs`, the functions in `expr/functions.rs`.
//!
//! What is missing: `.key`, `[0]` and `[key == value]` fail where there is nothing. In the left spine of `??` (the left side itself, what a key or
//! an item is taken out of, the first argument of a function) they give the right side instead, as does null.

pub(crate) mod access;
mod budget;
mod compare;
pub mod eval;
mod find;
mod functions;
mod lex;
pub mod names;
mod number;
mod operators;
pub mod parse;
pub mod print;
mod python;
mod scope;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod time;

pub(crate) use budget::measure;
pub(crate) use compare::{equal, extreme, order, sort};
pub use find::{all_between, find_json, lines};
pub(crate) use functions::{EMPTY_LIST, apply, scalar_text};
pub use number::compare as compare_numbers;
pub(crate) use number::{add, multiply, subtract, times};
pub use python::parse as parse_python;
pub use table::parse as parse_table;

use crate::value::Value;
use smol_str::SmolStr;

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A scalar: `null`, `true`, `12`, `'text'`.
    Literal(Value),
    /// What a name stands for: `inputs`, `secrets`, `steps`, `run`, `previous`, `loop`, `error`, `result`, or a variable of a loop.
    Name(SmolStr),
    /// `base.key`, or `base["odd key"]`. It fails where the key is missing, except on the left of `??`.
    Key(Box<Expr>, SmolStr),
    /// `base[0]`, or `base[-1]` from the end.
    Index(Box<Expr>, i64),
    /// `list[path.to.key == value]`: the one item whose field equals the value; it fails where none or several do.
    Pick {
        /// The list.
        list: Box<Expr>,
        /// The path to the field, in an item.
        path: Vec<SmolStr>,
        /// What the field must equal, in the scope outside the brackets.
        equals: Box<Expr>,
    },
    /// `function(argument, …)`
    Call(Function, Vec<Expr>),
    /// `over(list, name, body)`: `body` for each item, which it sees under `name`.
    Over {
        /// Which function.
        function: OverFunction,
        /// The list.
        list: Box<Expr>,
        /// The name of the item in `body`.
        name: SmolStr,
        /// What is evaluated for each item.
        body: Box<Expr>,
    },
    /// `not e`
    Not(Box<Expr>),
    /// `a + b`, `a == b`, `a ?? b` …
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{key: a, "odd key": b}`
    Record(Vec<(SmolStr, Expr)>),
    /// `omit`: as the whole of an argument, an entry or an item, it takes that out.
    Omit,
}

/// Operators between two expressions, from the loosest binding to the tightest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `or`
    Or,
    /// `and`
    And,
    /// `==`: numbers by their value, everything else as JSON.
    Equal,
    /// `!=`
    NotEqual,
    /// `<`: numbers by their value, strings by code points.
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `??`: the right side where the left is null or not there.
    Coalesce,
    /// `+`, on numbers.
    Add,
    /// `-`, on numbers.
    Subtract,
    /// `*`, on numbers.
    Multiply,
}

macro_rules! functions {
    ($(#[$meta:meta])* $enum:ident { $($variant:ident $name:literal $arity:literal $doc:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $enum { $(#[doc = $doc] $variant,)* }

        impl $enum {
            /// All of them, in the order in which they are documented.
            pub const ALL: &[$enum] = &[$($enum::$variant,)*];

            /// The name by which expressions call it.
            pub fn name(self) -> &'static str {
                match self { $($enum::$variant => $name,)* }
            }

            /// How many arguments it takes.
            pub fn arity(self) -> usize {
                match self { $($enum::$variant => $arity,)* }
            }

            /// What it gives, in one sentence.
            pub fn doc(self) -> &'static str {
                match self { $($enum::$variant => $doc,)* }
            }
        }
    };
}

functions! {
    /// The functions of the language. All are total: they give a value or a failure, and they end.
    Function {
        Len "len" 1 "The number of items of a list, entries of an object, or characters of a text.",
        Keys "keys" 1 "The keys of an object, in their order.",
        Values "values" 1 "The values of an object, in the order of their keys.",
        Entries "entries" 1 "The entries of an object as a list of `{key, value}`.",
        FromEntries "from_entries" 1 "The object made of a list of `{key, value}`; the inverse of `entries`.",
        Merge "merge" 2 "Two objects in one; the second wins where both have a key.",
        First "first" 1 "The first item; it fails on an empty list.",
        Last "last" 1 "The last item; it fails on an empty list.",
        Only "only" 1 "The one item of a list; it fails where there are none or several.",
        Reverse "reverse" 1 "The list from its end to its start.",
        Flatten "flatten" 1 "The items of a list of lists, in one list.",
        Concat "concat" 2 "Two lists, one after the other.",
        Unique "unique" 1 "The list without the items that are there already.",
        Sum "sum" 1 "The sum of a list of numbers.",
        Min "min" 1 "The smallest of a list of numbers or texts.",
        Max "max" 1 "The largest of a list of numbers or texts.",
        Join "join" 2 "The texts of a list with a separator between them.",
        Split "split" 2 "The parts of a text between separators.",
        Between "between" 3 "The part of a text after the first `before`, up to the next `after`; an empty one stands for the text's start or end.",
        AllBetween "all_between" 3 "Every part of a text that stands between `before` and `after`, in order.",
        Contains "contains" 2 "Whether a text holds a text, a list an item, or an object a key.",
        StartsWith "starts_with" 2 "Whether a text starts with another.",
        EndsWith "ends_with" 2 "Whether a text ends with another.",
        Replace "replace" 3 "The text with every occurrence of one text replaced by another.",
        Lower "lower" 1 "The text in lower case.",
        Upper "upper" 1 "The text in upper case.",
        Trim "trim" 1 "The text without white space at its ends.",
        Slug "slug" 1 "The text in lower case, with one `-` for each run of other characters than letters and digits, none at its ends.",
        UrlEncode "url_encode" 1 "The text percent-encoded, as a part of a URL.",
        UrlDecode "url_decode" 1 "The text with its percent-encoding taken off.",
        ToString "to_string" 1 "A scalar as text: a number with its digits, `true`, `false`, or the text itself.",
        ToNumber "to_number" 1 "The number that a text spells; it fails on any other text.",
        ParseJson "parse_json" 1 "The value that a JSON text spells; what is no text stays as it is.",
        ParsePython "parse_python" 1 "The value that a Python literal spells: a dict, list, tuple, text, number, `True`, `None`; what is no text stays as it is.",
        ParseTable "parse_table" 1 "The rows of the table that a text holds, as a list of objects of texts by the names of the columns: Markdown, CSV and its like, columns of a command line; what is no text stays as it is.",
        FindJson "find_json" 1 "The first object or list in JSON that stands in a text, with other text around it; what is no text stays as it is.",
        Lines "lines" 1 "The lines of a text that are not blank.",
        ToJson "to_json" 1 "The value as a JSON text on one line, without blanks.",
        Date "date" 1 "The date part `YYYY-MM-DD` of an RFC 3339 instant.",
        AddDays "add_days" 2 "A date or instant so many days later, in the form that it came in.",
    }
}

functions! {
    /// The functions that evaluate an expression for each item of a list.
    OverFunction {
        Map "map" 3 "The list of what the body gives for each item.",
        Filter "filter" 3 "The items for which the body is true.",
        MinBy "min_by" 3 "The item for which the body is smallest, the first of several; it fails on an empty list.",
        MaxBy "max_by" 3 "The item for which the body is largest, the first of several; it fails on an empty list.",
        SortBy "sort_by" 3 "The items by what the body gives, smallest first; equal ones keep their order.",
        Any "any" 3 "Whether the body is true for some item.",
        All "all" 3 "Whether the body is true for every item.",
    }
}

impl Expr {
    /// The name `name`.
    pub fn name(name: impl Into<SmolStr>) -> Expr {
        Expr::Name(name.into())
    }

    /// `self.key`
    #[must_use]
    pub fn key(self, key: impl Into<SmolStr>) -> Expr {
        Expr::Key(Box::new(self), key.into())
    }

    /// `self[index]`
    #[must_use]
    pub fn index(self, index: i64) -> Expr {
        Expr::Index(Box::new(self), index)
    }

    /// `self op other`
    #[must_use]
    pub fn binary(self, op: BinaryOp, other: Expr) -> Expr {
        Expr::Binary(op, Box::new(self), Box::new(other))
    }

    /// `function(self)`
    #[must_use]
    pub fn apply(self, function: Function) -> Expr {
        Expr::Call(function, vec![self])
    }

    /// `function(self, name, body)`
    #[must_use]
    pub fn over(self, function: OverFunction, name: impl Into<SmolStr>, body: Expr) -> Expr {
        Expr::Over { function, list: Box::new(self), name: name.into(), body: Box::new(body) }
    }

    /// `inputs.key`
    pub fn input(key: impl Into<SmolStr>) -> Expr {
        Expr::name("inputs").key(key)
    }

    /// `steps.id`
    pub fn step(id: impl Into<SmolStr>) -> Expr {
        Expr::name("steps").key(id)
    }
}
