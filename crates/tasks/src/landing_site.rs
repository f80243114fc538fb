//! Where changes land: branches of a project's repository.

use std::fmt;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use windlass_core::Result;

use crate::project::Project;
use crate::workspace::{Commit, WorkingCopy};

/// How a change is brought onto a branch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandingStrategy {
    /// With a merge commit, unless the branch can be fast-forwarded.
    #[default]
    Merge,
    /// As one commit on top of the branch.
    Rebase,
}

/// Changes to bring onto a branch.
#[derive(Debug, Clone, Copy)]
pub struct MergeRequest<'a> {
    /// The branch.
    pub branch: &'a str,
    /// The commits of the changes, in their order. With [`LandingStrategy::Rebase`] exactly one.
    pub commits: &'a [String],
    /// How they are brought onto the branch.
    pub strategy: LandingStrategy,
    /// The message of a merge commit.
    pub message: &'a str,
}

/// The result of bringing changes onto a branch, before the branch moves.
#[derive(Debug)]
pub enum MergeResult {
    /// The changes are in one commit on top of the branch.
    Ready(Box<dyn LandingCopy>),
    /// The branch contains all of them already.
    Contained,
    /// This change conflicts with the branch and the changes before it.
    Conflict {
        /// The index of the change.
        at: usize,
        /// The files with conflicts.
        files: Vec<String>,
    },
    /// The branch cannot move now, for this reason: a person works on it.
    NotNow(String),
}

/// The result of moving a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdvanceResult {
    /// The branch was moved.
    Moved,
    /// The branch was moved by another process in the meantime. Nothing was changed.
    Stale,
    /// The branch cannot move now, for this reason. Nothing was changed.
    NotNow(String),
}

/// Brings changes onto branches of a project.
pub trait LandingSite: fmt::Debug + Send + Sync {
    /// Returns the branch that is checked out in the project, if any.
    fn current_branch<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<Option<String>>>;

    /// Returns `true` if the branch contains the commit. If it does, what a killed process left undone in a
    /// checkout of the branch is completed.
    fn contains<'a>(
        &'a self,
        project: &'a Project,
        branch: &'a str,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<bool>>;

    /// Brings changes onto the current commit of a branch, without moving it.
    fn merge<'a>(
        &'a self,
        project: &'a Project,
        request: MergeRequest<'a>,
    ) -> BoxFuture<'a, Result<MergeResult>>;
}

/// Changes on top of a branch that has not moved yet.
pub trait LandingCopy: fmt::Debug + Send + Sync {
    /// Returns the working copy for tests. Its base is the commit of the branch.
    fn working_copy(&self) -> &dyn WorkingCopy;

    /// Returns the commit to test and to move the branch to.
    fn commit(&self) -> &Commit;

    /// Moves the branch by compare-and-swap. If the branch is checked out, its files are updated too; an
    /// uncommitted edit is never lost.
    fn advance(&self) -> BoxFuture<'_, Result<AdvanceResult>>;
}
