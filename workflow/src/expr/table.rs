//! Tables in texts → lists of objects, one for each row, by the names of the columns: Markdown, boxes as databases draw them, columns of
//! command lines, CSV and its like with tabs, semicolons or bars.
//!
//! Cells are texts without the blanks around them. Ruled tables and columns may stand among other text, of which the first is read;
//! delimited ones are the whole text.

use super::eval::fail;
use crate::advance::Failure;
use crate::value::{Object, Value};
use smol_str::SmolStr;
use std::collections::HashSet;

/// The rows of the table that stands in `text`; none where it has a header only.
///
/// # Errors
/// `not-a-table` where no line is a header, or the lines below it do not fit it.
pub fn parse(text: &str) -> Result<Value, Failure> {
    let lines: Vec<&str> = text.lines().collect();
    ruled(&lines)
        .or_else(|| delimited(text.trim_matches(['\n', '\r'])))
        .or_else(|| columns(&lines))
        .map(|rows| Value::array(rows.into_iter().map(Value::Object).collect()))
        .ok_or_else(|| fail("not-a-table", "the text holds no table: no line is a header that the lines below it fit"))
}

type Rows = Vec<Object>;

/// A table has no more cells: rows may lack some, and a long header above many short lines would be far more than the text is.
const MOST_CELLS: usize = 2_000_000;

/// The names of columns: each says something, and none is there twice.
fn header<'t>(cells: impl IntoIterator<Item = &'t str>) -> Option<Vec<SmolStr>> {
    let (mut names, mut known): (Vec<SmolStr>, HashSet<&str>) = Default::default();
    for cell in cells {
        let cell = cell.trim();
        let name = SmolStr::new(cell);
        if name.is_empty() || !known.insert(cell) {
            return None;
        }
        names.push(name);
    }
    Some(names)
}

/// Cells that are missing at the end of a row are empty; there are no more than names.
fn row<'t>(names: &[SmolStr], cells: impl IntoIterator<Item = &'t str>) -> Object {
    let mut cells = cells.into_iter();
    let cell = |name: &SmolStr| (name.clone(), Value::from(cells.next().unwrap_or_default().trim()));
    Object::from_unique(names.iter().map(cell).collect())
}

fn is_too_large(names: &[SmolStr], rows: usize) -> bool {
    names.len().saturating_mul(rows) > MOST_CELLS
}

/// A header with a line of dashes below it.
fn ruled(lines: &[&str]) -> Option<Rows> {
    let above =
        lines.windows(2).position(|pair| matches!(pair, [head, rule] if !head.trim().is_empty() && !is_rule(head) && is_rule(rule)))?;
    let (head, rule) = (lines.get(above)?, lines.get(above + 1)?);
    let rest = lines.get(above + 2..).unwrap_or_default();
    if head.contains('|') && rule.contains(['|', '+']) {
        let names = header(barred(head).iter().map(String::as_str))?;
        let rows: Vec<&str> = rest.iter().copied().take_while(|l| l.contains('|') || is_rule(l)).filter(|l| !is_rule(l)).collect();
        if is_too_large(&names, rows.len()) {
            return None;
        }
        return Some(rows.into_iter().map(|line| row(&names, barred(line).iter().map(String::as_str))).collect());
    }
    let starts = starts(rule, 1);
    if starts.len() < 2 || rule.contains(['|', '+']) {
        return None;
    }
    let names = header(sliced(head, &starts)?)?;
    let rows: Vec<&str> = rest.iter().copied().take_while(|line| !line.trim().is_empty() && !is_count(line)).collect();
    below(&names, &starts, &rows)
}

/// Rows whose cells start at the same characters as the names.
fn below(names: &[SmolStr], starts: &[usize], rows: &[&str]) -> Option<Rows> {
    if is_too_large(names, rows.len()) {
        return None;
    }
    rows.iter().map(|line| Some(row(names, sliced(line, starts)?))).collect()
}

fn is_rule(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| matches!(c, '-' | '=' | '|' | '+' | ':' | ' ' | '\t'))
}

/// `(2 rows)`, as databases say below a table.
fn is_count(line: &str) -> bool {
    let inner = line.trim().strip_prefix('(').and_then(|l| l.strip_suffix(')')).unwrap_or_default();
    inner.split_once(' ').is_some_and(|(count, word)| count.bytes().all(|b| b.is_ascii_digit()) && matches!(word, "row" | "rows"))
}

/// The cells between bars; `\|` is a bar in a cell.
fn barred(line: &str) -> Vec<String> {
    let line = line.trim();
    let mut cells = vec![String::new()];
    let mut characters = line.strip_prefix('|').unwrap_or(line).chars().peekable();
    while let Some(c) = characters.next() {
        if c == '|' {
            cells.push(String::new());
        } else if let Some(cell) = cells.last_mut() {
            cell.push(if c == '\\' { characters.next_if_eq(&'|').unwrap_or(c) } else { c });
        }
    }
    // The bar at the end of a line starts no cell.
    cells.pop_if(|cell| cell.is_empty());
    cells
}

/// Where the parts of a line start that so many blanks part, in characters.
fn starts(line: &str, least: usize) -> Vec<usize> {
    let mut blanks = least;
    let mut found = Vec::new();
    for (at, c) in line.chars().enumerate() {
        if c.is_whitespace() {
            blanks += 1;
            continue;
        }
        if blanks >= least {
            found.push(at);
        }
        blanks = 0;
    }
    found
}

/// The parts of a line that start at the same characters as the header's; `None` where something stands across a border.
fn sliced<'t>(line: &'t str, starts: &[usize]) -> Option<Vec<&'t str>> {
    let offsets: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
    let offset = |at: usize| offsets.get(at).copied().unwrap_or(line.len());
    let crossed =
        |at: usize| at.checked_sub(1).and_then(|before| line.get(offset(before)..offset(at))).is_some_and(|c| !c.trim().is_empty());
    if starts.iter().any(|at| crossed(*at)) {
        return None;
    }
    let ends = starts.iter().skip(1).copied().chain([usize::MAX]);
    starts.iter().zip(ends).map(|(start, end)| line.get(offset(*start)..offset(end))).collect()
}

/// How long the name of a column may be in a text that only its delimiters make a table, in characters, and of how many words.
const LONGEST_NAME: usize = 40;
const MOST_WORDS_OF_A_NAME: usize = 4;

/// All of a text as records of one length, below the names of their fields.
fn delimited(text: &str) -> Option<Rows> {
    let first = text.lines().next()?;
    let delimiter = [b'\t', b',', b';', b'|'].into_iter().find(|d| first.contains(char::from(*d)))?;
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).has_headers(false).from_reader(text.as_bytes());
    let mut records = reader.records();
    let names = records.next()?.ok()?;
    if names.len() < 2 || !names.iter().all(is_name_of_a_field) {
        return None;
    }
    let names = header(&names)?;
    records.map(|record| Some(row(&names, &record.ok()?))).collect()
}

fn is_name_of_a_field(name: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || " _-.()%#/$".contains(c);
    name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '#')
        && name.chars().all(inner)
        && name.chars().count() <= LONGEST_NAME
        && name.split(' ').count() <= MOST_WORDS_OF_A_NAME
}

/// Columns below names in capitals, as command lines print them.
fn columns(lines: &[&str]) -> Option<Rows> {
    let above = lines.iter().position(|line| is_in_capitals(line))?;
    let head = lines.get(above)?;
    let rows: Vec<&str> = lines.iter().skip(above + 1).copied().take_while(|line| !line.trim().is_empty()).collect();
    aligned(head, &rows).or_else(|| split_alike(head, &rows, wide_parts)).or_else(|| split_alike(head, &rows, parts))
}

fn is_in_capitals(line: &str) -> bool {
    let is_name =
        |word: &str| word.chars().any(char::is_uppercase) && !word.chars().any(char::is_lowercase) && !word.ends_with([':', ',', '.', '!']);
    line.split_whitespace().count() > 1 && line.split_whitespace().all(is_name)
}

/// Rows whose cells start below the names.
fn aligned(head: &str, rows: &[&str]) -> Option<Rows> {
    let starts = starts(head, 2);
    let names = header(sliced(head, &starts)?).filter(|names| names.len() > 1)?;
    below(&names, &starts, rows)
}

/// Rows of as many parts as the header.
fn split_alike(head: &str, rows: &[&str], parts: for<'t> fn(&'t str) -> Vec<&'t str>) -> Option<Rows> {
    let names = header(parts(head)).filter(|names| names.len() > 1)?;
    let fits = |line: &&str| Some(parts(line)).filter(|cells| cells.len() == names.len()).map(|cells| row(&names, cells));
    rows.iter().map(fits).collect()
}

/// The parts of a line between two blanks and more.
fn wide_parts(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn parts(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::json;
    use proptest::prelude::*;

    /// The rows as JSON, or the code of the failure.
    fn read(text: &str) -> String {
        parse(text).map_or_else(|failure| failure.code.to_string(), |rows| json::to_string(&rows))
    }

    #[test]
    fn tables_of_every_kind_are_read() {
        let two = r#"[{"ID":"1","NAME":"a b"},{"ID":"22","NAME":""}]"#;
        for text in [
            "| ID | NAME |\n|---|:--:|\n| 1 | a b |\n| 22 | |\n",
            "Two of them:\n\n| ID | NAME |\n|-|-|\n| 1 | a b |\n| 22 |\n\nThat is | all.",
            " ID | NAME \n----+------\n  1 | a b\n 22 | \n(2 rows)\n",
            "+----+------+\n| ID | NAME |\n+----+------+\n|  1 | a b  |\n| 22 |      |\n+----+------+\n2 rows in set\n",
            "ID  NAME\n--  ----\n1   a b\n22\n",
            "ID,NAME\n1,a b\n22,\n",
            "ID;NAME\r\n1;a b\r\n22;\r\n",
            "ID\tNAME\n1\ta b\n22\t\n",
            "ID|NAME\n1|a b\n22|\n",
            "ID   NAME\n1    a b\n22\n",
        ] {
            assert_eq!(read(text), two, "{text}");
        }
    }

    #[test]
    fn columns_that_do_not_line_up_are_parted_at_their_blanks() {
        assert_eq!(read("NAME STATUS AGE\nweb-1 Running 4m\n"), r#"[{"NAME":"web-1","STATUS":"Running","AGE":"4m"}]"#);
        assert_eq!(read("NAME  SIZE\nabcdefghij  12\nb     1000\n"), r#"[{"NAME":"abcdefghij","SIZE":"12"},{"NAME":"b","SIZE":"1000"}]"#);
        assert_eq!(read("NAME STATUS\nweb-1 not ready\n"), "not-a-table", "it may be either");
    }

    #[test]
    fn quotes_and_escapes_hold_what_else_would_part() {
        assert_eq!(read("id,note\n1,\"a, \"\"b\"\"\nc\"\n"), r#"[{"id":"1","note":"a, \"b\"\nc"}]"#);
        assert_eq!(read("| a | b |\n|---|---|\n| x\\|y | z\\w |"), r#"[{"a":"x|y","b":"z\\w"}]"#);
    }

    #[test]
    fn a_short_text_makes_no_giant_table() {
        let names: String = (0..2_000).map(|n| format!("|A{n}")).collect();
        assert_eq!(read(&format!("{names}\n|-|-|\n{}", "|\n".repeat(2_000))), "not-a-table");
        let names: String = (0..2_000).map(|n| format!("A{n}  ")).collect();
        assert_eq!(read(&format!("{names}\n{}", "x\n".repeat(2_000))), "not-a-table");
    }

    #[test]
    fn a_header_alone_has_no_rows() {
        for text in ["a,b", "a,b\n", "| a | b |\n|---|---|\n", "NAME   AGE\n"] {
            assert_eq!(read(text), "[]", "{text}");
        }
    }

    #[test]
    fn other_texts_hold_no_table() {
        for text in [
            "",
            "a",
            "one line, and no more\nthan two lines",
            "Title\n-----\nText\n",
            "- a\n- b\n---\n- c\n",
            "a,a\n1,2\n",
            "a,b\n1,2\n3\n",
            "id: 1, name: x\nid: 2, name: y\n",
            "No resources found",
            "STATUS: OK\nSIZE: 12\n",
        ] {
            assert_eq!(read(text), "not-a-table", "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[-|+=:,;\\\\\t \nA-Cäß\u{301}\"0-2]{0,60}") {
            if let Ok(rows) = parse(&text) {
                let rows = rows.as_array().unwrap();
                let keys: Vec<Vec<_>> = rows.iter().map(|row| row.as_object().unwrap().iter().map(|(k, _)| k.clone()).collect()).collect();
                prop_assert!(keys.windows(2).all(|pair| pair[0] == pair[1]), "all rows have the same columns");
            }
        }

        #[test]
        fn what_csv_writes_is_read_back(rows in prop::collection::vec(("[a-zA-Z ,\"\n]{0,8}", "[0-9]{1,4}"), 0..5)) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(["note", "n"]).unwrap();
            rows.iter().for_each(|(note, n)| writer.write_record([note, n]).unwrap());
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let wanted: Vec<String> = rows.iter().map(|(note, n)| format!("{{\"note\":{},\"n\":\"{n}\"}}", json::quote(note.trim()))).collect();
            prop_assert_eq!(read(&text), format!("[{}]", wanted.join(",")));
        }
    }
}
