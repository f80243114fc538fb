//! Proofs: the record that a change passed the tests.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use windlass_core::Timestamp;

use crate::base::BasePart;
use crate::cases::CaseChanges;
use crate::record::{TestCounts, TestResult};

/// The record that a change passed the tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The commit the attempt started from.
    pub base: String,
    /// The changes of other tasks in the base that were not in its target yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_parts: Vec<BasePart>,
    /// The commit that contains the change.
    pub commit: String,
    /// The hash of that commit's tree.
    pub tree: String,
    /// The test command.
    pub command: Vec<String>,
    /// The part of a monorepo that was tested. `None` if the repository was tested as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<ProvedPart>,
    /// The exit code: zero.
    pub exit_code: i32,
    /// The counts of the run.
    pub counts: TestCounts,
    /// The SHA-256 of the test output.
    pub log_sha256: String,
    /// The duration of the tests.
    pub duration_ms: u64,
    /// The command that prepared the checkout. May be empty.
    #[serde(default)]
    pub setup: Vec<String>,
    /// The differences from the baseline, with the tests of the change. `None` if the cases are unknown.
    #[serde(default)]
    pub cases: Option<CaseChanges>,
    /// The run on the base commit, before the change.
    #[serde(default)]
    pub baseline: Option<TestSummary>,
    /// The run of the change with the test files, runner configuration and scripts of the base.
    #[serde(default)]
    pub base_tests: Option<TestSummary>,
    /// What a reviewer must look at. A proof with warnings needs a review.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// The number of added and removed lines. Earlier versions did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// When the proof was made.
    pub at: Timestamp,
}

impl Proof {
    /// Returns `true` if a person must review the change before it is merged.
    pub fn needs_review(&self) -> bool {
        !self.warnings.is_empty()
    }
}

/// The projects of a monorepo that a proof is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvedPart {
    /// Their directories.
    pub projects: Vec<String>,
    /// The command that tests the whole repository.
    pub whole: Vec<String>,
}

/// One test run, without its output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestSummary {
    /// The command.
    pub command: Vec<String>,
    /// The exit code, if any.
    pub exit_code: Option<i32>,
    /// The counts; zero if the runner's output is not understood.
    pub counts: TestCounts,
    /// The SHA-256 of the output.
    pub log_sha256: String,
    /// The duration.
    pub duration_ms: u64,
    /// The differences from the baseline. `None` for the baseline, and if the cases are unknown.
    #[serde(default)]
    pub cases: Option<CaseChanges>,
}

impl TestSummary {
    /// Summarizes a test run.
    pub fn new(result: &TestResult, cases: Option<CaseChanges>) -> Self {
        Self {
            command: result.command.clone(),
            exit_code: result.exit_code,
            counts: result.counts,
            log_sha256: result.output_sha256.clone(),
            duration_ms: result.duration_ms,
            cases,
        }
    }
}

/// A reason to review a change, with a name that tools can match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// What kind of reason it is.
    pub kind: WarningKind,
    /// One sentence for the reviewer.
    pub detail: String,
}

impl Warning {
    /// Creates a warning.
    pub fn new(kind: WarningKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.detail)
    }
}

/// Proofs of version 0.1 have warnings without a kind.
impl<'de> Deserialize<'de> for Warning {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum AnyWarning {
            Text(String),
            Named { kind: WarningKind, detail: String },
        }
        Ok(match AnyWarning::deserialize(deserializer)? {
            AnyWarning::Text(detail) => Self::new(WarningKind::Other, detail),
            AnyWarning::Named { kind, detail } => Self { kind, detail },
        })
    }
}

/// The kinds of [`Warning`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WarningKind {
    /// Tests were removed, emptied or renamed.
    RemovedTests,
    /// Tests that passed before are now skipped.
    SkippedTests,
    /// Test files were changed, and the change fails the tests of the base.
    ChangedTests,
    /// Runner configuration, scripts or hooks that decide how tests run were changed.
    ChangedRunner,
    /// Tests failed and then passed on the same files.
    FlakyTests,
    /// Tests fail that failed before the change.
    StillFailing,
    /// The test runner's output is not understood; only the exit code was checked.
    UnknownRunner,
    /// The baseline could not be compared.
    NoBaseline,
    /// The agent could reach every network host.
    OpenNetwork,
    /// The change has code that alters how tests are collected, run or reported.
    TestTampering,
    /// The change has code that behaves differently under test.
    DetectsTests,
    /// The files in the agent's clone changed after the tested commit was made. They are not part of it.
    EditedAfterTests,
    /// The change has files that run or leak when it is checked out: hooks, `.env`, links out of the repository.
    RiskyFiles,
    /// Any other reason. Names of a later version are read as this.
    #[serde(other)]
    Other,
}

impl WarningKind {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RemovedTests => "removed-tests",
            Self::SkippedTests => "skipped-tests",
            Self::ChangedTests => "changed-tests",
            Self::ChangedRunner => "changed-runner",
            Self::FlakyTests => "flaky-tests",
            Self::StillFailing => "still-failing",
            Self::UnknownRunner => "unknown-runner",
            Self::NoBaseline => "no-baseline",
            Self::OpenNetwork => "open-network",
            Self::TestTampering => "test-tampering",
            Self::DetectsTests => "detects-tests",
            Self::EditedAfterTests => "edited-after-tests",
            Self::RiskyFiles => "risky-files",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_an_earlier_version_are_read() {
        let old: Vec<Warning> = serde_json::from_str(r#"["a.py: deleted"]"#).unwrap();
        assert_eq!(old, [Warning::new(WarningKind::Other, "a.py: deleted")]);
        let new = Warning::new(WarningKind::FlakyTests, "t: failed once");
        let json = serde_json::to_string(&new).unwrap();
        assert_eq!(json, r#"{"kind":"flaky-tests","detail":"t: failed once"}"#);
        assert_eq!(serde_json::from_str::<Warning>(&json).unwrap(), new);
        let later: Warning = serde_json::from_str(r#"{"kind":"x","detail":"y"}"#).unwrap();
        assert_eq!(later.kind, WarningKind::Other);
    }
}
