//! A line diff of two texts, for people.

use similar::{Algorithm, ChangeTag, capture_diff_slices, group_diff_ops};
use windlass_core::escape_line;

/// Maximum number of lines shown.
const MAX_SHOWN_LINES: usize = 60;
/// Number of equal lines shown around a difference.
const CONTEXT: usize = 2;
/// Maximum number of characters shown per line.
const WIDTH: usize = 200;

/// Returns the diff from `old` to `new`: `-` lines were removed, `+` lines were added. Equal lines
/// far from a difference are omitted.
pub(super) fn diff(old: &str, new: &str) -> String {
    let (old, new) = (split(old), split(new));
    let changes = capture_diff_slices(Algorithm::Myers, &old, &new);
    let mut lines = Vec::new();
    for group in group_diff_ops(changes, CONTEXT) {
        if group
            .first()
            .is_some_and(|first| first.old_range().start > 0)
        {
            lines.push("  …".to_owned());
        }
        for change in group.iter().flat_map(|op| op.iter_changes(&old, &new)) {
            let line = truncate(&escape_line(change.value()));
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(format!("{sign} {line}"));
        }
    }
    let more = lines.len().saturating_sub(MAX_SHOWN_LINES);
    lines.truncate(MAX_SHOWN_LINES);
    if more > 0 {
        lines.push(format!("  … and {more} more lines"));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Splits a text into lines; line endings that differ remain visible.
fn split(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}

fn truncate(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn diff_shows_changes_with_context() {
        let old = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight";
        let new = "one\ntwo\n3\nfour\nfive\nsix\nseven\neight\nnine";
        expect![[r"
              one
              two
            - three
            + 3
              four
              five
              …
              seven
              eight
            + nine
        "]]
        .assert_eq(&diff(old, new));
        expect![[r"
            - a\u{d}
            + a
              b
        "]]
        .assert_eq(&diff("a\r\nb", "a\nb"));
    }

    #[test]
    fn p12_large_diff_is_truncated() {
        let old = "x\n".repeat(10_000);
        let new = format!("y{}\n", "z".repeat(1_000)).repeat(10_000);
        let text = diff(&old, &new);
        assert!(text.len() < 20_000 && text.contains("more lines"), "{text}");
    }
}
