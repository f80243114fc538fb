//! Where a task is worked on, how it is tested, and what an agent should know before it begins.
//!
//! The runner sees these traits only, so that a simulator can stand behind them.

use std::fmt;
use std::path::Path;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::task::{AttemptRef, Issue, Project, Task, TestResult};

/// Opens a place for each attempt, and clears away what crashes left behind.
pub trait Workspace: fmt::Debug + Send + Sync {
    /// A fresh place for this attempt, at the project's present commit.
    fn open<'a>(
        &'a self,
        project: &'a Project,
        attempt: AttemptRef,
    ) -> BoxFuture<'a, Result<Box<dyn WorkingCopy>>>;

    /// Removes the places of attempts that are not among the living.
    fn remove_stale<'a>(&'a self, living: &'a [AttemptRef]) -> BoxFuture<'a, Result<u32>>;

    /// The commit that a branch of the project stands at, where there is such a branch.
    fn branch_commit<'a>(
        &'a self,
        project: &'a Project,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>>>;
}

/// An attempt's own clone. Dropping it leaves the files to [`Workspace::clear`].
pub trait WorkingCopy: fmt::Debug + Send + Sync {
    /// The folder in which the agent works.
    fn root(&self) -> &Path;

    /// The commit the work began from.
    fn base(&self) -> &str;

    /// The text of a file of at most so many bytes, for a model that cannot read by itself. `None`: there is no such
    /// file, or it is larger, or it is not text, or it cannot be shown without leaving the place.
    fn read<'a>(&'a self, path: &'a str, limit: usize) -> BoxFuture<'a, Result<Option<String>>> {
        let _ = (path, limit);
        Box::pin(async { Ok(None) })
    }

    /// Applies generated files, all or nothing, and gives the changed paths, relative to the root.
    fn apply(&self, files: Vec<FileChange>) -> BoxFuture<'_, Result<Vec<String>>>;

    /// What differs from the base by now.
    fn change(&self) -> BoxFuture<'_, Result<Change>>;

    /// Makes one commit of all that differs from the base, under this message.
    fn commit(&self, message: String) -> BoxFuture<'_, Result<Commit>>;

    /// Brings the commit into the user's repository as this branch, compare-and-swap; the checkout stays
    /// untouched. Doing it again with the same commit changes nothing.
    fn publish<'a>(&'a self, commit: &'a Commit, branch: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Removes the clone.
    fn close(self: Box<Self>) -> BoxFuture<'static, Result<()>>;
}

/// A file that a model wants created, modified or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the project's root.
    pub path: String,
    /// The whole new content; empty for a deletion.
    #[serde(default)]
    pub content: String,
    /// What to do.
    pub action: FileAction,
}

/// What to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// Make it, parents included.
    Create,
    /// Give it another content. It must be there.
    Modify,
    /// Remove it. It must be there.
    Delete,
}

/// What an attempt did to the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The changed paths, relative to the root, sorted.
    pub files: Vec<String>,
    /// As a unified diff, bounded.
    pub diff: String,
    /// Test files that the change deletes or empties, each with what was done to it.
    pub weakened_tests: Vec<String>,
}

impl Change {
    /// Whether nothing differs from the base.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// A commit and its tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The commit's hash.
    pub id: String,
    /// Its tree's hash.
    pub tree: String,
}

/// Knows how a project is tested, and does it.
pub trait Verifier: fmt::Debug + Send + Sync {
    /// What would be run in this folder.
    fn plan<'a>(&'a self, root: &'a Path) -> BoxFuture<'a, Result<TestPlan>>;

    /// Runs it to its end or its deadline. Red tests are a result, not an error.
    fn verify<'a>(&'a self, root: &'a Path) -> BoxFuture<'a, Result<TestResult>>;
}

/// How a project is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestPlan {
    /// By this command.
    Command(Vec<String>),
    /// Not at all, and its trusted configuration says so.
    None,
    /// Nobody knows: a person must say.
    Unknown,
}

/// Knows which parts of a project a task is about.
pub trait ContextSource: fmt::Debug + Send + Sync {
    /// What an agent should know before it begins; `build_context` of the worker's contract.
    fn build_context<'a>(
        &'a self,
        root: &'a Path,
        task: &'a Task,
        issue: Option<&'a Issue>,
    ) -> BoxFuture<'a, Result<TaskContext>>;
}

/// What an agent should know before it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskContext {
    /// The task.
    pub task: Task,
    /// The files it is probably about, best first, at most [`Self::MAX_FILES`].
    pub related_files: Vec<RelatedFile>,
    /// The symbols it is probably about, best first, at most [`Self::MAX_SYMBOLS`].
    pub related_symbols: Vec<RelatedSymbol>,
    /// What it is part of.
    pub issue_context: Option<Issue>,
}

impl TaskContext {
    /// The most files a context names.
    pub const MAX_FILES: usize = 10;
    /// The most symbols a context names.
    pub const MAX_SYMBOLS: usize = 20;
}

/// A file that a task is probably about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelatedFile {
    /// Relative to the root.
    pub path: String,
    /// Comparable within one context only.
    pub score: f64,
    /// Why it was chosen.
    pub why: String,
}

/// A symbol that a task is probably about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelatedSymbol {
    /// As it is written.
    pub name: String,
    /// Function, class and the like.
    pub kind: String,
    /// The file that defines it, relative to the root.
    pub path: String,
    /// The line of its definition, from one.
    pub line: u32,
    /// Comparable within one context only.
    pub score: f64,
    /// Why it was chosen.
    pub why: String,
}
