//! The records of attempts.

use std::fmt;

use super::error::StoreFuture;
use crate::attempt::{AgentSession, Attempt};
use crate::id::{AttemptNumber, AttemptRef, CorrectionId, TaskId, TestResultId};
use crate::proof::Proof;
use crate::record::{Correction, TestResult};

/// Stores what attempts did: their test runs, corrections and proofs.
pub trait AttemptRecords: fmt::Debug + Send + Sync {
    /// Returns the attempts at a task, oldest first.
    fn attempts(&self, task: TaskId) -> StoreFuture<'_, Vec<Attempt>>;
    /// Records the agent's session. The last one replaces earlier ones.
    fn record_session(&self, attempt: AttemptRef, session: AgentSession) -> StoreFuture<'_, ()>;
    /// Records a test run.
    fn record_test(&self, attempt: AttemptRef, result: TestResult)
    -> StoreFuture<'_, TestResultId>;
    /// Returns the test runs of a task, oldest first, each with the number of its attempt.
    fn test_results(&self, task: TaskId) -> StoreFuture<'_, Vec<(AttemptNumber, TestResult)>>;
    /// Records a correction round.
    fn record_correction(
        &self,
        attempt: AttemptRef,
        round: Correction,
    ) -> StoreFuture<'_, CorrectionId>;
    /// Returns the correction rounds of a task, oldest first, each with the number of its attempt.
    fn corrections(&self, task: TaskId) -> StoreFuture<'_, Vec<(AttemptNumber, Correction)>>;
    /// Returns the proof of a completed task.
    fn proof(&self, task: TaskId) -> StoreFuture<'_, Option<Proof>>;
}
