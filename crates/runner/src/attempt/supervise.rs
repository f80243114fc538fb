//! Lets an attempt run beside its heartbeats, and brings it to its one end.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{self, BoxFuture};
use windlass_core::task::{Broadcast, Outcome, Release, StoreError, TaskStatus};
use windlass_core::{ErrorCode, TraceError};

use super::budget::Spending;
use super::lease::{Lease, Lost};
use super::log::Log;
use super::retry::{is_passing, pause};
use super::trace::{Trace, some_usage};
use super::{Attempt, Done, Fault, work};
use crate::runner::{Signals, Taken};
use crate::{ResultStatus, Runner, TaskResult};

/// The longest that a failed attempt is held back for the sake of the next.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// What is to be written down at the end.
enum End {
    Finish(Outcome),
    Release,
    /// Nothing: every write would be refused, or should be.
    Lost(String),
}

/// Works on a task that was taken, to its end.
pub(crate) async fn run(runner: &Runner, taken: Taken, signals: Signals) -> TaskResult {
    let (log, carrier) = Log::new();
    let at = taken.claimed.attempt;
    let mut attempt = Attempt {
        runner,
        task: taken.claimed.task,
        project: taken.project,
        at,
        log,
        trace: Trace::new(runner.clock.clone(), taken.since),
        spending: Spending::new(runner.settings.budget, taken.since),
        place: OnceLock::new(),
        unsure: AtomicBool::new(false),
        files: Mutex::default(),
    };
    let lease = Lease::new(runner, at, taken.since);
    attempt.show(TaskStatus::InProgress);
    let end = tokio::select! {
        biased;
        lost = lease.keep() => stopped(lost),
        () = signals.cancel.cancelled() => End::Finish(Outcome::Cancelled),
        () = grace(runner, &signals) => End::Release,
        () = wall(&attempt) => outcome(Err(attempt.spending.out_of_time())),
        fault = carrier.carry(runner, at) => outcome(Err(fault)),
        done = worked(&attempt) => outcome(done),
    };
    let result = attempt.end(&lease, end).await;
    attempt.keep_trace(&result).await;
    attempt.leave().await;
    result
}

/// The work with its panics caught, and with all that it said in the store.
async fn worked(attempt: &Attempt<'_>) -> Result<Done, Fault> {
    let work = AssertUnwindSafe(work::work(attempt));
    let done = work.catch_unwind().await.unwrap_or_else(|panic| {
        let said = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Err(Fault::Failed {
            error: format!("the attempt panicked: {said}"),
            again: true,
        })
    });
    let done = match done {
        Err(Fault::Later { error, after }) => {
            // Still ours while we wait: so nobody takes it before there is a chance that it goes better.
            let wait = after.min(MAX_WAIT);
            attempt
                .say("waiting", format!("{error}; again in {} s", wait.as_secs()))
                .await;
            attempt.runner.clock.sleep(wait).await;
            Err(Fault::Failed { error, again: true })
        }
        done => done,
    };
    if let Err(fault @ Fault::Failed { .. }) = &done {
        attempt
            .say("failed", format!("the attempt failed: {fault}"))
            .await;
    }
    attempt.log.flush().await;
    done
}

fn outcome(done: Result<Done, Fault>) -> End {
    End::Finish(match done {
        Ok(done) => done.outcome,
        Err(Fault::Failed { error, again }) => Outcome::Failed { error, again },
        Err(Fault::Later { error, .. }) => Outcome::Failed { error, again: true },
        Err(Fault::Blocked { question }) => Outcome::Blocked { question },
        Err(Fault::Superseded(error)) => return End::Lost(error.to_string()),
    })
}

fn stopped(lost: Lost) -> End {
    match lost {
        Lost::CancelRequested => End::Finish(Outcome::Cancelled),
        Lost::Superseded(error) => End::Lost(error.to_string()),
        Lost::Unreachable => End::Lost(
            "superseded: the store did not answer until the lease ran out, so another worker may have the task"
                .to_owned(),
        ),
    }
}

/// Comes back when the worker was asked to stop and its grace is over.
async fn grace(runner: &Runner, signals: &Signals) {
    signals.stop.cancelled().await;
    runner.clock.sleep(runner.settings.stop_grace).await;
}

/// Comes back when the attempt's time is used up.
fn wall<'a>(attempt: &Attempt<'a>) -> BoxFuture<'a, ()> {
    let clock = &attempt.runner.clock;
    match attempt.spending.left(&**clock) {
        Some(left) => clock.sleep(left),
        None => future::pending().boxed(),
    }
}

impl Attempt<'_> {
    /// Tells watchers of the task's status. The store writes its own message for later readers.
    fn show(&self, status: TaskStatus) {
        self.runner.bus.send(Broadcast::TaskStatus {
            project_id: self.project.id,
            task_id: self.task.id,
            status,
            agent_id: self.task.kind.agent_id().to_owned(),
        });
    }

    /// Writes the end down, for as long as the lease is surely held.
    async fn end(&self, lease: &Lease<'_>, end: End) -> TaskResult {
        match end {
            End::Lost(error) => self.superseded(error),
            End::Finish(Outcome::Failed { error, again: true })
                if self.unsure.load(Ordering::Relaxed) =>
            {
                self.superseded(format!(
                    "{error}; whether the change was published is for the next attempt to see"
                ))
            }
            End::Release => self.released(lease).await,
            End::Finish(outcome) => match self.finish(lease, &outcome).await {
                Ok(()) => self.told(outcome),
                Err(error) => self.superseded(error.to_string()),
            },
        }
    }

    async fn released(&self, lease: &Lease<'_>) -> TaskResult {
        let reason = "the worker stopped before the attempt had ended".to_owned();
        let release = Release {
            reason: reason.clone(),
            usage: self.spending.usage(),
        };
        let store = &self.runner.store;
        let given = self.insist(lease, || store.release(self.at, release.clone()));
        match given.await {
            Ok(()) => {
                self.show(TaskStatus::Pending);
                self.result(ResultStatus::Released, reason, None)
            }
            Err(error) => self.superseded(error.to_string()),
        }
    }

    async fn finish(&self, lease: &Lease<'_>, outcome: &Outcome) -> Result<(), StoreError> {
        let store = &self.runner.store;
        let usage = self.spending.usage();
        let finish = || store.finish(self.at, outcome.clone(), usage.clone());
        match self.insist(lease, finish).await {
            Ok(task) => {
                self.show(task.status);
                Ok(())
            }
            // An answer may have been lost on its way: then the store refuses what it has already written.
            Err(error) => match store.task(self.at.task).await {
                Ok(task) if task.attempt == self.at.number && has_ended(task.status, outcome) => {
                    self.show(task.status);
                    Ok(())
                }
                _ => Err(error),
            },
        }
    }

    /// Asks the store again and again while the lease is surely held.
    async fn insist<'s, T>(
        &self,
        lease: &Lease<'_>,
        ask: impl Fn() -> windlass_core::task::Stored<'s, T>,
    ) -> Result<T, StoreError> {
        let clock = &self.runner.clock;
        let mut tried = 0;
        loop {
            let answer = tokio::select! {
                biased;
                answer = ask() => answer,
                () = clock.sleep(lease.left()) => Err(StoreError::Timeout {
                    what: "ending the attempt",
                    after: self.runner.settings.safe(),
                }),
            };
            match answer {
                Err(error) if is_passing(&error) && !lease.left().is_zero() => {
                    clock.sleep(pause(&**clock, tried).min(lease.left())).await;
                    tried += 1;
                }
                answer => return answer,
            }
        }
    }

    /// The result that goes with an outcome.
    fn told(&self, outcome: Outcome) -> TaskResult {
        match outcome {
            Outcome::Completed { output, .. } => self.result(ResultStatus::Completed, output, None),
            Outcome::Failed { error, .. } => {
                self.result(ResultStatus::Failed, error.clone(), Some(error))
            }
            Outcome::Blocked { question } => self.result(ResultStatus::Blocked, question, None),
            Outcome::Cancelled => {
                self.result(ResultStatus::Cancelled, "cancelled".to_owned(), None)
            }
        }
    }

    /// The result of an attempt that holds its task no longer. Nobody but the watchers is told: the store would refuse.
    fn superseded(&self, error: String) -> TaskResult {
        self.runner.bus.send(self.activity("superseded", &error));
        self.result(ResultStatus::Superseded, error.clone(), Some(error))
    }

    fn result(&self, status: ResultStatus, output: String, error: Option<String>) -> TaskResult {
        tracing::info!(attempt = %self.at, %status, error, "attempt ended");
        TaskResult {
            status,
            files_modified: self.files(),
            output,
            error,
        }
    }

    /// Removes the clone. What cannot be removed now is cleared away by the next worker that starts.
    async fn leave(&mut self) {
        let Some(place) = self.place.take() else {
            return;
        };
        tokio::select! {
            biased;
            closed = place.close() => if let Err(error) = closed {
                tracing::warn!(%error, attempt = %self.at, "the clone was not removed");
            },
            () = self.runner.clock.sleep(self.runner.settings.lease) => {}
        }
    }

    /// Keeps the trace, once: an attempt without one is as good as with.
    async fn keep_trace(&self, result: &TaskResult) {
        let error = result.error.clone().map(|message| TraceError {
            code: match message.as_str() {
                "Timeout" => ErrorCode::Timeout,
                _ => ErrorCode::BackendError,
            },
            message,
        });
        let mut root = self.trace.close(error);
        root.usage = some_usage(&self.spending.usage());
        let id = trace_id(self.at);
        let put = self.runner.store.put_trace(id, Some(self.at.task), root);
        tokio::select! {
            biased;
            kept = put => if let Err(error) = kept {
                tracing::warn!(%error, attempt = %self.at, "the trace was not kept");
            },
            () = self.runner.clock.sleep(self.runner.settings.heartbeat()) => {}
        }
    }
}

/// Whether the task stands where this outcome would have put it.
fn has_ended(status: TaskStatus, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Completed { .. } => status == TaskStatus::Completed,
        Outcome::Failed { again, .. } => {
            status == TaskStatus::Failed || *again && status == TaskStatus::Pending
        }
        Outcome::Blocked { .. } => status == TaskStatus::Blocked,
        Outcome::Cancelled => status == TaskStatus::Cancelled,
    }
}

/// How an attempt's trace is called.
pub fn trace_id(at: windlass_core::task::AttemptRef) -> String {
    format!("task-{}-attempt-{}", at.task, at.number)
}
