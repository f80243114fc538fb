//! A change as data: files, hunks, lines, and words with the names of their colours.
//!
//! Made from what git prints, bounded in files, lines and bytes; what is left out is said. Nothing in it commands a terminal or
//! hides from a reader.

mod highlight;
mod parse;
#[cfg(test)]
mod tests;

use serde::Serialize;

use parse::parse;

/// How much of a change is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiffLimits {
    pub(crate) files: usize,
    /// In one file.
    pub(crate) lines: usize,
    /// In all files.
    pub(crate) all_lines: usize,
    /// In one line.
    pub(crate) line_bytes: usize,
}

impl Default for DiffLimits {
    fn default() -> Self {
        Self {
            files: 300,
            lines: 3_000,
            all_lines: 15_000,
            line_bytes: 2_000,
        }
    }
}

/// A change.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Diff {
    pub(crate) files: Vec<DiffFile>,
    /// Whether files or lines are left out.
    pub(crate) truncated: bool,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileChangeKind {
    Added,
    #[default]
    Modified,
    Deleted,
    Renamed,
}

/// One file of a change.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct DiffFile {
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old_path: Option<String>,
    pub(crate) change: FileChangeKind,
    pub(crate) added: u64,
    pub(crate) removed: u64,
    pub(crate) truncated: bool,
    pub(crate) hunks: Vec<Hunk>,
}

/// Lines that stand together.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Hunk {
    pub(crate) header: String,
    pub(crate) lines: Vec<DiffLine>,
}

/// On which side a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LineKind {
    Context,
    Add,
    Del,
}

/// One line, with its numbers before and after.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct DiffLine {
    pub(crate) kind: LineKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<u64>,
    pub(crate) spans: Vec<Span>,
}

/// Words of one colour.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Span {
    pub(crate) text: String,
    /// The name of a class; empty for plain words.
    pub(crate) style: &'static str,
}

impl Span {
    fn unstyled(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            style: "",
        }
    }
}

/// Reads and colours a change. It takes a while: not for a thread that others wait for.
pub(crate) fn parse_and_highlight(text: &str) -> Diff {
    let mut diff = parse(text, DiffLimits::default());
    highlight::highlight(&mut diff);
    diff
}
