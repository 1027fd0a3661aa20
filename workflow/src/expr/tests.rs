//! The laws of expressions: printing and parsing are inverse, and every expression means what the table says.

use super::eval::{Budget, evaluate};
use super::parse::{self, is_name};
use super::print::print;
use super::{BinaryOp, Expr, Function, OverFunction};
use crate::json;
use crate::value::{Number, Value};
use proptest::prelude::*;
use smol_str::SmolStr;

const WORLD: &str = r#"{
    "inputs": {"a": 1, "text": "Total: 12 EUR", "odd key": {"é": true}, "none": null},
    "steps": {
        "search": {"items": [{"id": 7, "n": {"x": "p"}}, {"id": 8, "n": {"x": "q"}}, {"id": 9, "n": {"x": "q"}}, 5], "total": 3},
        "my-step": {"ok": true}, "prose": "no object"
    },
    "secrets": {"TOKEN": "t"},
    "big": 9007199254740993
}"#;

fn value(text: &str) -> String {
    let world = json::parse(WORLD.as_bytes()).unwrap();
    let expr = parse::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    match evaluate(&expr, world.as_object().unwrap(), &mut Budget::default()) {
        Ok(Some(value)) => json::to_string(&value),
        Ok(None) => "omitted".to_string(),
        Err(failure) => failure.code.to_string(),
    }
}

fn message(text: &str) -> String {
    let world = json::parse(WORLD.as_bytes()).unwrap();
    let expr = parse::parse(text).unwrap();
    evaluate(&expr, world.as_object().unwrap(), &mut Budget::default()).unwrap_err().message
}

#[test]
fn operators_bind_as_documented() {
    let cases = [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 2 - 3", "5"),
        ("10 - -1", "11"),
        ("not false and false", "false"),
        ("true or false and false", "true"),
        ("not 1 == 2", "true"),
        ("null ?? 1 + 1", "2"),
        ("null ?? 1 == 1", "true"),
        ("10 == 10.0 and 1e1 == 10", "true"),
        ("[1, {a: 2.0}] == [1.0, {a: 2}]", "true"),
        ("big == 9007199254740992", "false"),
        ("big + 1", "9007199254740994"),
        ("'10' == 10", "false"),
        ("true == 1", "false"),
        ("'a' < 'b' and 2 < 10", "true"),
        ("'a' < 1", "not-comparable"),
        ("1 + 'a'", "wrong-type"),
        ("'x' and true", "not-boolean"),
        ("false and 'x'", "false"),
        ("null or false", "false"),
        ("[1, omit, 2]", "[1,2]"),
        ("{a: omit, 'b c': 1}", "{\"b c\":1}"),
        ("omit", "omitted"),
        ("1 + omit", "omitted"),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_there_fails_or_gives_the_right_side() {
    let cases = [
        ("inputs.b", "no-such-key"),
        ("inputs.b ?? 5", "5"),
        ("inputs.none ?? 5", "5"),
        ("inputs.none.deeper", "no-such-key"),
        ("inputs.none.deeper ?? 5", "5"),
        ("inputs.b.c[0].d ?? 5", "5"),
        ("inputs.b ?? inputs.c ?? 5", "5"),
        ("inputs.b ?? inputs.c", "no-such-key"),
        ("steps.skipped", "no-value"),
        ("steps.skipped.items[0] ?? 'none'", "\"none\""),
        ("previous.search.cursor ?? omit", "omitted"),
        ("secrets.NONE", "no-such-secret"),
        ("steps", "no-such-name"),
        ("elsewhere", "no-such-name"),
        ("steps.search.items[9]", "no-such-item"),
        ("steps.search.items[-1]", "5"),
        ("steps.search.items[-5] ?? 0", "0"),
        ("steps.search.items[id == 7.0].n.x", "\"p\""),
        ("steps.search.items[n.x == 'q']", "several-match"),
        ("steps.search.items[n.x == 'q'] ?? 0", "several-match"),
        ("steps.search.items[id == 1]", "none-matches"),
        ("steps.search.items[id == 1].n ?? 0", "0"),
        ("[1, 2][. == 2]", "2"),
        ("steps.prose.key", "wrong-type"),
        ("steps.prose.key ?? 1", "wrong-type"),
        ("steps['my-step'].ok", "true"),
        ("inputs['odd key']['é']", "true"),
        ("first([]) ?? 0", "0"),
        ("len(steps.skipped.items) ?? 0", "0"),
        ("map(inputs.none, x, x) ?? []", "[]"),
        ("len(inputs.none)", "wrong-type"),
        ("filter(steps.search.items, i, (i.id ?? 0) > 7)", "wrong-type"),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
    assert_eq!(message("steps.search.itmes"), "`steps.search` has no key `itmes`; it has `items`, `total`");
    assert_eq!(message("steps.search.items[id == 1]"), "none of 4 items matches `steps.search.items[id == 1]`");
    assert_eq!(message("1 + len(true)"), "`len` takes a list, an object or a text, not a boolean (in `len(true)`)");
}

#[test]
fn functions_give_what_their_descriptions_say() {
    let cases = [
        ("len('añ😀')", "3"),
        ("len([1, 2])", "2"),
        ("keys({b: 1, a: 2})", r#"["b","a"]"#),
        ("values({b: 1, a: 2})", "[1,2]"),
        ("from_entries(entries({b: 1, a: null}))", r#"{"b":1,"a":null}"#),
        ("merge({a: 1, b: 2}, {b: 3, c: 4})", r#"{"a":1,"b":3,"c":4}"#),
        ("first([1, 2])", "1"),
        ("last([1, 2])", "2"),
        ("last([])", "empty-list"),
        ("only([1])", "1"),
        ("only([1, 2])", "several-match"),
        ("reverse([1, 2])", "[2,1]"),
        ("flatten([[1], [], [2, [3]]])", "[1,2,[3]]"),
        ("concat([1], [2])", "[1,2]"),
        ("unique([1, 1.0, '1', [1], [1.00], null, null])", r#"[1,"1",[1],null]"#),
        ("sum([0.1, 0.2, 1])", "1.3"),
        ("sum([])", "0"),
        ("min([3, 1.0, 2])", "1.0"),
        ("max(['a', 'b'])", "\"b\""),
        ("min([])", "empty-list"),
        ("min([1, 'a'])", "not-comparable"),
        ("join(['a', 1.0, true], ', ')", "\"a, 1.0, true\""),
        ("join([null], '')", "not-text"),
        ("split('a,b,,c', ',')", r#"["a","b","","c"]"#),
        ("split('a', '')", "empty-text"),
        ("between(inputs.text, 'Total: ', ' ')", "\"12\""),
        ("between(inputs.text, '', ':')", "\"Total\""),
        ("between(inputs.text, ': ', '')", "\"12 EUR\""),
        ("between(inputs.text, 'x', '')", "no-such-text"),
        ("between(inputs.text, '12', 'Total')", "no-such-text"),
        ("between('a[1] b[2]', '[', ']')", "\"1\""),
        ("all_between('a[1] b[2] c[', '[', ']')", r#"["1","2"]"#),
        ("all_between('abc', '[', ']')", "[]"),
        ("contains('abc', 'b')", "true"),
        ("contains([1], 1.0)", "true"),
        ("contains({a: 1}, 'a')", "true"),
        ("starts_with('abc', 'ab')", "true"),
        ("ends_with('abc', 'bc')", "true"),
        ("replace('aXbX', 'X', '--')", "\"a--b--\""),
        ("lower('ÄB')", "\"äb\""),
        ("upper('äb')", "\"ÄB\""),
        ("trim(' a\\n')", "\"a\""),
        ("slug('  Hello, Wörld! 2 ')", "\"hello-wörld-2\""),
        ("slug('--')", "\"\""),
        ("url_encode('a b/é~')", "\"a%20b%2F%C3%A9~\""),
        ("url_decode('a%20b%2F%C3%A9+')", "\"a b/é+\""),
        ("url_decode('%zz')", "not-encoded"),
        ("url_decode('%ff')", "not-encoded"),
        ("to_string(1.50)", "\"1.50\""),
        ("to_string(null)", "wrong-type"),
        ("to_number('1.50')", "1.50"),
        ("to_number('007')", "not-a-number"),
        ("to_number(' 7')", "not-a-number"),
        ("parse_json('{\"a\": [1.0]}')", r#"{"a":[1.0]}"#),
        ("parse_json('{')", "not-json"),
        ("parse_python('{\\'a\\': None}')", r#"{"a":null}"#),
        ("parse_table('a,b\\n1,x')", r#"[{"a":"1","b":"x"}]"#),
        ("parse_table([1])", "[1]"),
        ("parse_table('no table')", "not-a-table"),
        ("find_json('two: [1.0, 2] of them')", "[1.0,2]"),
        ("find_json('none')", "no-json"),
        ("lines('a\\n\\n b')", r#"["a"," b"]"#),
        ("lines(1)", "wrong-type"),
        ("to_json({a: [1.0, null]})", r#""{\"a\":[1.0,null]}""#),
        ("to_json(null)", "\"null\""),
        ("date('2024-05-06T07:08:09Z')", "\"2024-05-06\""),
        ("add_days('2024-02-28', 2)", "\"2024-03-01\""),
        ("map([1, 2], x, x + inputs.a)", "[2,3]"),
        ("map([1, 2], x, omit)", "[]"),
        ("map([1, 2], x, map([3], y, x * y))", "[[3],[6]]"),
        ("map([1], x, map([2], x, x))", "[[2]]"),
        ("filter([1, 2, 3], x, x > 1)", "[2,3]"),
        ("min_by([{k: 2, v: 'a'}, {k: 1, v: 'b'}, {k: 1, v: 'c'}], x, x.k).v", "\"b\""),
        ("max_by([{k: 2, v: 'a'}, {k: 2, v: 'b'}], x, x.k).v", "\"a\""),
        ("max_by([], x, x)", "empty-list"),
        ("sort_by([{k: 2}, {k: 1.0}, {k: 1}], x, x.k)", r#"[{"k":1.0},{"k":1},{"k":2}]"#),
        ("sort_by([1, 'a'], x, x)", "not-comparable"),
        ("any([1, 2], x, x == 2)", "true"),
        ("all([1, 2], x, x == 2)", "false"),
        ("all([], x, x)", "true"),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
    let called = |name: &str| cases.iter().any(|(text, _)| text.contains(&format!("{name}(")));
    let names = Function::ALL.iter().map(|f| f.name()).chain(OverFunction::ALL.iter().map(|f| f.name()));
    assert_eq!(names.filter(|n| !called(n)).collect::<Vec<_>>(), Vec::<&str>::new(), "functions without an example");
}

#[test]
fn work_is_bounded() {
    let mut nested = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]".to_string();
    for level in 0..12 {
        nested = format!("map([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], v{level}, {nested})");
    }
    assert_eq!(value(&nested), "too-much-work");
    let mut doubled = "'0123456789'".to_string();
    for _ in 0..40 {
        doubled = format!("replace({doubled}, '0', '00000000000000000000')");
    }
    assert_eq!(value(&doubled), "too-much-work");
    let mut power = "10".to_string();
    for _ in 0..20 {
        power = format!("first(map([{power}], x, x * x))");
    }
    assert_eq!(value(&power), "number-too-large");
}

#[test]
fn mistakes_are_named_with_their_column() {
    let cases = [
        ("", 1, "expected a value, found the end"),
        ("1 +", 4, "expected a value, found the end"),
        ("a b", 3, "expected an operator or the end, found `b`"),
        ("a && b", 3, "`&&` means nothing in an expression; write `and`"),
        ("'é' + lenn(x)", 7, "there is no function `lenn`; the nearest one is `len`"),
        ("len(1, 2)", 1, "`len` takes 1 argument, not 2"),
        ("1 < 2 < 3", 7, "comparisons do not chain; join two with `and`"),
        ("'abc", 1, "a text without its closing quote"),
        ("'a\\q'", 3, "`\\q` is no escape"),
        ("'\\ud83d'", 8, "half of a surrogate pair is no character"),
        ("01", 1, "`01` is not a number as JSON spells them"),
        ("12ab", 3, "a letter directly behind a number"),
        ("a[1.5]", 3, "`1.5` is no index"),
        ("-x", 1, "`-` before something that is no number; write `0 - value`"),
        ("{a: 1, a: 2}", 8, "the key `a` is there twice"),
        ("map(x, steps, 1)", 8, "`steps` means something else and cannot be the name of an item"),
        ("a == not b", 6, "`not` behind an operator that binds tighter stands in parentheses"),
    ];
    for (text, column, start) in cases {
        let error = parse::parse(text).expect_err(text);
        let shown = error.help.as_ref().map_or(error.message.clone(), |h| format!("{}; {h}", error.message));
        assert!(error.column == column && shown.starts_with(start), "{text}: {error:?}");
    }
    for (open, close) in [("(", ")"), ("[", "]"), ("not ", ""), ("{a:", "}"), ("len(", ")")] {
        let text = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert!(parse::parse(&text).unwrap_err().message.contains("levels of nesting"));
    }
    assert!(parse::parse(&"1+".repeat(100_000)).is_err());
    assert!(parse::parse(&format!("a{}", ".b".repeat(100_000))).unwrap_err().message.contains("levels of nesting"));
}

#[test]
fn the_canonical_spelling() {
    let cases = [
        ("(((a)))", "a"),
        ("\"it's\"", "'it\\'s'"),
        ("a[\"b\"]['c d']", "a.b['c d']"),
        ("(a + b) + c", "a + b + c"),
        ("a + (b + c)", "a + (b + c)"),
        ("(a*b)+c", "a * b + c"),
        ("not (not a)", "not not a"),
        ("not (a and b)", "not (a and b)"),
        ("(not a) and b", "not a and b"),
        ("(a ?? b).c", "(a ?? b).c"),
        ("(a == b) == c", "(a == b) == c"),
        ("x[a.b==(c==d)]", "x[a.b == (c == d)]"),
        ("x[ ['a b'].c == 1 ]", "x[['a b'].c == 1]"),
        ("{ 'a' : 1 , 'b c':[ ] }", "{a: 1, 'b c': []}"),
        ("'\\u0000\\u2028\\u{feff}\\ud83d\\ude00'", "'\\u{0}\\u{2028}\\u{feff}😀'"),
        ("map( x , i , i . a )", "map(x, i, i.a)"),
        ("1E+3", "1E+3"),
    ];
    for (text, expected) in cases {
        let expr = parse::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(print(&expr), expected);
    }
}

/// Any text, with many of the characters that mean something somewhere.
pub(crate) fn hostile_text() -> impl Strategy<Value = SmolStr> {
    let piece = prop_oneof![
        // Longer than what readers of YAML look ahead for the `:` behind a key.
        1 => Just("long key ".repeat(150)),
        10 => "[a-z]{1,6}",
        10 => "\\PC{0,4}",
        10 => any::<char>().prop_map(String::from),
        10 => proptest::sample::select(vec![
            "${{",
            "}}",
            "{{",
            "`",
            "\\",
            "<<",
            "- ",
            "#",
            ": ",
            " #",
            "\t",
            "\u{0}",
            "\u{7}",
            "\u{FEFF}",
            "\u{2028}",
            "\u{85}",
            "\u{7f}",
            "\u{9b}",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{ad}",
            "\u{a0}",
            "\u{e0041}",
            "😀",
            " ",
            "1e3",
            "0x10",
            "~",
            "=",
            "\n",
            "\n\n",
            "\r",
            "\r\n",
            "'",
            "\"",
            "null",
            "yes",
            "017",
            "1_000",
            "1:30",
            "---",
            "...",
            "%",
            "@",
            "&a",
            "*a",
            "!t",
            "|",
            ">",
            "? ",
            "[",
            "]",
            "{",
            "}",
            ",",
            "2001-01-01",
            "é",
            "e\u{301}",
            "\u{E000}",
            "\u{FFFE}",
            "\u{10FFFF}",
            "  ",
            "steps.x",
            "$",
        ])
        .prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..5).prop_map(|parts| SmolStr::from(parts.concat()))
}

fn name() -> impl Strategy<Value = SmolStr> {
    "[a-z_][a-zA-Z0-9_]{0,5}".prop_filter("a variable", |n| parse::is_variable(n)).prop_map(SmolStr::from)
}

pub(crate) fn number() -> impl Strategy<Value = Number> {
    "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?".prop_map(|text| Number::parse(&text).unwrap())
}

/// Expressions that a text can spell: names are names, literals are scalars.
pub(crate) fn expression() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        Just(Expr::Literal(Value::Null)),
        any::<bool>().prop_map(|b| Expr::Literal(Value::Bool(b))),
        number().prop_map(|n| Expr::Literal(Value::Number(n))),
        hostile_text().prop_map(|t| Expr::Literal(Value::String(t))),
        name().prop_map(Expr::Name),
        Just(Expr::input("a")),
        Just(Expr::step("s")),
        Just(Expr::Omit),
    ];
    leaf.prop_recursive(6, 40, 4, |inner| {
        let key = prop_oneof![name(), hostile_text(), Just(SmolStr::new("and"))];
        let several = proptest::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            (inner.clone(), key.clone()).prop_map(|(b, k)| b.key(k)),
            (inner.clone(), any::<i64>()).prop_map(|(b, i)| b.index(i)),
            (inner.clone(), proptest::collection::vec(key.clone(), 0..3), inner.clone()).prop_map(|(l, path, e)| Expr::Pick {
                list: Box::new(l),
                path,
                equals: Box::new(e)
            }),
            (proptest::sample::select(Function::ALL.to_vec()), inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(f, a, b, c)| Expr::Call(f, [a, b, c].into_iter().take(f.arity()).collect())),
            (proptest::sample::select(OverFunction::ALL.to_vec()), inner.clone(), name(), inner.clone())
                .prop_map(|(f, l, n, b)| l.over(f, n, b)),
            inner.clone().prop_map(|e| Expr::Not(Box::new(e))),
            (proptest::sample::select(BinaryOp::ALL.to_vec()), inner.clone(), inner.clone()).prop_map(|(op, a, b)| a.binary(op, b)),
            several.clone().prop_map(Expr::List),
            (several, proptest::collection::btree_set(key, 3)).prop_map(|(v, k)| Expr::Record(k.into_iter().zip(v).collect())),
        ]
    })
}

proptest! {
    #[test]
    fn parsing_is_the_inverse_of_printing(expr in expression()) {
        let text = print(&expr);
        prop_assert_eq!(parse::parse(&text), Ok(expr), "{}", text);
    }

    #[test]
    fn any_text_is_refused_or_read(text in "\\PC*") {
        if let Ok(expr) = parse::parse(&text) {
            prop_assert_eq!(parse::parse(&print(&expr)), Ok(expr));
        }
    }

    #[test]
    fn evaluation_ends_with_a_value_or_a_code(expr in expression()) {
        let world = json::parse(WORLD.as_bytes()).unwrap();
        if let Err(failure) = evaluate(&expr, world.as_object().unwrap(), &mut Budget::new(10_000)) {
            prop_assert!(!failure.code.is_empty() && !failure.message.is_empty());
        }
    }

    #[test]
    fn names_are_told_from_texts(text in "[a-zA-Z0-9_.-]{0,4}") {
        let bare = Expr::name("x").key(text.as_str());
        prop_assert_eq!(print(&bare) == format!("x.{text}"), is_name(&text));
    }
}
