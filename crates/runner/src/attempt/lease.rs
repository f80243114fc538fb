//! Heartbeats, and when the lease may have expired.

use std::time::Duration;

use parking_lot::Mutex;
use windlass_core::Timestamp;
use windlass_tasks::{AttemptRef, LeaseStatus, StoreError};

use crate::Runner;
use crate::held_leases::HeldLease;

/// How often a worker checks whether its task was changed. A request to cancel it takes effect within this time, not only
/// with the next heartbeat.
const CHANGE_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How many attempts check that often. Among more, each checks less often, so that the store has no more to do.
const MAX_CHECKING: u32 = 50;

/// The lease of one attempt, as known to the worker.
pub(super) struct Lease<'a> {
    runner: &'a Runner,
    at: AttemptRef,
    /// When the last acknowledged renewal was sent: the store cannot have granted it earlier.
    renewed: Mutex<Duration>,
    /// When the task last changed, as last seen by the worker.
    seen: Mutex<Timestamp>,
    held: HeldLease,
}

/// Why a lease is no longer renewed.
#[derive(Debug)]
pub(super) enum LeaseLoss {
    /// Cancellation of the task was requested; the lease is still held.
    CancelRequested,
    /// Another attempt has started, the task does not exist any more, or this program is too old for the store.
    Superseded(StoreError),
    /// The lease expired while the store did not answer: another attempt may start.
    Unreachable,
}

impl<'a> Lease<'a> {
    /// Creates the lease of an attempt that was claimed at this time of the clock, when the task had changed last.
    pub(super) fn new(
        runner: &'a Runner,
        at: AttemptRef,
        since: Duration,
        changed: Timestamp,
    ) -> Self {
        let renewed = Mutex::new(since);
        Self {
            runner,
            at,
            renewed,
            seen: Mutex::new(changed),
            held: runner.leases.hold(),
        }
    }

    /// Renews the lease until it is lost or cancellation is requested.
    pub(super) async fn renew_until_lost(&self) -> LeaseLoss {
        let settings = &self.runner.settings;
        let clock = &self.runner.clock;
        let mut wait = settings.until_heartbeat(clock.elapsed());
        loop {
            self.wait_for_heartbeat(wait).await;
            let sent = clock.elapsed();
            match self.renew().await {
                Some(Ok(LeaseStatus::Held)) => {
                    *self.renewed.lock() = sent;
                    wait = settings.until_heartbeat(clock.elapsed());
                }
                Some(Ok(LeaseStatus::CancelRequested)) => return LeaseLoss::CancelRequested,
                Some(Err(
                    error @ (StoreError::Superseded { .. }
                    | StoreError::NotFound { .. }
                    | StoreError::Outdated(_)),
                )) => return LeaseLoss::Superseded(error),
                result if self.remaining().is_zero() => {
                    tracing::warn!(?result, "the lease may have expired");
                    return LeaseLoss::Unreachable;
                }
                // Retry soon, but without adding load to a failing store.
                _ => wait = (settings.heartbeat_interval() / 4).min(self.remaining()),
            }
        }
    }

    /// Waits until the next heartbeat is due, or until the task was changed, for example by a request to cancel it.
    async fn wait_for_heartbeat(&self, wait: Duration) {
        let Runner { clock, store, .. } = self.runner;
        let end = clock.elapsed() + wait;
        loop {
            let left = end.saturating_sub(clock.elapsed());
            let interval = check_interval(store.known_workers(), self.held.count());
            if left <= interval {
                return clock.sleep(left).await;
            }
            clock.sleep(interval).await;
            let changed = tokio::select! {
                biased;
                task = store.task(self.at.task) => task.ok().map(|task| task.updated_at),
                () = clock.sleep(left) => None,
            };
            if let Some(changed) = changed
                && std::mem::replace(&mut *self.seen.lock(), changed) != changed
            {
                return;
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

/// Returns how often each attempt checks its task, if every worker has as many attempts as this one.
fn check_interval(workers: u32, attempts: u32) -> Duration {
    let checking = workers.saturating_mul(attempts).max(1);
    CHANGE_POLL_INTERVAL * checking.div_ceil(MAX_CHECKING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_attempts_check_their_tasks_less_often() {
        let millis = Duration::from_millis;
        assert_eq!(check_interval(0, 0), millis(500));
        assert_eq!(check_interval(1, 50), millis(500));
        assert_eq!(check_interval(1, 200), millis(2_000));
        assert_eq!(check_interval(50, 20), millis(10_000));
        assert!(check_interval(u32::MAX, u32::MAX) > millis(10_000));
    }
}
