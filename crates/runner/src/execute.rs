//! The entry points that start an attempt.

use windlass_tasks::{Claim, ProjectId, Task, TaskId, TaskStatus};

use crate::attempt::{self, retry_transient};
use crate::{ClaimedTask, Error, Runner, StopSignals, TaskResult};

impl Runner {
    /// Runs one task from claim to end.
    ///
    /// The claim sets the task to `in_progress`. The context is built. An agent edits the files, or generates
    /// code that is applied. The tests run, and failures are corrected, at most three times. The task ends as
    /// `completed`, `failed`, `blocked` or `cancelled`, with a proof, an error, a question or nothing.
    ///
    /// # Errors
    ///
    /// Returns an error before any status changes if the task is malformed, the project is unknown, the store
    /// cannot be used or the task cannot be claimed. Everything after that is a [`TaskResult`]. Dropping the
    /// future has the effect of a crash: the lease expires.
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
            Some(claimed) => Ok(self.run_attempt(claimed, signals).await),
            None => Err(Error::NotClaimable {
                task: task.id,
                why: self.not_claimable_reason(task).await?,
            }),
        }
    }

    /// Creates a claim for the next task, with this runner's settings.
    pub fn next_claim(&self) -> Claim {
        Claim {
            worker: self.settings.worker.clone(),
            lease: self.settings.lease,
            ..Claim::default()
        }
    }

    /// Claims the next task that matches the claim. This is `fetch_next_task` of the worker's contract.
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

    /// Runs an attempt at a claimed task to its end.
    pub async fn run_attempt(&self, claimed: ClaimedTask, signals: StopSignals) -> TaskResult {
        attempt::run(self, claimed, signals, None).await
    }

    /// Returns why a task could not be claimed.
    async fn not_claimable_reason(&self, task: &Task) -> Result<String, Error> {
        let now = self.store.task(task.id).await?;
        Ok(match now.status {
            TaskStatus::Pending if now.paused => {
                format!(
                    "it is paused: resume it with windlass task resume {}",
                    now.id
                )
            }
            TaskStatus::Pending => "it depends on tasks that are not completed".to_owned(),
            TaskStatus::InProgress => "another worker has claimed it".to_owned(),
            status => format!("it is {status}: retry it to run it again"),
        })
    }
}

/// Rejects a task that no store would have accepted.
fn validate(task: &Task) -> Result<(), Error> {
    let problem = if task.id < TaskId::from(1) {
        "its id must be at least 1"
    } else if task.project_id < ProjectId::from(1) {
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
