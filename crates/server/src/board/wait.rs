//! Waiting for a task.

use std::time::Duration;

use tokio::time::Instant;
use windlass_tasks::{Approval, Blocker, Task, TaskId, TaskStatus};

use super::Board;
use crate::error::ApiError;

/// How long one wait for events takes at most. A status can change without an event that this process sees.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The pause between two reads of a task: an agent sends many events per second.
const READ_INTERVAL: Duration = Duration::from_millis(200);

/// A task, and what it waits for.
#[derive(Debug)]
pub(crate) struct WaitOutcome {
    pub(crate) task: Task,
    /// Open questions of the task.
    pub(crate) blockers: Vec<Blocker>,
    /// Open permission requests of the task.
    pub(crate) approvals: Vec<Approval>,
}

impl WaitOutcome {
    /// Returns `true` if the task has ended.
    pub(crate) fn is_final(&self) -> bool {
        self.task.status.is_final()
    }

    /// Returns `true` if the task continues only after an action of a person.
    pub(crate) fn needs_person(&self) -> bool {
        self.task.status == TaskStatus::Blocked
            || !self.blockers.is_empty()
            || !self.approvals.is_empty()
    }
}

impl Board {
    /// Returns a task with its open questions and permission requests.
    pub(crate) async fn task_with_requests(&self, id: TaskId) -> Result<WaitOutcome, ApiError> {
        let task = self.store.task(id).await?;
        let mut blockers = self.store.task_blockers(id).await?;
        blockers.retain(|blocker| blocker.answer.is_none());
        let mut approvals = self.store.approvals(true).await?;
        approvals.retain(|approval| approval.request.attempt.task == id);
        Ok(WaitOutcome {
            task,
            blockers,
            approvals,
        })
    }

    /// Waits until a task has ended or needs a person, at most for `timeout`.
    pub(crate) async fn wait(
        &self,
        id: TaskId,
        timeout: Duration,
    ) -> Result<WaitOutcome, ApiError> {
        let deadline = Instant::now() + timeout;
        let mut last = self.store.wait_for_events(0, Duration::ZERO).await?;
        loop {
            // Read after the number of the last event, so that no change between the two is missed.
            let found = self.task_with_requests(id).await?;
            let rest = deadline.saturating_duration_since(Instant::now());
            if found.is_final() || found.needs_person() || rest.is_zero() {
                return Ok(found);
            }
            last = self
                .store
                .wait_for_events(last, rest.min(POLL_INTERVAL))
                .await?;
            tokio::time::sleep(READ_INTERVAL.min(rest)).await;
        }
    }
}
