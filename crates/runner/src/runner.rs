//! The runner: the dependencies of an attempt.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::{Clock, SystemClock};
use windlass_tasks::{Claimed, ContextSource, Project, TaskStore, Verifier, Workspace};

use crate::{AgentResolver, Bus, HeldLeases, RunnerSettings};

/// The dependencies of an attempt. Each is behind a trait, so that a simulator can replace it.
#[derive(Clone)]
pub struct Runner {
    /// Stores the tasks.
    pub store: Arc<dyn TaskStore>,
    /// Opens a clone for each attempt.
    pub workspace: Arc<dyn Workspace>,
    /// Runs the tests.
    pub verifier: Arc<dyn Verifier>,
    /// Finds the files relevant to a task.
    pub context: Arc<dyn ContextSource>,
    /// Finds the agent for a task.
    pub agents: Arc<dyn AgentResolver>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Sends broadcasts to subscribers.
    pub bus: Bus,
    /// Settings of attempts.
    pub settings: RunnerSettings,
    /// The leases that this process holds.
    pub leases: HeldLeases,
}

/// Signals that end an attempt from outside, in addition to a cancel request in the store.
#[derive(Debug, Clone, Default)]
pub struct StopSignals {
    /// The worker stops: the attempt gets its grace period, then is released without counting towards the
    /// limit.
    pub stop: CancellationToken,
    /// The caller cancels the attempt: the task becomes `cancelled`.
    pub cancel: CancellationToken,
}

/// A task claimed by this runner, and the time of the claim.
#[derive(Debug, Clone)]
pub struct ClaimedTask {
    /// The task and the token for its writes.
    pub claimed: Claimed,
    /// The project it belongs to.
    pub project: Project,
    /// The clock's [`elapsed`](Clock::elapsed) before the claim was sent: the lease did not start earlier.
    pub since: Duration,
}

impl Runner {
    /// Creates a runner with the system's clock, without subscribers, and with the default settings.
    pub fn new(
        store: Arc<dyn TaskStore>,
        workspace: Arc<dyn Workspace>,
        verifier: Arc<dyn Verifier>,
        context: Arc<dyn ContextSource>,
        agents: Arc<dyn AgentResolver>,
    ) -> Self {
        Self {
            store,
            workspace,
            verifier,
            context,
            agents,
            clock: Arc::new(SystemClock::new()),
            bus: Bus::disabled(),
            settings: RunnerSettings::default(),
            leases: HeldLeases::default(),
        }
    }

    /// Completes this long after `stop` was cancelled.
    pub(crate) async fn after_stop(&self, stop: &CancellationToken, wait: Duration) {
        stop.cancelled().await;
        self.clock.sleep(wait).await;
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner")
            .field("store", &self.store)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
