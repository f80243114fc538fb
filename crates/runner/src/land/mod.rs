//! Lands proved changes: one worker at a time for each branch, and only what was tested on top of it.
//!
//! The branch moves last, by compare-and-swap, while the lease is held. The commit is recorded before. If the worker
//! dies in between, the next one finds the branch before or after the move, and ends the landing accordingly.

mod claimed;
mod lease;
mod run;
mod verify;

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use windlass_tasks::{
    ClaimedLandings, LandingClaim, LandingSite, LandingStrategy, MAX_RETURNS, NewLanding, Project,
    ProjectId, Review, ReviewDecision, StoreError, Task, TaskId,
};

use crate::attempt::retry_transient;
use crate::{Error, Runner};

use claimed::LandingError;
use lease::LandingLease;

/// Settings of landings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingSettings {
    /// How a change is brought onto its branch.
    pub strategy: LandingStrategy,
    /// How many changes are tested together at most. Only for [`LandingStrategy::Merge`].
    pub batch: u32,
    /// How often a change may be returned to its agent before a person is asked.
    pub max_returns: u32,
    /// A reviewer reads every change: only a version that has a review is queued automatically.
    pub needs_review: bool,
}

impl Default for LandingSettings {
    fn default() -> Self {
        Self {
            strategy: LandingStrategy::Merge,
            batch: 1,
            max_returns: MAX_RETURNS,
            needs_review: false,
        }
    }
}

/// Lands changes from the queues of a store.
#[derive(Debug, Clone)]
pub struct Lander {
    /// The store, the tests and the clock.
    pub runner: Arc<Runner>,
    /// Moves branches.
    pub site: Arc<dyn LandingSite>,
    /// The settings.
    pub settings: LandingSettings,
    /// Lands only changes of this project.
    pub project: Option<ProjectId>,
}

/// The outcome for one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingReport {
    /// The task.
    pub task: TaskId,
    /// The branch.
    pub target: String,
    /// The result.
    pub result: LandingResult,
}

/// The result of an attempt to land a change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LandingResult {
    /// The branch contains the change.
    Landed {
        /// The commit that the branch was moved to.
        commit: String,
        /// Whether the commit is a merge commit.
        is_merge: bool,
    },
    /// It conflicted or failed the tests.
    Returned {
        /// The reason.
        reason: String,
        /// The test cases that failed.
        cases: Vec<String>,
    },
    /// It stays in the queue, for this reason.
    Waits(String),
    /// The task has no change to land any more.
    Withdrawn,
}

/// Receives the outcome of each change that a worker lands, e.g. to print it.
pub trait LandingListener: std::fmt::Debug + Send + Sync {
    /// Handles one report. A change that waits is reported again only if the reason is another.
    fn on_landing(&self, report: &LandingReport);
}

impl LandingResult {
    /// Returns the command that undoes a landed change.
    pub fn undo(&self) -> Option<String> {
        match self {
            Self::Landed { commit, is_merge } if *is_merge => {
                Some(format!("git revert -m 1 {commit}"))
            }
            Self::Landed { commit, .. } => Some(format!("git revert {commit}")),
            _ => None,
        }
    }
}

impl Lander {
    /// Adds the tasks that are due to their queues. Returns how many were added.
    ///
    /// # Errors
    ///
    /// Returns an error if the store or a repository cannot be used.
    pub async fn enqueue_due(&self) -> Result<usize, Error> {
        let store = &self.runner.store;
        let due = store.due_landings(self.project).await?;
        let mut added = 0;
        for task in due {
            let reviews = store.reviews(task.id).await?;
            let of_version = |review: &&Review| review.attempt == task.attempt;
            if self.settings.needs_review && !reviews.iter().any(|review| of_version(&review)) {
                continue;
            }
            // A person who approved the change requested it; otherwise it lands on its own.
            let is_approved =
                |review: &&Review| of_version(review) && review.decision == ReviewDecision::Approve;
            let approved = reviews.iter().rev().find(is_approved);
            let by = match approved {
                Some(review) => review.author.clone(),
                None => self.runner.settings.worker.clone(),
            };
            let project = store.project(task.project_id).await?;
            let target = match self.target(&project, &task).await {
                Ok(Some(target)) => target,
                Ok(None) => {
                    tracing::warn!(task = task.id.get(), "no branch is checked out to land on");
                    continue;
                }
                // The repository of another project does not keep the others from landing.
                Err(error) => {
                    tracing::warn!(task = task.id.get(), %error, "the target branch is not known");
                    continue;
                }
            };
            let task = task.id;
            store
                .enqueue_landing(NewLanding { task, target, by })
                .await?;
            added += 1;
        }
        Ok(added)
    }

    /// Returns `true` if a task landed with a merge commit, `false` if with the commit of its change or with a rebased
    /// one.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    pub async fn is_merge(&self, task: TaskId, commit: &str) -> Result<bool, StoreError> {
        let runner = &*self.runner;
        let proof = retry_transient(&*runner.clock, || runner.store.proof(task)).await?;
        let is_own = proof.is_some_and(|proof| proof.commit == commit);
        Ok(self.settings.strategy == LandingStrategy::Merge && !is_own)
    }

    /// Returns the branch that a task's change is for. `None` if the task names none and none is checked out.
    ///
    /// # Errors
    ///
    /// Returns an error if the repository cannot be read.
    pub async fn target(
        &self,
        project: &Project,
        task: &Task,
    ) -> Result<Option<String>, windlass_core::Error> {
        if let Some(target) = &task.target {
            return Ok(Some(target.clone()));
        }
        self.site.current_branch(project).await
    }

    /// Lands the next entries of one queue. Returns one report for each entry that was checked; empty if there was
    /// nothing to land.
    ///
    /// With `tasks`, only these are landed. After `stop`, what has not landed within the grace period is put back.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be used.
    pub async fn land_next(
        &self,
        tasks: &[TaskId],
        stop: &CancellationToken,
    ) -> Result<Vec<LandingReport>, Error> {
        let runner = &*self.runner;
        let settings = &runner.settings;
        let max = match self.settings.strategy {
            LandingStrategy::Merge => self.settings.batch,
            // Each commit of a rebase is tested alone.
            LandingStrategy::Rebase => 1,
        };
        let claim = LandingClaim {
            worker: settings.worker.clone(),
            project_id: self.project,
            tasks: tasks.to_vec(),
            max,
            lease: settings.lease,
        };
        let since = runner.clock.elapsed();
        let Some(claimed) = runner.store.claim_landings(claim).await? else {
            return Ok(Vec::new());
        };
        let lease = LandingLease::new(runner, claimed.token, since);
        let work: BoxFuture<'_, _> = Box::pin(self.land(&claimed, &lease));
        tokio::select! {
            biased;
            done = work => self.release_rest(&claimed, done).await,
            () = lease.renew_until_lost() => Ok(waits(&claimed, "the lease was lost")),
            () = runner.after_stop(stop, settings.stop_grace) => {
                let why = "the worker stopped";
                self.release(&claimed, None).await?;
                Ok(waits(&claimed, why))
            }
        }
    }

    /// Puts what has not ended back into the queue.
    async fn release_rest(
        &self,
        claimed: &ClaimedLandings,
        done: Result<Vec<LandingReport>, LandingError>,
    ) -> Result<Vec<LandingReport>, Error> {
        match done {
            Ok(reports) => {
                let reason = reports.iter().find_map(|report| match &report.result {
                    LandingResult::Waits(why) => Some(why.clone()),
                    _ => None,
                });
                self.release(claimed, reason).await?;
                Ok(reports)
            }
            Err(LandingError::Lost) => Ok(waits(claimed, "another worker has taken over")),
            Err(LandingError::Failed(why)) => {
                self.release(claimed, Some(why.clone())).await?;
                Ok(waits(claimed, &why))
            }
        }
    }

    async fn release(
        &self,
        claimed: &ClaimedLandings,
        reason: Option<String>,
    ) -> Result<(), Error> {
        let (runner, token) = (&self.runner, claimed.token);
        let release = || runner.store.release_landings(token, reason.clone());
        Ok(retry_transient(&*runner.clock, release).await?)
    }
}

fn waits(claimed: &ClaimedLandings, why: &str) -> Vec<LandingReport> {
    let report = |entry: &windlass_tasks::Landing| LandingReport {
        task: entry.task,
        target: entry.target.clone(),
        result: LandingResult::Waits(why.to_owned()),
    };
    claimed.entries.iter().map(report).collect()
}
