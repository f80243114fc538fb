//! Claimed entries of one branch, how they end, and the texts about them.

use windlass_tasks::{ClaimedLandings, Landing, LandingOutcome, Project, StoreError};

use super::lease::LandingLease;
use super::verify::LandingChange;
use super::{Lander, LandingReport, LandingResult};
use crate::attempt::{one_line, retry_transient};

/// Why a run ended early.
#[derive(Debug)]
pub(super) enum LandingError {
    /// The lease was lost. Nothing more may be written.
    Lost,
    /// The run cannot continue now.
    Failed(String),
}

impl From<StoreError> for LandingError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::LandingLost => Self::Lost,
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<windlass_core::Error> for LandingError {
    fn from(error: windlass_core::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

pub(super) type RunResult<T> = Result<T, LandingError>;

/// Claimed entries of one branch.
pub(super) struct LandingRun<'a> {
    pub(super) lander: &'a Lander,
    pub(super) claimed: &'a ClaimedLandings,
    pub(super) lease: &'a LandingLease<'a>,
    pub(super) project: Project,
    pub(super) target: &'a str,
}

impl LandingRun<'_> {
    pub(super) async fn landed(
        &self,
        entry: &Landing,
        commit: &str,
        is_merge: bool,
    ) -> RunResult<LandingReport> {
        let commit = commit.to_owned();
        let outcome = LandingOutcome::Landed {
            commit: commit.clone(),
        };
        self.finish(entry, outcome).await?;
        tracing::info!(
            task = entry.task.get(),
            commit,
            target = self.target,
            "landed"
        );
        Ok(self.report(entry, LandingResult::Landed { commit, is_merge }))
    }

    pub(super) async fn returned(
        &self,
        entry: &Landing,
        reason: String,
        cases: Vec<String>,
    ) -> RunResult<LandingReport> {
        let outcome = LandingOutcome::Returned {
            reason: reason.clone(),
            cases: cases.clone(),
            max_returns: self.lander.settings.max_returns,
        };
        self.finish(entry, outcome).await?;
        tracing::info!(task = entry.task.get(), reason, "not landed");
        Ok(self.report(entry, LandingResult::Returned { reason, cases }))
    }

    pub(super) async fn finish(&self, entry: &Landing, outcome: LandingOutcome) -> RunResult<()> {
        let runner = &*self.lander.runner;
        let (token, id) = (self.claimed.token, entry.id);
        let finish = || runner.store.finish_landing(token, id, outcome.clone());
        retry_transient(&*runner.clock, finish).await?;
        Ok(())
    }

    pub(super) fn report(&self, entry: &Landing, result: LandingResult) -> LandingReport {
        LandingReport {
            task: entry.task,
            target: entry.target.clone(),
            result,
        }
    }
}

/// Returns the reason of a change that conflicts.
pub(super) fn conflict(target: &str, files: &[String]) -> String {
    format!("the change conflicts with {target} in {}", files.join(", "))
}

/// Names a task in a commit message. A title may have several lines, which could look like trailers.
fn named(change: &LandingChange) -> String {
    format!("task {}: {}", change.task.id, one_line(&change.task.title))
}

/// Returns the message of a merge commit.
pub(super) fn message(changes: &[LandingChange]) -> String {
    let mut text = match changes {
        [change] => format!("Land {}\n", named(change)),
        changes => {
            let mut text = format!("Land {} tasks\n\n", changes.len());
            for change in changes {
                text.push_str(&format!("- {}\n", named(change)));
            }
            text
        }
    };
    text.push('\n');
    for change in changes {
        text.push_str(&format!("Task-Id: {}\n", change.task.id));
    }
    text
}
