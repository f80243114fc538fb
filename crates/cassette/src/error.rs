//! Errors of reading and writing cassettes.

use crate::{FILE_BYTES, LINE_BYTES, VERSION};

/// The error of reading or writing a cassette. Lines are counted from one.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CassetteError {
    /// The first line does not contain the version.
    #[error("line 1: a cassette must start with {{\"cassette\":{VERSION}}}")]
    NoVersion,
    /// The version is not supported.
    #[error("line 1: unsupported cassette version {found} (expected {VERSION}): record it again")]
    Version {
        /// The version in the first line.
        found: u64,
    },
    /// A line is invalid.
    #[error("line {line}: {problem}")]
    Line {
        /// The line number.
        line: usize,
        /// The reason.
        problem: String,
    },
    /// A line is too long.
    #[error("line {line}: longer than {LINE_BYTES} bytes")]
    LongLine {
        /// The line number.
        line: usize,
    },
    /// The cassette is too long.
    #[error("the cassette is longer than {FILE_BYTES} bytes: record fewer turns per cassette")]
    LongFile,
}
