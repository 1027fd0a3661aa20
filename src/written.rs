//! Whether a workflow file is still as `ltc compile` wrote it.
//!
//! The last comment line at the top of a written file holds the digest of all its other lines. A file whose digest no longer fits was edited by
//! hand, and is overwritten only on request; so is a file without one.

use ltc_workflow::digest;

const MARK: &str = "# As `ltc compile` wrote it, while the other lines have the digest ";

/// `yaml` with the mark after its other comment lines at the top.
pub fn marked(yaml: &str) -> String {
    let head = yaml.lines().take_while(|line| line.starts_with('#')).map(|line| line.len() + 1).sum::<usize>().min(yaml.len());
    let (head, body) = yaml.split_at(head);
    format!("{head}{MARK}{}\n{body}", digest_of(yaml))
}

/// Whether `text` is as it was written.
pub fn is_untouched(text: &str) -> bool {
    let mut marks = text.lines().filter_map(|line| line.strip_prefix(MARK));
    let (Some(mark), None) = (marks.next(), marks.next()) else { return false };
    let rest: String = text.split_inclusive('\n').filter(|line| !line.starts_with(MARK)).collect();
    mark == digest_of(&rest)
}

/// Enough of the digest to see an edit; it is no protection against anybody.
fn digest_of(text: &str) -> String {
    digest::of_bytes(text.as_bytes()).chars().take("sha256:".len() + 16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_anywhere_shows() {
        let text = marked("# Compiled.\nworkflow: w\nsteps: []\n");
        assert!(text.starts_with("# Compiled.\n# As `ltc compile` wrote it"), "{text}");
        assert!(is_untouched(&text));
        assert!(!is_untouched(&text.replace("steps: []", "steps: [ ]")));
        assert!(!is_untouched(&text.replace("# Compiled.", "# Compiled!")));
        assert!(!is_untouched(&format!("{text}# more\n")));
        assert!(!is_untouched("workflow: w\nsteps: []\n"));
    }
}
