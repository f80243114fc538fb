//! What people and agents see of a conflict: the conflicting lines of both sides.

use windlass_tasks::ConflictingFile;

use super::merge::MergeConflict;
use crate::error::Result;
use crate::git::{Git, PrivateGitDir};

/// Maximum number of files that are shown.
const MAX_FILES: usize = 10;
/// Maximum size of the lines that are shown of one file.
const MAX_LINES_BYTES: usize = 3 << 10;
/// Maximum size of a file that is read.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Returns the conflicting files with both sides.
pub(super) async fn files(
    git: &Git,
    objects: &PrivateGitDir,
    conflict: &MergeConflict,
) -> Result<Vec<ConflictingFile>> {
    let mut files = Vec::new();
    for path in conflict.files.iter().take(MAX_FILES) {
        let object = format!("{}:{path}", conflict.tree);
        let command = objects.command(git).max_output(MAX_FILE_BYTES);
        let output = command.output(&["cat-file", "blob", &object]).await?;
        let text = if output.code == 0 {
            output.stdout.text()
        } else {
            String::new()
        };
        files.push(ConflictingFile {
            path: path.clone(),
            lines: conflicting_lines(&text),
        });
    }
    Ok(files)
}

/// Returns the parts of a text between conflict markers, with the markers.
fn conflicting_lines(text: &str) -> String {
    let mut lines = String::new();
    let mut is_inside = false;
    for line in text.lines() {
        is_inside |= line.starts_with("<<<<<<< ");
        if !is_inside {
            continue;
        }
        if lines.len() + line.len() > MAX_LINES_BYTES {
            lines.push_str("[…]\n");
            break;
        }
        // The names behind the markers are those of commits.
        let is_marker = ["<<<<<<< ", ">>>>>>> "]
            .iter()
            .any(|marker| line.starts_with(marker));
        lines.push_str(if is_marker { &line[..7] } else { line });
        lines.push('\n');
        is_inside &= !line.starts_with(">>>>>>> ");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_conflicting_lines_are_shown() {
        let text = "a\n<<<<<<< 1234\nours\n=======\ntheirs\n>>>>>>> 5678\nb\n";
        let shown = "<<<<<<<\nours\n=======\ntheirs\n>>>>>>>\n";
        assert_eq!(conflicting_lines(text), shown);
        assert_eq!(conflicting_lines("a\n=======\nb\n"), "");
        let long = format!("<<<<<<< x\n{}\n", "ä\n".repeat(9000));
        let shown = conflicting_lines(&long);
        assert!(shown.len() < MAX_LINES_BYTES + 20 && shown.ends_with("[…]\n"));
    }
}
