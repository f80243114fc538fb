//! Settings of attempts.

use std::time::Duration;

use windlass_core::PermissionPolicy;
use windlass_core::permission::SessionApprover;
use windlass_tasks::MAX_CORRECTIONS;

use crate::Budget;

/// How long, after the grace period of a stop, a worker still tries to store the end of its work. A store that cannot be reached
/// does not keep it from ending: the leases expire, and another worker takes over.
pub(crate) const KEEP_GRACE: Duration = Duration::from_secs(10);

/// What happens when the changes of a task's dependencies conflict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// An agent merges them, in a separate task.
    #[default]
    Agent,
    /// A person is asked first.
    Ask,
}

/// Settings of attempts. The defaults are those of the worker's contract.
#[derive(Debug, Clone, PartialEq)]
pub struct RunnerSettings {
    /// Name of this worker. It is only displayed; no decision depends on it.
    pub worker: String,
    /// The id of the store, which the names of branches contain.
    pub store_id: Option<String>,
    /// Lease duration: how long a claim is valid without a heartbeat. Heartbeats are sent every third of it.
    pub lease: Duration,
    /// How often expired leases are reclaimed.
    pub sweep: Duration,
    /// Grace period of running attempts after the worker is asked to stop.
    pub stop_grace: Duration,
    /// Maximum number of correction rounds per attempt.
    pub rounds: u32,
    /// Time limit of one code generation call.
    pub generate_timeout: Duration,
    /// Time limit of one turn of an agent with tools. `None`: the handle's own limit.
    pub turn_timeout: Option<Duration>,
    /// Budget of one attempt.
    pub budget: Budget,
    /// What agents may do without asking. By default everything that the sandbox allows.
    pub permissions: PermissionPolicy,
    /// Answers permission requests if the policy is to ask.
    pub approver: SessionApprover,
    /// The model to use, by the agent's name for it.
    pub model: Option<String>,
    /// Names of agents that may reach every network host. A proof of their work names this.
    pub open_network: Vec<String>,
    /// Messages of commits.
    pub commit: CommitSettings,
    /// Every task that a worker claims lands when it is proved.
    pub auto_land: bool,
    /// What happens when the changes of a task's dependencies conflict.
    pub conflicts: ConflictPolicy,
}

/// Messages of commits. `{{title}}`, `{{explanation}}`, `{{task}}` and `{{agent}}` are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitSettings {
    /// The message, without trailers.
    pub template: String,
    /// The value of the trailer `Co-authored-by`. Empty: no trailer.
    pub co_author: String,
}

impl Default for CommitSettings {
    /// Title and explanation, with the agent as co-author.
    fn default() -> Self {
        Self {
            template: "{{title}}\n\n{{explanation}}".to_owned(),
            co_author: "{{agent}} <{{agent}}@agents.invalid>".to_owned(),
        }
    }
}

impl Default for RunnerSettings {
    fn default() -> Self {
        Self {
            worker: "worker".to_owned(),
            store_id: None,
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
            open_network: Vec::new(),
            commit: CommitSettings::default(),
            auto_land: false,
            conflicts: ConflictPolicy::default(),
        }
    }
}

impl RunnerSettings {
    /// Returns the interval between heartbeats.
    pub fn heartbeat_interval(&self) -> Duration {
        self.lease / 3
    }

    /// Returns how long to wait for the next heartbeat at this time of the clock. All heartbeats of a process are due together:
    /// the store writes them in one statement.
    pub(crate) fn until_heartbeat(&self, elapsed: Duration) -> Duration {
        let interval = self.heartbeat_interval();
        let since = elapsed.as_nanos().checked_rem(interval.as_nanos());
        let since = since.and_then(|nanos| u64::try_from(nanos).ok());
        interval.saturating_sub(Duration::from_nanos(since.unwrap_or(0)))
    }

    /// Returns how long after its last renewal the lease is certainly held. A sixth of the lease is reserved
    /// for stopping.
    pub fn safe_lease(&self) -> Duration {
        self.lease - self.lease / 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_of_a_process_are_due_together() {
        let settings = RunnerSettings {
            lease: Duration::from_secs(30),
            ..RunnerSettings::default()
        };
        let seconds = Duration::from_secs;
        for (now, wait) in [(0, 10), (1, 9), (9, 1), (10, 10), (12_345, 5)] {
            assert_eq!(settings.until_heartbeat(seconds(now)), seconds(wait));
        }
        let none = RunnerSettings {
            lease: Duration::ZERO,
            ..settings
        };
        assert_eq!(none.until_heartbeat(seconds(7)), Duration::ZERO);
    }
}
