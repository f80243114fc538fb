//! How attempts are made.

use std::time::Duration;

use windlass_core::PermissionPolicy;
use windlass_core::permission::SessionApprover;
use windlass_core::task::MAX_CORRECTIONS;

use crate::Budget;

/// How attempts are made. The default is what the worker's contract says.
#[derive(Debug, Clone, PartialEq)]
pub struct RunnerSettings {
    /// How this worker calls itself; shown to people, trusted for nothing.
    pub worker: String,
    /// How long a claim holds without a heartbeat. Heartbeats come three times as often.
    pub lease: Duration,
    /// How often tasks are taken back whose lease has run out.
    pub sweep: Duration,
    /// How long running attempts may go on once the worker is asked to stop.
    pub stop_grace: Duration,
    /// The rounds in which an attempt may mend what its tests showed.
    pub rounds: u32,
    /// The time of one call that generates code.
    pub generate_timeout: Duration,
    /// The time of one turn in which an agent edits by itself. `None`: the handle's own limit.
    pub turn_timeout: Option<Duration>,
    /// What one attempt may consume.
    pub budget: Budget,
    /// What agents may do without asking: inside their sandbox everything, unless somebody says otherwise.
    pub permissions: PermissionPolicy,
    /// Who decides where the policy is to ask.
    pub approver: SessionApprover,
    /// The model to use, in the agent's own words.
    pub model: Option<String>,
}

impl Default for RunnerSettings {
    fn default() -> Self {
        Self {
            worker: "worker".to_owned(),
            lease: Duration::from_secs(30),
            sweep: Duration::from_secs(5),
            stop_grace: Duration::from_secs(20),
            rounds: MAX_CORRECTIONS,
            generate_timeout: Duration::from_secs(300),
            turn_timeout: None,
            budget: Budget::default(),
            permissions: PermissionPolicy::Allow,
            approver: SessionApprover::default(),
            model: None,
        }
    }
}

impl RunnerSettings {
    /// How often the lease is renewed.
    pub fn heartbeat_interval(&self) -> Duration {
        self.lease / 3
    }

    /// How long after its last renewal the lease is still surely held: a sixth is kept back for stopping.
    pub fn safe_lease(&self) -> Duration {
        self.lease - self.lease / 6
    }
}
