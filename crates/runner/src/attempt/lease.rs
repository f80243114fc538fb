//! Heartbeats, and the knowledge of when the lease may be gone.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use windlass_core::task::{AttemptRef, LeaseStatus as Answer, StoreError};

use crate::Runner;

/// The lease of one attempt, as far as this side can know.
pub(super) struct Lease<'a> {
    runner: &'a Runner,
    at: AttemptRef,
    /// When the last renewal that was answered had been sent: the store cannot have granted it earlier.
    renewed: Mutex<Duration>,
}

/// Why a lease is no longer kept.
#[derive(Debug)]
pub(super) enum LeaseLoss {
    /// Somebody asked for the task to be cancelled; the lease is still held.
    CancelRequested,
    /// Another attempt has begun, or the task is gone.
    Superseded(StoreError),
    /// The store did not answer for so long that another attempt may begin.
    Unreachable,
}

impl<'a> Lease<'a> {
    pub(super) fn new(runner: &'a Runner, at: AttemptRef, since: Duration) -> Self {
        let renewed = Mutex::new(since);
        Self {
            runner,
            at,
            renewed,
        }
    }

    /// Renews the lease until that no longer makes sense.
    pub(super) async fn renew_until_lost(&self) -> LeaseLoss {
        let settings = &self.runner.settings;
        let mut wait = settings.heartbeat_interval();
        loop {
            self.runner.clock.sleep(wait).await;
            let sent = self.runner.clock.elapsed();
            match self.renew().await {
                Some(Ok(Answer::Held)) => {
                    *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = sent;
                    wait = settings.heartbeat_interval();
                }
                Some(Ok(Answer::CancelRequested)) => return LeaseLoss::CancelRequested,
                Some(Err(
                    error @ (StoreError::Superseded { .. } | StoreError::NotFound { .. }),
                )) => return LeaseLoss::Superseded(error),
                answer if self.remaining().is_zero() => {
                    tracing::warn!(attempt = %self.at, ?answer, "the lease may have run out");
                    return LeaseLoss::Unreachable;
                }
                // Soon again, but never so soon that a store in trouble gets more of it.
                _ => wait = (settings.heartbeat_interval() / 4).min(self.remaining()),
            }
        }
    }

    /// How long the lease is surely still held.
    pub(super) fn remaining(&self) -> Duration {
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let until = renewed + self.runner.settings.safe_lease();
        until.saturating_sub(self.runner.clock.elapsed())
    }

    /// One heartbeat. A process that was stopped, or starved, asks too, however late: only the store knows whether it
    /// matters. Such a machine is slow to answer; what it gets is half of the time that is kept back for stopping.
    async fn renew(&self) -> Option<Result<Answer, StoreError>> {
        let runner = self.runner;
        let patience = self.remaining().max(runner.settings.lease / 12);
        tokio::select! {
            biased;
            answer = runner.store.heartbeat(self.at, runner.settings.lease) => Some(answer),
            () = runner.clock.sleep(patience) => None,
        }
    }
}
