//! `apply_patch`: several files changed at once, all or none.
//!
//! A patch is read ([`parse`], or [`unified`] for plain diffs), each change is found its place in the
//! text of its file ([`place`]), and only when all of them fit is anything written ([`apply`]). The
//! first three are pure.

mod apply;
mod locate;
mod parse;
mod unified;

pub use apply::apply_patch;

pub(crate) use apply::ApplyPatch;

/// What is to be done to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FilePatch {
    /// Make it; there must be none.
    Add { path: String, content: String },
    /// Remove it; it must be there.
    Delete { path: String },
    /// Change pieces of it, and perhaps its name.
    Update {
        path: String,
        to: Option<String>,
        hunks: Vec<Hunk>,
    },
}

impl FilePatch {
    /// The files that it is about: one, or two where it is moved.
    fn paths(self) -> impl Iterator<Item = String> {
        let (path, to) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, to, .. } => (path, to),
        };
        [Some(path), to].into_iter().flatten()
    }
}

/// One piece of a file that is to be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// A line to look for first, after which the piece stands.
    pub(crate) after: Option<String>,
    /// The line, from 1, where the piece is said to begin.
    pub(crate) line: Option<usize>,
    /// Its lines, in order.
    pub(crate) lines: Vec<HunkLine>,
    /// Whether it is the last piece of the file.
    pub(crate) at_end: bool,
    /// Whether the file then ends with a line end, where the patch changes that.
    pub(crate) newline: Option<bool>,
}

/// One line of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HunkLine {
    /// Stays.
    Keep(String),
    /// Goes.
    Remove(String),
    /// Comes.
    Add(String),
}

/// Reads a patch in whichever form it is.
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
