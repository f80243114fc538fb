//! `fs_edit`: replaces text in a file.

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::Result;
use windlass_core::{ToolKind, ToolOutput};
use windlass_workspace::paths::{PathError, Root};

use super::TEXT_BYTES;
use crate::handler::{ToolHandler, blocking};
use crate::results::FSResult;

/// The arguments of `fs_edit`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The file, relative to the workspace.
    path: String,
    /// The exact text to replace, with enough context to occur only once.
    old_string: String,
    /// The new text.
    new_string: String,
    /// Replace every occurrence instead of a single one.
    #[serde(default)]
    replace_all: bool,
}

#[derive(Debug)]
pub(crate) struct FsEdit(pub(crate) Root);

impl ToolHandler for FsEdit {
    const NAME: &'static str = "fs_edit";
    const DESCRIPTION: &'static str = "Replace an exact text in a file of the workspace. \
        The text must occur exactly once, unless replace_all is set.";
    const KIND: ToolKind = ToolKind::Write;
    type Input = Input;

    fn run(&self, input: Input) -> BoxFuture<'_, Result<ToolOutput>> {
        let root = self.0.clone();
        Box::pin(async move {
            let edit = move || {
                let Input {
                    path,
                    old_string: old,
                    new_string: new,
                    replace_all: all,
                } = &input;
                fs_edit(&root, path, old, new, *all)
            };
            Ok(blocking(edit).await??.into())
        })
    }
}

/// Replaces a text that occurs once, or every occurrence of it.
pub fn fs_edit(
    root: &Root,
    path: &str,
    old: &str,
    new: &str,
    all: bool,
) -> Result<FSResult, PathError> {
    let content = match root.read(path, TEXT_BYTES) {
        Ok(content) => content,
        Err(error) => return FSResult::from_path_error("edit", error),
    };
    let Ok(text) = String::from_utf8(content) else {
        return Ok(FSResult::failed(format!("edit: not UTF-8 text: {path}")));
    };
    let (edited, lines) = match replace_text(&text, old, new, all) {
        Ok(edit) => edit,
        Err(problem) => return Ok(FSResult::failed(format!("edit: {problem}: {path}"))),
    };
    match root.write(path, edited.as_bytes()) {
        Ok(_) => {
            let lines: Vec<String> = lines.iter().take(20).map(usize::to_string).collect();
            let lines = lines.join(", ");
            Ok(FSResult::done(format!("edited {path} (line {lines})")))
        }
        Err(error) => FSResult::from_path_error("edit", error),
    }
}

/// Returns the text after the replacement, and the numbers of the changed lines.
fn replace_text(
    text: &str,
    old: &str,
    new: &str,
    all: bool,
) -> Result<(String, Vec<usize>), String> {
    if old.is_empty() {
        return Err("the text to replace is empty: use fs_write for a new file".into());
    }
    if old == new {
        return Err("old and new text are the same".into());
    }
    let (mut old, mut new) = (old.to_owned(), new.to_owned());
    if !text.contains(&old) && text.contains("\r\n") && !old.contains('\r') {
        // The file has CRLF line ends, but the model writes LF.
        (old, new) = (old.replace('\n', "\r\n"), new.replace('\n', "\r\n"));
    }
    let starts: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
    let line_of = |at: &usize| text[..*at].matches('\n').count() + 1;
    match starts.len() {
        0 => Err("the text to replace was not found".into()),
        1 => Ok((text.replacen(&old, &new, 1), vec![line_of(&starts[0])])),
        count if !all => {
            let lines: Vec<String> = starts
                .iter()
                .take(10)
                .map(|at| line_of(at).to_string())
                .collect();
            Err(format!(
                "the text to replace occurs {count} times (lines {}), include more context",
                lines.join(", ")
            ))
        }
        _ => Ok((
            text.replace(&old, &new),
            starts.iter().take(20).map(line_of).collect(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::replace_text;

    #[test]
    fn text_must_occur_once() {
        assert_eq!(
            replace_text("a\nb\nc", "b", "x", false).unwrap(),
            ("a\nx\nc".into(), vec![2])
        );
        assert!(
            replace_text("a\nb\nb", "b", "x", false)
                .unwrap_err()
                .contains("2 times (lines 2, 3)")
        );
        assert_eq!(replace_text("b b", "b", "x", true).unwrap().0, "x x");
        assert!(
            replace_text("a", "b", "x", false)
                .unwrap_err()
                .contains("not found")
        );
        assert!(replace_text("a", "", "x", false).is_err());
        assert!(replace_text("a", "a", "a", false).is_err());
    }

    #[test]
    fn crlf_line_ends_are_preserved() {
        let (text, _) = replace_text("a\r\nb\r\nc\r\n", "a\nb", "x\ny", false).unwrap();
        assert_eq!(text, "x\r\ny\r\nc\r\n");
    }
}
