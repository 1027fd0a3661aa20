//! Names that look like another name: what a message proposes instead of an unknown one.

/// The candidate that was probably meant by `name`, where one is near enough.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let most = (name.chars().count() / 3).max(2);
    candidates.into_iter().map(|c| (distance(name, c), c)).filter(|(d, _)| *d <= most).min().map(|(_, c)| c)
}

/// Up to `count` candidates, those that look most like `name` first.
pub fn nearest_few<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>, count: usize) -> Vec<&'c str> {
    let mut ranked: Vec<(usize, usize, &str)> =
        candidates.into_iter().take(1000).enumerate().map(|(at, c)| (distance(name, c), at, c)).collect();
    ranked.sort_unstable();
    ranked.into_iter().take(count).map(|(_, _, c)| c).collect()
}

/// A sentence that names what was probably meant, for a message's help.
pub fn did_you_mean<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    nearest(name, candidates).map(|c| format!("the nearest known name is `{c}`"))
}

/// How many characters must change to come from one to the other (the first 64 of each count; case does not).
fn distance(a: &str, b: &str) -> usize {
    let letters = |text: &str| text.chars().take(64).flat_map(char::to_lowercase).collect::<Vec<char>>();
    let (a, b) = (letters(a), letters(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let above = *cell;
            left = (diagonal + usize::from(x != y)).min(above + 1).min(left + 1);
            diagonal = above;
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_found() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(nearest("itmes", ["total", "items"]), Some("items"));
        assert_eq!(nearest("x", ["something"]), None);
        assert_eq!(nearest_few("nam", ["total", "name", "names"], 2), ["name", "names"]);
    }
}
