//! One attempt: the work, and what goes on beside it.
//!
//! [`run`] lets four things happen at once and ends with the first that must: the work itself, the heartbeats that
//! keep its lease, the log that carries its events to the store, and whatever may stop it from outside. All of it is
//! one future, so that dropping it is exactly a crash.

mod approve;
mod budget;
mod correct;
mod edit;
mod lease;
mod log;
mod prompts;
mod publish;
mod retry;
mod steps;
mod supervise;
mod trace;
mod turn;

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use windlass_core::Retry;
use windlass_core::task::{AttemptRef, Broadcast, Outcome, Project, StoreError, Task, TestResult};
use windlass_core::workspace::WorkingCopy;

pub(crate) use prompts::PromptContext;
pub use publish::branch_name;
pub(crate) use retry::retry_transient;
pub(crate) use supervise::run;
pub use supervise::trace_id;
pub(crate) use turn::{Conversation, StructuredCallError, call};

use budget::BudgetTracker;
use log::EventLog;
use trace::AttemptTrace;

use crate::Runner;

/// What the parts of an attempt share.
pub(crate) struct AttemptContext<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) task: Task,
    pub(crate) project: Project,
    pub(crate) at: AttemptRef,
    pub(crate) log: EventLog,
    pub(crate) trace: AttemptTrace,
    pub(crate) spending: BudgetTracker,
    /// The clone. It outlives the work, so that it can be removed however the work ended.
    working_copy: OnceLock<Box<dyn WorkingCopy>>,
    /// Whether the change may be in the user's repository without the store's knowing. Then the attempt must not be
    /// called failed: only of one that went silent does the next one look whether it had published.
    maybe_published: AtomicBool,
    /// The paths that differ from the base, as last seen.
    files: Mutex<Vec<String>>,
}

/// What the work came to, where it came to something.
#[derive(Debug)]
pub(crate) struct FinishedWork {
    pub(crate) outcome: Outcome,
}

/// Why the work did not come to its end.
#[derive(Debug)]
pub(crate) enum AttemptError {
    /// The attempt is no longer the task's.
    Superseded(StoreError),
    /// It failed.
    Failed { error: String, again: bool },
    /// It failed for want of something that will be there again after a while, such as room on the disk.
    RetryLater { error: String, after: Duration },
    /// A person must say how to go on.
    Blocked { question: String },
}

pub(crate) type AttemptResult<T> = Result<T, AttemptError>;

impl From<StoreError> for AttemptError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Superseded { .. } | StoreError::NotFound { .. } => Self::Superseded(error),
            StoreError::Refused(_) | StoreError::IdempotencyConflict { .. } => Self::Failed {
                error: error.to_string(),
                again: false,
            },
            _ => Self::Failed {
                error: error.to_string(),
                again: true,
            },
        }
    }
}

/// What went wrong around the agent: clone, tests, git. The agent's own faults are told by its turns.
impl From<windlass_core::Error> for AttemptError {
    fn from(error: windlass_core::Error) -> Self {
        match error.retry() {
            Retry::After(after) => Self::RetryLater {
                error: error.to_string(),
                after,
            },
            retry => Self::Failed {
                again: retry.is_worthwhile(),
                error: error.to_string(),
            },
        }
    }
}

impl std::fmt::Display for AttemptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Superseded(error) => error.fmt(f),
            Self::Failed { error, .. } | Self::RetryLater { error, .. } => f.write_str(error),
            Self::Blocked { question } => f.write_str(question),
        }
    }
}

impl AttemptError {
    /// What every result says of an agent that took too long.
    fn timeout() -> Self {
        Self::Failed {
            error: "Timeout".to_owned(),
            again: true,
        }
    }
}

impl AttemptContext<'_> {
    /// Tells watchers through the bus, and later readers through the store's log.
    pub(crate) async fn broadcast(&self, message: Broadcast) {
        self.runner.bus.send(message.clone());
        self.log.write(message).await;
    }

    /// Says in words what is being done.
    pub(crate) async fn report_activity(&self, activity_type: &str, message: impl Into<String>) {
        self.broadcast(self.activity(activity_type, message)).await;
    }

    fn activity(&self, activity_type: &str, message: impl Into<String>) -> Broadcast {
        Broadcast::ActivityUpdate {
            project_id: self.project.id,
            activity_type: activity_type.to_owned(),
            agent_id: self.task.kind.agent_id().to_owned(),
            message: message.into(),
            task_id: Some(self.task.id),
        }
    }

    /// The four figures of a test run, told to everybody.
    pub(crate) async fn broadcast_tests(&self, result: &TestResult) {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a test run does not last for millions of years"
        )]
        let duration = result.duration_ms as f64 / 1000.0;
        let message = Broadcast::TestResult {
            project_id: self.project.id,
            task_id: self.task.id,
            status: result.status,
            passed: result.counts.passed,
            failed: result.counts.failed,
            errors: result.counts.errors,
            total: result.counts.total,
            duration,
        };
        self.broadcast(message).await;
    }

    /// The paths that differ from the base, as last seen.
    pub(crate) fn files(&self) -> Vec<String> {
        let files = self.files.lock();
        files.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_files(&self, files: &[String]) {
        let mut seen = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.clone_into(&mut seen);
    }
}
