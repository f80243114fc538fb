//! Heartbeats, and when the lease may have expired.

use std::time::Duration;

use parking_lot::Mutex;
use windlass_tasks::{AttemptRef, LeaseStatus, StoreError};

use crate::Runner;

/// The lease of one attempt, as known to the worker.
pub(super) struct Lease<'a> {
    runner: &'a Runner,
    at: AttemptRef,
    /// When the last acknowledged renewal was sent: the store cannot have granted it earlier.
    renewed: Mutex<Duration>,
}

/// Why a lease is no longer renewed.
#[derive(Debug)]
pub(super) enum LeaseLoss {
    /// Cancellation of the task was requested; the lease is still held.
    CancelRequested,
    /// Another attempt has started, or the task does not exist any more.
    Superseded(StoreError),
    /// The store did not answer for so long that another attempt may start.
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

    /// Renews the lease until it is lost or cancellation is requested.
    pub(super) async fn renew_until_lost(&self) -> LeaseLoss {
        let settings = &self.runner.settings;
        let mut wait = settings.heartbeat_interval();
        loop {
            self.runner.clock.sleep(wait).await;
            let sent = self.runner.clock.elapsed();
            match self.renew().await {
                Some(Ok(LeaseStatus::Held)) => {
                    *self.renewed.lock() = sent;
                    wait = settings.heartbeat_interval();
                }
                Some(Ok(LeaseStatus::CancelRequested)) => return LeaseLoss::CancelRequested,
                Some(Err(
                    error @ (StoreError::Superseded { .. } | StoreError::NotFound { .. }),
                )) => return LeaseLoss::Superseded(error),
                result if self.remaining().is_zero() => {
                    tracing::warn!(attempt = %self.at, ?result, "the lease may have expired");
                    return LeaseLoss::Unreachable;
                }
                // Retry soon, but not so often that it adds load to a failing store.
                _ => wait = (settings.heartbeat_interval() / 4).min(self.remaining()),
            }
        }
    }

    /// Returns how long the lease is certainly still held.
    pub(super) fn remaining(&self) -> Duration {
        let renewed = *self.renewed.lock();
        let until = renewed + self.runner.settings.safe_lease();
        until.saturating_sub(self.runner.clock.elapsed())
    }

    /// Sends one heartbeat. A process that was stopped or starved sends it too, however late, because only
    /// the store knows whether the lease still holds. Such a machine is slow; the reply gets at least half of
    /// the time reserved for stopping.
    async fn renew(&self) -> Option<Result<LeaseStatus, StoreError>> {
        let runner = self.runner;
        let timeout = self.remaining().max(runner.settings.lease / 12);
        tokio::select! {
            biased;
            result = runner.store.heartbeat(self.at, runner.settings.lease) => Some(result),
            () = runner.clock.sleep(timeout) => None,
        }
    }
}
