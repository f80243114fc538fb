//! What attempts leave behind: test results, corrections, questions, decisions, proof.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AttemptRef, ProjectId, RecordId, TaskId};
use crate::{PermissionOption, Timestamp};

/// How a run of the tests ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestStatus {
    /// Green.
    Passed,
    /// Red: tests ran, and some failed.
    Failed,
    /// The tests could not be run to their end.
    Error,
    /// Their deadline passed.
    Timeout,
}

impl TestStatus {
    /// The name as it appears in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Error => "error",
            Self::Timeout => "timeout",
        }
    }
}

/// How many tests ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// Green ones.
    pub passed: u64,
    /// Red ones.
    pub failed: u64,
    /// Those that did not come to a verdict.
    pub errors: u64,
    /// All that were run.
    pub total: u64,
}

/// A test that did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCase {
    /// Its name, as its runner prints it.
    pub name: String,
    /// What its runner says about it.
    pub message: String,
}

/// One run of a project's tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// What was run.
    pub command: Vec<String>,
    /// How it ended.
    pub status: TestStatus,
    /// The exit code, where it had one.
    pub exit_code: Option<i32>,
    /// The counts; zero where the runner prints none that is understood.
    pub counts: TestCounts,
    /// The ones that did not pass.
    pub failures: Vec<TestCase>,
    /// How long it ran.
    pub duration_ms: u64,
    /// What it printed, bounded, head and tail kept.
    pub output: String,
    /// The SHA-256 of all it printed, in hexadecimal.
    pub output_sha256: String,
}

/// One round of mending what the tests showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// Which round, from one.
    pub round: u32,
    /// What went wrong.
    pub error_analysis: String,
    /// What was done about it.
    pub fix_description: String,
    /// The files it changed, as the agent gave them or as git sees them.
    pub code_changes: Value,
    /// How the tests ended after it.
    pub status: TestStatus,
}

/// A question for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blocker {
    /// Its number.
    pub id: RecordId,
    /// The project.
    pub project_id: ProjectId,
    /// The task that waits.
    pub task_id: TaskId,
    /// The attempt that asked.
    pub attempt: u32,
    /// What is asked.
    pub question: String,
    /// When it was asked.
    pub created_at: Timestamp,
    /// What was answered, and when.
    pub answer: Option<Answer>,
}

/// A person's answer to a blocker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// In the person's words.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// A permission request that waits for a person: asked by one process, decided through another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// Its number.
    pub id: RecordId,
    /// What is asked.
    #[serde(flatten)]
    pub asked: NewApproval,
    /// When.
    pub created_at: Timestamp,
    /// What was decided. `None`: it waits.
    pub decision: Option<ApprovalDecision>,
}

/// A permission request to be put before a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewApproval {
    /// The attempt that asks.
    pub attempt: AttemptRef,
    /// The agent's name.
    pub agent: String,
    /// The tool that wants to run.
    pub tool: String,
    /// What the tool would be given.
    pub input: Value,
    /// The answers that the agent offers.
    pub options: Vec<PermissionOption>,
}

/// What a person decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDecision {
    /// The chosen option's id. `None`: withdrawn, because the turn ended first.
    pub option: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// The record that a change passed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The commit the work began from.
    pub base: String,
    /// The commit that holds the change.
    pub commit: String,
    /// The hash of that commit's tree.
    pub tree: String,
    /// What was run.
    pub command: Vec<String>,
    /// How it ended: zero.
    pub exit_code: i32,
    /// The counts of that run.
    pub counts: TestCounts,
    /// The SHA-256 of what the tests printed.
    pub log_sha256: String,
    /// How long the tests ran.
    pub duration_ms: u64,
    /// What a reviewer should know: tests that the change deletes or empties.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// When it was made.
    pub at: Timestamp,
}
