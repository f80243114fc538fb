//! The records of attempts.

use windlass_tasks::{
    AgentSession, Attempt, AttemptRecords, AttemptRef, Correction, CorrectionId, Proof,
    StoreFuture, TaskId, TestResult, TestResultId,
};

use super::write::{operation, relaxed};
use crate::ops::{attempts, records};
use crate::store::SqlStore;
use crate::write_job::stages;

impl AttemptRecords for SqlStore {
    fn attempts(&self, task: TaskId) -> StoreFuture<'_, Vec<Attempt>> {
        self.read("reading a task's attempts", move |db| {
            Box::pin(attempts::list(db, task))
        })
    }

    fn record_session(&self, attempt: AttemptRef, session: AgentSession) -> StoreFuture<'_, ()> {
        let options = relaxed(stages!("recording a session"));
        self.write(
            options,
            operation!(|db, session| attempts::record_session(db, attempt, &session)),
        )
    }

    fn record_test(
        &self,
        attempt: AttemptRef,
        result: TestResult,
    ) -> StoreFuture<'_, TestResultId> {
        let options = relaxed(stages!("recording a test result"));
        self.write(
            options,
            operation!(|db, result| records::record_test(db, attempt, &result)),
        )
    }

    fn test_results(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, TestResult)>> {
        self.read("reading test results", move |db| {
            Box::pin(records::tests(db, task))
        })
    }

    fn record_correction(
        &self,
        attempt: AttemptRef,
        round: Correction,
    ) -> StoreFuture<'_, CorrectionId> {
        let options = relaxed(stages!("recording a correction"));
        self.write(
            options,
            operation!(|db, round| records::record_correction(db, attempt, &round)),
        )
    }

    fn corrections(&self, task: TaskId) -> StoreFuture<'_, Vec<(u32, Correction)>> {
        self.read("reading corrections", move |db| {
            Box::pin(records::corrections(db, task))
        })
    }

    fn proof(&self, task: TaskId) -> StoreFuture<'_, Option<Proof>> {
        self.read("reading a proof", move |db| {
            Box::pin(records::proof(db, task))
        })
    }
}
