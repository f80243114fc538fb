//! One attempt: the work, and what runs concurrently with it.
//!
//! [`run`] runs four things concurrently and ends with the first that must end the attempt: the work itself,
//! the heartbeats that renew the lease, the log that writes events to the store, and the signals that stop it
//! from outside. All of it is one future, so dropping it has the same effect as a crash.

mod agents;
mod approve;
mod base;
mod budget;
mod choose;
mod commit_message;
mod conflict;
mod correct;
mod edit;
mod generated;
mod hand_over;
mod keep;
mod landing_prompt;
mod lease;
mod log;
mod messages;
mod outdated;
mod prompts;
mod publish;
mod questions;
mod quota;
mod retry;
mod review_prompt;
mod steps;
mod structured_call;
mod supervise;
mod trace;
mod turn;
mod turn_deadline;
mod verdict;

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use parking_lot::Mutex;
use windlass_core::{ErrorCode, Retry};
use windlass_tasks::{
    AttemptRef, Broadcast, Outcome, Project, StoreError, Task, TestResult, TestStatus, WorkingCopy,
};

pub(crate) use commit_message::one_line;
pub use keep::keep_stale_changes;
pub(crate) use messages::note_section;
pub(crate) use prompts::{PromptContext, failure_summary};
pub use publish::branch_name;
pub(crate) use retry::retry_transient;
pub(crate) use structured_call::{StructuredCallError, call};
pub(crate) use supervise::run;
pub use trace::trace_id;
pub(crate) use turn::Conversation;
pub(crate) use verdict::{ChangeVerdict, TestRules, judge};

use agents::AttemptAgents;
use budget::BudgetTracker;
use log::AttemptLog;
use messages::MessageCursor;
use trace::AttemptTrace;

use crate::Runner;
use crate::pool::PoolPermit;

/// State shared by the parts of an attempt.
pub(crate) struct AttemptContext<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) task: Task,
    pub(crate) project: Project,
    pub(crate) at: AttemptRef,
    pub(crate) log: AttemptLog,
    pub(crate) trace: AttemptTrace,
    pub(crate) budget: BudgetTracker,
    /// The agents of the attempt. They end with it.
    agents: AttemptAgents,
    /// The clone. It outlives the work, so that it can be removed however the work ended.
    working_copy: OnceLock<Box<dyn WorkingCopy>>,
    /// The change may be in the user's repository without the store knowing. The attempt must then not be
    /// reported as failed, because only after a lost attempt does the next one check whether the change was
    /// published.
    maybe_published: AtomicBool,
    /// The changed paths, as of the last check.
    files: Mutex<Vec<String>>,
    /// Messages of people to the agent.
    messages: MessageCursor,
    /// The slot in the pool of a worker, until the work is completed.
    slot: Mutex<Option<PoolPermit>>,
}

/// The outcome of work that reached its end.
#[derive(Debug)]
pub(crate) struct FinishedWork {
    pub(crate) outcome: Outcome,
}

/// Error that ended the work.
#[derive(Debug)]
pub(crate) enum AttemptError {
    /// Another attempt holds the task.
    Superseded(StoreError),
    /// The attempt failed.
    Failed { error: String, again: bool },
    /// A budget of the attempt or a spending limit is exhausted: another attempt would fail too.
    BudgetExceeded { error: String },
    /// An agent timed out.
    TimedOut,
    /// The attempt failed because of a temporary lack of something, such as disk space.
    RetryLater { error: String, after: Duration },
    /// A person must answer a question first.
    Blocked { question: String },
    /// The task waits for another one.
    Waiting {
        reason: String,
        /// The store has already released the attempt.
        is_released: bool,
    },
}

pub(crate) type AttemptResult<T> = Result<T, AttemptError>;

impl From<StoreError> for AttemptError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Superseded { .. }
            | StoreError::NotFound { .. }
            | StoreError::Outdated(_) => Self::Superseded(error),
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

/// Errors outside the agent: clone, tests, git. Errors of the agent are reported by its turns.
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

impl AttemptError {
    /// Returns `true` if the attempt failed, and does not wait for something.
    fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Failed { .. } | Self::BudgetExceeded { .. } | Self::TimedOut
        )
    }
}

impl std::fmt::Display for AttemptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Superseded(error) => error.fmt(f),
            Self::Failed { error, .. }
            | Self::BudgetExceeded { error }
            | Self::RetryLater { error, .. } => f.write_str(error),
            Self::TimedOut => ErrorCode::Timeout.fmt(f),
            Self::Blocked { question } => f.write_str(question),
            Self::Waiting { reason, .. } => f.write_str(reason),
        }
    }
}

impl AttemptContext<'_> {
    /// Sends a message to subscribers through the bus, and stores it in the event log.
    pub(crate) async fn broadcast(&self, message: Broadcast) {
        self.runner.bus.send(message.clone());
        self.log.write(message).await;
    }

    /// Reports the current activity as text.
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

    /// Broadcasts the counts of a test run.
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
            summary: (result.counts.total == 0 && result.status != TestStatus::Passed)
                .then(|| prompts::summary(result)),
        };
        self.broadcast(message).await;
    }

    /// Returns the changed paths, as of the last check.
    pub(crate) fn files(&self) -> Vec<String> {
        let files = self.files.lock();
        files.clone()
    }

    fn set_files(&self, files: &[String]) {
        let mut current = self.files.lock();
        files.clone_into(&mut current);
    }
}
