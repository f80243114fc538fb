//! Runs an attempt concurrently with its heartbeats, and writes its outcome.

use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future;
use parking_lot::Mutex;
use tracing::Instrument as _;
use windlass_core::ErrorCode;
use windlass_tasks::{Broadcast, Outcome, Release, StoreError, TaskStatus};

use super::agents::AttemptAgents;
use super::budget::BudgetTracker;
use super::conflict::merge_question;
use super::keep::while_renewing;
use super::lease::{Lease, LeaseLoss};
use super::log::AttemptLog;
use super::trace::{AttemptTrace, attempt_span};
use super::{AttemptContext, AttemptError, FinishedWork, steps};
use crate::pool::PoolPermit;
use crate::runner::{ClaimedTask, StopSignals};
use crate::settings::KEEP_GRACE;
use crate::{ResultStatus, Runner, TaskResult};

/// Maximum time that a failed attempt keeps its task before the next attempt.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(60);

/// The shortest time between two looks at the time budget.
const MIN_BUDGET_CHECK: Duration = Duration::from_millis(100);

/// The error of an attempt whose end could not be stored before its worker stopped.
const NOT_STORED: &str = "superseded: the end of the attempt could not be stored before the worker stopped; its lease expires, \
                          and another worker does the task again";

/// What is written to the store at the end.
enum AttemptEnd {
    /// The outcome, with the code of its error if it has one.
    Finish(Outcome, ErrorCode),
    Release,
    /// The task waits for another one. The flag says whether the store has released the attempt.
    Waiting(String, bool),
    /// Nothing: every write would be rejected, or should be.
    Lost(String),
}

impl AttemptEnd {
    /// Returns the code of the error that ended the attempt, if one did.
    fn error_code(&self) -> ErrorCode {
        match self {
            Self::Finish(_, code) => *code,
            _ => ErrorCode::BackendError,
        }
    }
}

/// Runs an attempt at a claimed task to its end. Each line of the log has its ids. The slot is free for the next task as soon as
/// the work is completed: a worker then claims that task while it stores the end of this one, with one wait for the disk.
pub(crate) async fn run(
    runner: &Runner,
    claimed: ClaimedTask,
    signals: StopSignals,
    slot: Option<PoolPermit>,
) -> TaskResult {
    let span = attempt_span(runner, claimed.claimed.attempt);
    run_to_end(runner, claimed, signals, slot)
        .instrument(span)
        .await
}

async fn run_to_end(
    runner: &Runner,
    claimed: ClaimedTask,
    signals: StopSignals,
    slot: Option<PoolPermit>,
) -> TaskResult {
    let (log, log_writer) = AttemptLog::new();
    let at = claimed.claimed.attempt;
    let mut attempt = AttemptContext {
        runner,
        task: claimed.claimed.task,
        project: claimed.project,
        at,
        log,
        trace: AttemptTrace::new(runner.clock.clone(), claimed.since),
        budget: BudgetTracker::new(runner.settings.budget, claimed.since),
        agents: AttemptAgents::default(),
        working_copy: OnceLock::new(),
        maybe_published: AtomicBool::new(false),
        files: Mutex::default(),
        messages: Default::default(),
        slot: Mutex::new(slot),
    };
    let lease = Lease::new(runner, at, claimed.since, attempt.task.updated_at);
    attempt.broadcast_status(TaskStatus::InProgress);
    let stopped = runner.after_stop(&signals.stop, runner.settings.stop_grace);
    let stopped = stopped.shared();
    let end = tokio::select! {
        biased;
        lost = lease.renew_until_lost() => on_lease_lost(lost),
        () = signals.cancel.cancelled() => AttemptEnd::Finish(Outcome::Cancelled, ErrorCode::Cancelled),
        () = stopped.clone() => AttemptEnd::Release,
        () = time_budget_elapsed(&attempt) => outcome(Err(attempt.budget.timeout_error())),
        error = log_writer.run(runner, at) => outcome(Err(error)),
        done = run_work(&attempt) => outcome(done),
    };
    let out_of_time = async {
        stopped.await;
        runner.clock.sleep(KEEP_GRACE).await;
    };
    let out_of_time = out_of_time.shared();
    let code = end.error_code();
    let (result, is_kept) = tokio::select! {
        biased;
        ended = attempt.store_end(&lease, end) => ended,
        () = out_of_time.clone() => (attempt.superseded(NOT_STORED.to_owned()), false),
    };
    let tidy = async {
        attempt.save_trace(&result, code).await;
        if is_kept {
            attempt.remove_clone().await;
        }
    };
    tokio::select! {
        biased;
        () = tidy => {}
        () = out_of_time => {}
    }
    result
}

/// Runs the work, catches panics, and waits until all its events are in the store.
async fn run_work(attempt: &AttemptContext<'_>) -> Result<FinishedWork, AttemptError> {
    let work = AssertUnwindSafe(steps::run_steps(attempt));
    let done = work.catch_unwind().await.unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Err(AttemptError::Failed {
            error: format!("the attempt panicked: {message}"),
            again: true,
        })
    });
    let done = match done {
        Err(AttemptError::RetryLater { error, after }) => {
            // The attempt keeps its lease while it waits, so no other worker retries before it can succeed.
            let wait = after.min(MAX_RETRY_WAIT);
            attempt
                .report_activity(
                    "waiting",
                    format!("{error}; retrying in {} s", wait.as_secs()),
                )
                .await;
            attempt.runner.clock.sleep(wait).await;
            Err(AttemptError::Failed { error, again: true })
        }
        done => done,
    };
    let done = ask_about_merge(attempt, done);
    if let Err(error) = &done
        && error.is_failure()
    {
        attempt
            .report_activity("failed", format!("the attempt failed: {error}"))
            .await;
    }
    attempt.log.flush().await;
    done
}

/// Asks a person about a merge that an agent could not do, instead of failing the tasks that wait for it.
fn ask_about_merge(
    attempt: &AttemptContext<'_>,
    done: Result<FinishedWork, AttemptError>,
) -> Result<FinishedWork, AttemptError> {
    let task = &attempt.task;
    let is_last = attempt.at.number >= task.max_attempts;
    let error = match done {
        Err(AttemptError::Failed { error, again }) if task.merges && (is_last || !again) => error,
        Err(AttemptError::BudgetExceeded { error }) if task.merges => error,
        Err(AttemptError::Blocked { question }) if task.merges => question,
        done => return done,
    };
    Err(AttemptError::Blocked {
        question: merge_question(task, &error),
    })
}

fn outcome(done: Result<FinishedWork, AttemptError>) -> AttemptEnd {
    let code = match done {
        Err(AttemptError::TimedOut) => ErrorCode::Timeout,
        Err(AttemptError::BudgetExceeded { .. }) => ErrorCode::BudgetExceeded,
        _ => ErrorCode::BackendError,
    };
    let outcome = match done {
        Ok(done) => done.outcome,
        Err(AttemptError::Failed { error, again }) => Outcome::Failed { error, again },
        Err(AttemptError::BudgetExceeded { error }) => Outcome::Failed {
            error,
            again: false,
        },
        Err(error @ AttemptError::TimedOut) => Outcome::Failed {
            error: error.to_string(),
            again: true,
        },
        Err(AttemptError::RetryLater { error, .. }) => Outcome::Failed { error, again: true },
        Err(AttemptError::Blocked { question }) => Outcome::Blocked { question },
        Err(AttemptError::Waiting {
            reason,
            is_released,
        }) => return AttemptEnd::Waiting(reason, is_released),
        Err(AttemptError::Superseded(error)) => return AttemptEnd::Lost(error.to_string()),
    };
    AttemptEnd::Finish(outcome, code)
}

fn on_lease_lost(lost: LeaseLoss) -> AttemptEnd {
    match lost {
        LeaseLoss::CancelRequested => AttemptEnd::Finish(Outcome::Cancelled, ErrorCode::Cancelled),
        LeaseLoss::Superseded(error) => AttemptEnd::Lost(error.to_string()),
        LeaseLoss::Unreachable => AttemptEnd::Lost(
            "superseded: the store did not answer before the lease expired, so another worker may have the task"
                .to_owned(),
        ),
    }
}

/// Completes when the attempt's time budget is exhausted. The time may have stopped meanwhile.
async fn time_budget_elapsed(attempt: &AttemptContext<'_>) {
    let clock = &attempt.runner.clock;
    loop {
        match attempt.budget.time_left(&**clock) {
            None => future::pending().await,
            Some(left) if left.is_zero() => return,
            Some(left) => clock.sleep(left.max(MIN_BUDGET_CHECK)).await,
        }
    }
}

impl AttemptContext<'_> {
    /// Sends the task's status to subscribers. The store writes its own event to the log.
    fn broadcast_status(&self, status: TaskStatus) {
        self.runner.bus.send(Broadcast::TaskStatus {
            project_id: self.project.id,
            task_id: self.task.id,
            status,
            agent_id: self.task.kind.agent_id().to_owned(),
        });
    }

    /// Ends the agents, keeps the change and stores the end. Returns `true` if the clone is not needed any more.
    async fn store_end(&self, lease: &Lease<'_>, end: AttemptEnd) -> (TaskResult, bool) {
        // Before the outcome is written, so that no agent of an ended attempt runs.
        while_renewing(lease, self.close_agents()).await;
        let is_kept = self.keep_change(lease).await;
        (self.end(lease, end).await, is_kept)
    }

    /// Writes the end to the store, while the lease is certainly held.
    async fn end(&self, lease: &Lease<'_>, end: AttemptEnd) -> TaskResult {
        match end {
            AttemptEnd::Lost(error) => self.superseded(error),
            AttemptEnd::Finish(Outcome::Failed { error, again: true }, _)
                if self.maybe_published.load(Ordering::Relaxed) =>
            {
                self.superseded(format!(
                    "{error}; the next attempt checks whether the change was published"
                ))
            }
            AttemptEnd::Release => {
                let reason = "the worker stopped before the attempt finished".to_owned();
                self.released(lease, reason).await
            }
            AttemptEnd::Waiting(reason, false) => self.released(lease, reason).await,
            AttemptEnd::Waiting(reason, true) => {
                self.broadcast_status(TaskStatus::Pending);
                self.result(ResultStatus::Released, reason, None)
            }
            AttemptEnd::Finish(outcome, _) => match self.finish(lease, &outcome).await {
                Ok(()) => self.result_for(outcome),
                Err(error) => self.superseded(error.to_string()),
            },
        }
    }

    async fn released(&self, lease: &Lease<'_>, reason: String) -> TaskResult {
        let release = Release {
            reason: reason.clone(),
            usage: self.budget.usage(),
        };
        let store = &self.runner.store;
        let released = self.retry_while_leased(lease, || store.release(self.at, release.clone()));
        match released.await {
            Ok(()) => {
                self.broadcast_status(TaskStatus::Pending);
                self.result(ResultStatus::Released, reason, None)
            }
            Err(error) => self.superseded(error.to_string()),
        }
    }

    async fn finish(&self, lease: &Lease<'_>, outcome: &Outcome) -> Result<(), StoreError> {
        let store = &self.runner.store;
        let usage = self.budget.usage();
        if matches!(outcome, Outcome::Completed { .. }) {
            drop(self.slot.lock().take());
        }
        let finish = || store.finish(self.at, outcome.clone(), usage.clone());
        match self.retry_while_leased(lease, finish).await {
            Ok(task) => {
                self.broadcast_status(task.status);
                Ok(())
            }
            // The reply may have been lost: then the store rejects what it has already written.
            Err(error) => match store.task(self.at.task).await {
                Ok(task)
                    if task.attempt == self.at.number && matches_outcome(task.status, outcome) =>
                {
                    self.broadcast_status(task.status);
                    Ok(())
                }
                _ => Err(error),
            },
        }
    }

    /// Returns the result for an outcome.
    fn result_for(&self, outcome: Outcome) -> TaskResult {
        match outcome {
            Outcome::Completed { output, .. } | Outcome::Chosen { output, .. } => {
                self.result(ResultStatus::Completed, output, None)
            }
            Outcome::Failed { error, .. } => {
                self.result(ResultStatus::Failed, error.clone(), Some(error))
            }
            Outcome::Blocked { question } => self.result(ResultStatus::Blocked, question, None),
            Outcome::Cancelled => {
                self.result(ResultStatus::Cancelled, "cancelled".to_owned(), None)
            }
        }
    }

    /// Returns the result of a superseded attempt. It is sent to subscribers only, because the store would
    /// reject it.
    fn superseded(&self, error: String) -> TaskResult {
        self.runner.bus.send(self.activity("superseded", &error));
        self.result(ResultStatus::Superseded, error.clone(), Some(error))
    }

    fn result(&self, status: ResultStatus, output: String, error: Option<String>) -> TaskResult {
        tracing::info!(%status, error, "attempt ended");
        TaskResult {
            status,
            files_modified: self.files(),
            output,
            error,
        }
    }
}

/// Returns `true` if the task has the status that this outcome leads to.
fn matches_outcome(status: TaskStatus, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Completed { .. } | Outcome::Chosen { .. } => status == TaskStatus::Completed,
        Outcome::Failed { again, .. } => {
            status == TaskStatus::Failed || *again && status == TaskStatus::Pending
        }
        Outcome::Blocked { .. } => status == TaskStatus::Blocked,
        Outcome::Cancelled => status == TaskStatus::Cancelled,
    }
}
