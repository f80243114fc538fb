//! `apply_patch`: changes several files, all or none.
//!
//! A patch is parsed ([`parse`], or [`unified`] for plain diffs), the position of each hunk in its file is
//! located ([`locate`]), and files are written only if all hunks match ([`apply`]). The first three do no
//! I/O.

mod apply;
mod locate;
mod parse;
mod unified;

pub use apply::apply_patch;

pub(crate) use apply::ApplyPatch;

/// The change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FilePatch {
    /// Create the file. It must not exist.
    Add { path: String, content: String },
    /// Delete the file. It must exist.
    Delete { path: String },
    /// Change parts of the file, and optionally move it.
    Update {
        path: String,
        to: Option<String>,
        hunks: Vec<Hunk>,
    },
}

impl FilePatch {
    /// Returns the affected files: one, or two if the file is moved.
    fn paths(self) -> impl Iterator<Item = String> {
        let (path, to) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, to, .. } => (path, to),
        };
        [Some(path), to].into_iter().flatten()
    }
}

/// One changed part of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// A line that precedes the hunk and is searched for first.
    pub(crate) after: Option<String>,
    /// The line, counted from 1, at which the hunk starts according to the patch.
    pub(crate) line: Option<usize>,
    /// The lines, in order.
    pub(crate) lines: Vec<HunkLine>,
    /// Whether the hunk is at the end of the file.
    pub(crate) at_end: bool,
    /// Whether the file ends with a line end after the patch, if the patch changes that.
    pub(crate) newline: Option<bool>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HunkLine {
    /// Unchanged.
    Keep(String),
    /// Removed.
    Remove(String),
    /// Added.
    Add(String),
}

/// Parses a patch in either format.
pub(crate) fn parse_patch(text: &str) -> Result<Vec<FilePatch>, String> {
    let text = text.trim_matches('\n');
    if text.trim_start().starts_with("*** Begin Patch") {
        return parse::parse(text);
    }
    if text.lines().any(|line| line.starts_with("+++ ")) {
        return unified::parse(text);
    }
    Err("neither `*** Begin Patch` nor a unified diff".to_owned())
}
