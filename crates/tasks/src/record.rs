//! The records of attempts: test results and corrections.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cases::CaseResults;
use crate::note::TestNote;

/// The outcome of a test run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestStatus {
    /// All tests passed.
    Passed,
    /// The tests ran, and some failed.
    Failed,
    /// The tests could not be run to completion.
    Error,
    /// The deadline passed.
    Timeout,
}

impl TestStatus {
    /// Returns the name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Timeout => "timeout",
        }
    }
}

/// The number of tests by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// Passed tests.
    pub passed: u64,
    /// Failed tests.
    pub failed: u64,
    /// Tests without a verdict.
    pub errors: u64,
    /// All tests that ran.
    pub total: u64,
}

/// A test that did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCase {
    /// The name as printed by the test runner.
    pub name: String,
    /// The message from the test runner.
    pub message: String,
}

/// One run of a project's tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// The command.
    pub command: Vec<String>,
    /// The outcome.
    pub status: TestStatus,
    /// The exit code, if any.
    pub exit_code: Option<i32>,
    /// The counts; zero if the runner's output is not understood.
    pub counts: TestCounts,
    /// The tests that did not pass.
    pub failures: Vec<TestCase>,
    /// All cases by name. `None` if the runner's output does not name them. Not stored with an attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<CaseResults>,
    /// Remarks on how far the result can be trusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<TestNote>,
    /// The duration.
    pub duration_ms: u64,
    /// The output, truncated to its head and tail.
    pub output: String,
    /// The SHA-256 of the complete output, in hexadecimal.
    pub output_sha256: String,
}

/// One round in which an agent fixes failing tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// The number of the round, counted from one.
    pub round: u32,
    /// The analysis of the failure.
    pub error_analysis: String,
    /// The description of the fix.
    pub fix_description: String,
    /// The changed files, as reported by the agent or by git.
    pub code_changes: Value,
    /// The outcome of the tests after the fix.
    pub status: TestStatus,
}
