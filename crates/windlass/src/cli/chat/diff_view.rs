//! Changes of files as styled lines. Pure.

use anstyle::{AnsiColor, Style};
use similar::{Algorithm, ChangeTag, capture_diff_slices, group_diff_ops};
use windlass_acp::FileEdit;
use windlass_core::escape_line;

use crate::cli::console::{QUIET, STRONG};

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const HUNK: Style = AnsiColor::Cyan.on_default();

/// Lines of context around a changed line.
const CONTEXT: usize = 2;
/// Maximum number of lines that are shown of the edit of one file.
const MAX_EDIT_LINES: usize = 40;
/// Maximum size of a text that is compared line by line.
const MAX_COMPARED_BYTES: usize = 256 << 10;

/// Returns the lines of an edit that an agent requests.
pub(super) fn edit_lines(edit: &FileEdit) -> Vec<String> {
    let old = edit.old.as_deref().unwrap_or_default();
    if old.len() + edit.new.len() > MAX_COMPARED_BYTES {
        let text = format!("(a change of {} bytes)", edit.new.len());
        return vec![styled(QUIET, &text)];
    }
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = edit.new.lines().collect();
    let operations = capture_diff_slices(Algorithm::Myers, &old, &new);
    let mut lines: Vec<String> = Vec::new();
    for (number, group) in group_diff_ops(operations, CONTEXT).iter().enumerate() {
        if number > 0 {
            lines.push(styled(QUIET, "⋮"));
        }
        let changes = group
            .iter()
            .flat_map(|operation| operation.iter_changes(&old, &new));
        for change in changes {
            let text = change.value();
            let (sign, style) = match change.tag() {
                ChangeTag::Insert => ('+', ADDED),
                ChangeTag::Delete => ('-', REMOVED),
                ChangeTag::Equal => (' ', QUIET),
            };
            lines.push(styled(style, &format!("{sign}{text}")));
        }
    }
    shorten(lines, MAX_EDIT_LINES)
}

/// Returns the lines of a unified diff, at most `max` of them.
pub(super) fn unified_lines(diff: &str, max: usize) -> Vec<String> {
    let line = |line: &str| match line.as_bytes() {
        [b'd', b'i', b'f', b'f', b' ', ..] => styled(STRONG, line),
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => styled(STRONG, line),
        [b'@', b'@', ..] => styled(HUNK, line),
        [b'+', ..] => styled(ADDED, line),
        [b'-', ..] => styled(REMOVED, line),
        _ => styled(Style::new(), line),
    };
    shorten(diff.lines().map(line).collect(), max)
}

fn shorten(mut lines: Vec<String>, max: usize) -> Vec<String> {
    if lines.len() > max {
        let rest = lines.len() - max;
        lines.truncate(max);
        lines.push(styled(QUIET, &format!("… {rest} more lines")));
    }
    lines
}

fn styled(style: Style, line: &str) -> String {
    let line = line.replace('\t', "    ");
    format!("{style}{}{style:#}", escape_line(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(lines: Vec<String>) -> Vec<String> {
        lines
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string())
            .collect()
    }

    #[test]
    fn edits_are_shown_with_context_and_limit() {
        let edit = FileEdit {
            path: "a".to_owned(),
            old: Some("1\n2\n3\n4\n".to_owned()),
            new: "1\n2\n3\n\tfour\u{1b}[2J\n".to_owned(),
        };
        assert_eq!(
            plain(edit_lines(&edit)),
            [" 2", " 3", "-4", "+    four\\u{1b}[2J"]
        );
        let edit = FileEdit {
            old: None,
            new: "x\n".repeat(100),
            ..edit
        };
        let lines = plain(edit_lines(&edit));
        assert_eq!(lines.len(), MAX_EDIT_LINES + 1);
        assert_eq!(lines[MAX_EDIT_LINES], "… 60 more lines");
    }

    #[test]
    fn unified_diff_is_shown_as_it_is() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n c\n";
        assert_eq!(plain(unified_lines(diff, 100)).join("\n") + "\n", diff);
        assert_eq!(plain(unified_lines(diff, 2))[2], "… 5 more lines");
    }
}
