//! Tracks the usage of an attempt against its budget.

use std::time::Duration;

use parking_lot::Mutex;
use windlass_core::{Clock, Usage};

use super::{AttemptError, AttemptResult};
use crate::Budget;

/// Usage and budget of one attempt.
pub(crate) struct BudgetTracker {
    budget: Budget,
    started: Duration,
    state: Mutex<BudgetState>,
}

#[derive(Default)]
struct BudgetState {
    usage: Usage,
    turns: u32,
    /// How long the attempt has waited for quota, and since when it does now.
    held: Duration,
    held_since: Option<Duration>,
}

/// The attempt waits for quota.
#[must_use]
pub(super) struct BudgetHold<'a>(&'a BudgetTracker);

impl BudgetHold<'_> {
    pub(super) fn end(self, clock: &dyn Clock) {
        let Self(tracker) = self;
        let mut state = tracker.state.lock();
        if let Some(since) = state.held_since.take() {
            state.held += clock.elapsed().saturating_sub(since);
        }
    }
}

impl BudgetTracker {
    pub(super) fn new(budget: Budget, started: Duration) -> Self {
        let state = Mutex::default();
        Self {
            budget,
            started,
            state,
        }
    }

    /// Adds the usage of a turn.
    pub(super) fn add(&self, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            self.state.lock().usage += usage;
        }
    }

    /// Returns the total usage.
    pub(super) fn usage(&self) -> Usage {
        self.state.lock().usage.clone()
    }

    /// Counts another turn, or returns an error if a budget is exhausted.
    pub(super) fn start_turn(&self, clock: &dyn Clock) -> AttemptResult<()> {
        if self.time_left(clock).is_some_and(|left| left.is_zero()) {
            return Err(self.timeout_error());
        }
        let mut state = self.state.lock();
        let budget = &self.budget;
        let tokens = state.usage.input_tokens + state.usage.output_tokens;
        let cost = state.usage.cost_usd.unwrap_or_default();
        if let Some(limit) = budget.tokens.filter(|limit| tokens >= *limit) {
            return Err(exhausted(&format!("{tokens} of {limit} tokens")));
        }
        if let Some(limit) = budget.cost_usd.filter(|limit| cost >= *limit) {
            return Err(exhausted(&format!("${cost:.4} of ${limit:.4}")));
        }
        if let Some(limit) = budget.turns.filter(|limit| state.turns >= *limit) {
            return Err(exhausted(&format!("{limit} of {limit} turns")));
        }
        state.turns += 1;
        Ok(())
    }

    /// Stops the time of the attempt.
    pub(super) fn hold(&self, clock: &dyn Clock) -> BudgetHold<'_> {
        self.state.lock().held_since = Some(clock.elapsed());
        BudgetHold(self)
    }

    /// Returns the time left, if it is limited.
    pub(super) fn time_left(&self, clock: &dyn Clock) -> Option<Duration> {
        let state = self.state.lock();
        let now = state.held_since.unwrap_or_else(|| clock.elapsed());
        let used = now.saturating_sub(self.started).saturating_sub(state.held);
        self.budget.wall.map(|wall| wall.saturating_sub(used))
    }

    /// Returns the error of an attempt that exceeded its time budget.
    pub(super) fn timeout_error(&self) -> AttemptError {
        let wall = self.budget.wall.unwrap_or_default();
        exhausted(&format!("{0} of {0} s", wall.as_secs_f64()))
    }
}

fn exhausted(what: &str) -> AttemptError {
    AttemptError::BudgetExceeded {
        error: format!("BudgetExhausted: {what} used: raise the budget, then retry the task"),
    }
}
