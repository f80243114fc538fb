//! What a reader of a test result must know about how far it can be trusted.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A remark about a test run, with a name that tools can match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestNote {
    /// What kind of remark it is.
    pub kind: TestNoteKind,
    /// One sentence for the reader.
    pub detail: String,
}

impl TestNote {
    /// Creates a note.
    pub fn new(kind: TestNoteKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
        }
    }
}

impl fmt::Display for TestNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.detail)
    }
}

/// The kinds of [`TestNote`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TestNoteKind {
    /// The runner is not known, or does not name its cases: the exit code decides, and
    /// [`TestResult::cases`](crate::TestResult::cases) is `None`.
    UnknownRunner,
    /// The runner ended successfully and ran no test. The run did not pass.
    NoTests,
    /// Exit code, report and output contradict each other.
    ReportMismatch,
    /// The report or the output was larger than the limits. Some cases are missing.
    TooManyCases,
    /// Any other remark. Names of a later version are read as this.
    #[serde(other)]
    Other,
}

impl TestNoteKind {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownRunner => "unknown-runner",
            Self::NoTests => "no-tests",
            Self::ReportMismatch => "report-mismatch",
            Self::TooManyCases => "too-many-cases",
            Self::Other => "other",
        }
    }
}
