//! Why a text is no cassette.

use super::{FILE_BYTES, LINE_BYTES, VERSION};

/// Why a cassette cannot be read or written. Lines are counted from one.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CassetteError {
    /// The first line does not say which version it is.
    #[error("line 1: a cassette begins with {{\"cassette\":{VERSION}}}")]
    NoVersion,
    /// The version is another one.
    #[error(
        "line 1: the cassette has version {found}, this program reads {VERSION}: record it anew"
    )]
    Version {
        /// The version that the first line names.
        found: u64,
    },
    /// A line is not what a cassette may hold.
    #[error("line {line}: {problem}")]
    Line {
        /// Its number.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A line is too long.
    #[error("line {line}: longer than {LINE_BYTES} bytes")]
    LongLine {
        /// Its number.
        line: usize,
    },
    /// The whole is too long.
    #[error("the cassette is longer than {FILE_BYTES} bytes: record fewer turns into one")]
    LongFile,
}
