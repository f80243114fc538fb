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

/// What is wanted of a change.
#[derive(Debug, Clone)]
pub(crate) struct DiffPart {
    /// Only this file.
    pub(crate) path: Option<String>,
    /// Whether the lines are highlighted.
    pub(crate) highlight: bool,
}

/// Parses a change and highlights it. This takes time and must not run on an async thread.
pub(crate) fn parse_diff(text: &str, part: &DiffPart) -> Diff {
    let mut diff = match &part.path {
        None => parse(text, DiffLimits::default()),
        Some(path) => parse_file(text, path),
    };
    if part.highlight {
        highlight::highlight(&mut diff);
    }
    diff
}

/// Parses one file of a change. It can have as many lines as a whole change.
fn parse_file(text: &str, path: &str) -> Diff {
    let limits = DiffLimits::default();
    let limits = DiffLimits {
        lines: limits.all_lines,
        ..limits
    };
    let mut parsed = sections(text).map(|section| parse(section, limits));
    let found = parsed.find(|diff| diff.files.iter().any(|file| file.path == path));
    found.unwrap_or_default()
}

/// Splits git's output before each file.
fn sections(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("\ndiff --git ").map(|(at, _)| at + 1);
    let starts: Vec<usize> = std::iter::once(0).chain(starts).collect();
    let ends = starts.clone().into_iter().skip(1).chain([text.len()]);
    starts
        .into_iter()
        .zip(ends)
        .map(|(start, end)| &text[start..end])
}
