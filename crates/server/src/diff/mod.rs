//! A change as data: files, hunks, lines, and styled spans.
//!
//! It is parsed from git's output and bounded in files, lines and bytes; truncation is reported. It contains
//! no control characters and no invisible characters.

mod highlight;
mod parse;
#[cfg(test)]
mod tests;

use serde::Serialize;
use utoipa::ToSchema;

use parse::parse;

/// How much of a change is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiffLimits {
    pub(crate) files: usize,
    /// Per file.
    pub(crate) lines: usize,
    /// In all files together.
    pub(crate) all_lines: usize,
    /// Per line.
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
#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct Diff {
    pub(crate) files: Vec<DiffFile>,
    /// `true` if files or lines were omitted.
    pub(crate) truncated: bool,
}

/// The kind of change to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileChangeKind {
    Added,
    #[default]
    Modified,
    Deleted,
    Renamed,
}

/// One file of a change.
#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct DiffFile {
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) old_path: Option<String>,
    pub(crate) change: FileChangeKind,
    pub(crate) added: u64,
    pub(crate) removed: u64,
    pub(crate) truncated: bool,
    pub(crate) hunks: Vec<Hunk>,
}

/// Consecutive lines.
#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct Hunk {
    pub(crate) header: String,
    pub(crate) lines: Vec<DiffLine>,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LineKind {
    Context,
    Add,
    Del,
}

/// One line, with its old and new line numbers.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct DiffLine {
    pub(crate) kind: LineKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) old: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) new: Option<u64>,
    pub(crate) spans: Vec<Span>,
}

/// A text with one style.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Span {
    pub(crate) text: String,
    /// The class name; empty for unstyled text.
    #[schema(schema_with = highlight::style_schema)]
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

/// Parses and highlights a change. This takes time and must not run on an async thread.
pub(crate) fn parse_and_highlight(text: &str) -> Diff {
    let mut diff = parse(text, DiffLimits::default());
    highlight::highlight(&mut diff);
    diff
}
