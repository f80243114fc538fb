//! The lease of claimed landings: heartbeats, and how long it is certainly held.

use std::time::Duration;

use parking_lot::Mutex;
use windlass_tasks::{LandingToken, StoreError};

use crate::Runner;

/// The lease of claimed landings, as known to the worker.
pub(super) struct LandingLease<'a> {
    runner: &'a Runner,
    token: LandingToken,
    /// When the last acknowledged renewal was sent.
    renewed: Mutex<Duration>,
}

impl<'a> LandingLease<'a> {
    pub(super) fn new(runner: &'a Runner, token: LandingToken, since: Duration) -> Self {
        let renewed = Mutex::new(since);
        Self {
            runner,
            token,
            renewed,
        }
    }

    /// Renews the lease until it is lost, or until it may have expired because the store did not answer.
    pub(super) async fn renew_until_lost(&self) {
        let settings = &self.runner.settings;
        let clock = &self.runner.clock;
        let mut wait = settings.until_heartbeat(clock.elapsed());
        loop {
            clock.sleep(wait).await;
            match self.renew().await {
                Some(Ok(())) => wait = settings.until_heartbeat(clock.elapsed()),
                Some(Err(StoreError::LandingLost | StoreError::Outdated(_))) => return,
                _ if self.remaining().is_zero() => return,
                _ => wait = (settings.heartbeat_interval() / 4).min(self.remaining()),
            }
        }
    }

    /// Renews the lease now. Returns `false` if it cannot be sure that the lease is held.
    pub(super) async fn confirm(&self) -> bool {
        matches!(self.renew().await, Some(Ok(()))) && !self.remaining().is_zero()
    }

    /// Returns how long the lease is certainly still held.
    pub(super) fn remaining(&self) -> Duration {
        let until = *self.renewed.lock() + self.runner.settings.safe_lease();
        until.saturating_sub(self.runner.clock.elapsed())
    }

    async fn renew(&self) -> Option<Result<(), StoreError>> {
        let runner = self.runner;
        let sent = runner.clock.elapsed();
        let timeout = self.remaining().max(runner.settings.lease / 12);
        let result = tokio::select! {
            biased;
            result = runner.store.heartbeat_landings(self.token, runner.settings.lease) => Some(result),
            () = runner.clock.sleep(timeout) => None,
        };
        if let Some(Ok(())) = result {
            *self.renewed.lock() = sent;
        }
        result
    }
}
