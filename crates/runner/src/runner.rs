//! Everything an attempt needs, and the way into one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::task::{Claim, Claimed, Project, Task, TaskStatus};
use windlass_core::{Clock, ContextSource, TaskStore, Verifier, Workspace};

use crate::attempt::{self, retry_transient};
use crate::{AgentResolver, Bus, Error, RunnerSettings, TaskResult};

/// Everything an attempt needs, each behind a trait so that a simulator can stand there.
#[derive(Clone)]
pub struct Runner {
    /// Keeps the tasks.
    pub store: Arc<dyn TaskStore>,
    /// Opens a clone for each attempt.
    pub workspace: Arc<dyn Workspace>,
    /// Runs the tests.
    pub verifier: Arc<dyn Verifier>,
    /// Knows which files a task is about.
    pub context: Arc<dyn ContextSource>,
    /// Finds the agent for a task.
    pub agents: Arc<dyn AgentResolver>,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where watchers are told.
    pub bus: Bus,
    /// How attempts are made.
    pub settings: RunnerSettings,
}

/// What may end an attempt from outside, besides a request in the store.
#[derive(Debug, Clone, Default)]
pub struct StopSignals {
    /// The worker stops: the attempt gets its grace, then is given back without being used up.
    pub stop: CancellationToken,
    /// Somebody wants this task to end now: it becomes `cancelled`.
    pub cancel: CancellationToken,
}

/// A task that is ours, and since when.
#[derive(Debug, Clone)]
pub struct ClaimedTask {
    /// The task and the token for its writes.
    pub claimed: Claimed,
    /// The project it belongs to.
    pub project: Project,
    /// The clock's [`elapsed`](Clock::elapsed) before the claim was sent: the lease is no younger.
    pub since: Duration,
}

impl Runner {
    /// Works on one task from claim to end.
    ///
    /// The claim makes it `in_progress`; context is built; an agent edits, or generates code, which is applied; the tests
    /// run; what they show is corrected, at most three times; and it ends as `completed`, `failed`, `blocked` or
    /// `cancelled`, with proof, error, question or nothing.
    ///
    /// # Errors
    ///
    /// A malformed task, an unknown project, a store that cannot be used, a task that is not to be had: refused before
    /// any status changes. Whatever happens afterwards is a result. Dropping the future is a crash: the lease runs out.
    pub async fn execute_task(
        &self,
        task: &Task,
        signals: StopSignals,
    ) -> Result<TaskResult, Error> {
        validate(task)?;
        self.store.project(task.project_id).await?;
        let claim = Claim {
            project_id: Some(task.project_id),
            task: Some(task.id),
            ..self.next_claim()
        };
        match self.claim_task(claim).await? {
            Some(taken) => Ok(self.run_attempt(taken, signals).await),
            None => Err(Error::NotClaimable {
                task: task.id,
                why: self.not_claimable_reason(task).await?,
            }),
        }
    }

    /// A claim for whatever comes next, under this runner's settings.
    pub fn next_claim(&self) -> Claim {
        Claim {
            worker: self.settings.worker.clone(),
            project_id: None,
            task: None,
            kinds: Vec::new(),
            lease: self.settings.lease,
        }
    }

    /// Takes the next task that fits the claim; `fetch_next_task` of the worker's contract.
    pub async fn claim_task(&self, claim: Claim) -> Result<Option<ClaimedTask>, Error> {
        let since = self.clock.elapsed();
        let Some(claimed) = self.store.claim(claim).await? else {
            return Ok(None);
        };
        let project = claimed.task.project_id;
        let project = retry_transient(&*self.clock, || self.store.project(project)).await?;
        Ok(Some(ClaimedTask {
            claimed,
            project,
            since,
        }))
    }

    /// Works on a task that was taken, to its end.
    pub async fn run_attempt(&self, taken: ClaimedTask, signals: StopSignals) -> TaskResult {
        attempt::run(self, taken, signals).await
    }

    /// Why a task that was asked for by number was not to be had.
    async fn not_claimable_reason(&self, task: &Task) -> Result<String, Error> {
        let now = self.store.task(task.id).await?;
        Ok(match now.status {
            TaskStatus::Pending => "it waits for tasks that are not completed".to_owned(),
            TaskStatus::InProgress => "another worker has it".to_owned(),
            status => format!("it is {status}: retry it to have it done again"),
        })
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

/// Refuses a task that no store would have accepted.
fn validate(task: &Task) -> Result<(), Error> {
    let problem = if task.id < 1 {
        "its id must be at least 1"
    } else if task.project_id < 1 {
        "its project_id must be at least 1"
    } else if task.title.trim().is_empty() {
        "it has no title"
    } else if task.priority > 4 {
        "its priority must be 0 to 4"
    } else if !(1..=15).contains(&task.workflow_step) {
        "its workflow_step must be 1 to 15"
    } else {
        return Ok(());
    };
    Err(Error::Malformed {
        task: task.id,
        problem: problem.to_owned(),
    })
}
