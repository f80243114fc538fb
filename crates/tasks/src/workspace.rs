//! Working copies.

use std::fmt;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use windlass_core::{Error, Result};

use crate::base::{BaseConflict, BasePart, BaseRequest};
use crate::id::AttemptRef;
use crate::project::Project;

/// A working copy left over after the worker of its attempt died, with that attempt.
pub type StaleCopy = (AttemptRef, Box<dyn WorkingCopy>);

/// The result of opening a working copy.
#[derive(Debug)]
pub enum Opened {
    /// The working copy.
    Copy(Box<dyn WorkingCopy>),
    /// Not created, because the changes in its base conflict.
    Conflict(BaseConflict),
}

/// Creates a working copy for each attempt and finds those left over after a crash.
pub trait Workspace: fmt::Debug + Send + Sync {
    /// Creates a working copy for the attempt. Its base is the requested target with the requested changes merged in.
    /// With `earlier`, the commit that keeps an earlier attempt's change, the files also have that change.
    /// [`start`](WorkingCopy::start) says whether it could be applied.
    fn open_on<'a>(
        &'a self,
        project: &'a Project,
        attempt: AttemptRef,
        base: &'a BaseRequest,
        earlier: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Opened>>;

    /// Creates a working copy for the attempt at the project's current commit.
    fn open<'a>(
        &'a self,
        project: &'a Project,
        attempt: AttemptRef,
        earlier: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn WorkingCopy>>> {
        Box::pin(async move {
            let base = BaseRequest::default();
            match self.open_on(project, attempt, &base, earlier).await? {
                Opened::Copy(copy) => Ok(copy),
                Opened::Conflict(_) => {
                    let problem = "a base without changes cannot have a conflict";
                    Err(Error::InvalidInput(problem.to_owned()))
                }
            }
        })
    }

    /// Opens the working copies of attempts that are not live, if no process uses them. The caller keeps their
    /// changes and closes them. Those that cannot be opened any more are removed.
    fn stale<'a>(
        &'a self,
        is_live: &'a (dyn Fn(AttemptRef) -> bool + Sync),
    ) -> BoxFuture<'a, Result<Vec<StaleCopy>>>;

    /// Returns the commit that a branch of the project points to, or `None` if there is no such branch.
    fn branch_commit<'a>(
        &'a self,
        project: &'a Project,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>>>;

    /// Returns the difference between two commits of the project, limited in size.
    fn diff<'a>(
        &'a self,
        project: &'a Project,
        base: &'a str,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<String>>;
}

/// Where the files of a working copy came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StartPoint {
    /// The base.
    #[default]
    Base,
    /// The base with an earlier attempt's change.
    Change,
    /// The base, because the earlier attempt's change cannot be applied to it, for this reason.
    NotApplied(String),
    /// The base with the conflicts of the changes that it merges, in these files.
    Conflict(Vec<String>),
}

/// The private clone of an attempt. Dropping it does not delete the files: it is found again by
/// [`Workspace::stale`].
pub trait WorkingCopy: fmt::Debug + Send + Sync {
    /// Returns the directory in which the agent works.
    fn root(&self) -> &Path;

    /// Returns the commit that the attempt started from.
    fn base(&self) -> &str;

    /// Returns the changes of other tasks in the base that are not in its target.
    fn base_parts(&self) -> &[BasePart];

    /// Returns where the files came from.
    fn start(&self) -> &StartPoint;

    /// Returns the directories outside the root that a process in it must be able to read.
    fn readable_dirs(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the text of a file of at most `limit` bytes, for a model without its own file access. Returns
    /// `None` if the file does not exist, is larger, is not text, or is outside the working copy.
    fn read<'a>(&'a self, path: &'a str, limit: usize) -> BoxFuture<'a, Result<Option<String>>> {
        let _ = (path, limit);
        Box::pin(async { Ok(None) })
    }

    /// Applies generated files, all or none, and returns the changed paths relative to the root.
    fn apply(&self, files: Vec<FileChange>) -> BoxFuture<'_, Result<Vec<String>>>;

    /// Returns the difference from the base.
    fn change(&self) -> BoxFuture<'_, Result<Change>>;

    /// Commits all differences from the base with the given message. Returns the base itself if nothing
    /// differs.
    fn commit(&self, message: String) -> BoxFuture<'_, Result<Commit>>;

    /// Returns the difference of a commit of this working copy from the base.
    fn change_of<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, Result<Change>>;

    /// Publishes the commit as this branch in the user's repository, with compare-and-swap. The checkout
    /// is not changed. Repeating the call with the same commit has no effect.
    fn publish<'a>(&'a self, commit: &'a Commit, branch: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Keeps the change as a ref in the user's repository, whatever state the files are in. Returns the commit
    /// on top of the base, or `None` if the attempt changed nothing. If the change was published, that is
    /// the published commit. Repeating the call has no effect.
    fn keep(&self, message: String) -> BoxFuture<'_, Result<Option<Commit>>>;

    /// Removes the clone.
    fn close(self: Box<Self>) -> BoxFuture<'static, Result<()>>;
}

/// A file that a model wants created, modified or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path relative to the project's root.
    pub path: String,
    /// The complete new content; empty for a deletion.
    #[serde(default)]
    pub content: String,
    /// The action to perform.
    pub action: FileAction,
}

/// An action on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// Create the file and its parent directories.
    Create,
    /// Replace the content of an existing file.
    Modify,
    /// Delete an existing file.
    Delete,
}

/// The changes an attempt made to the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The changed paths, relative to the root, sorted.
    pub files: Vec<String>,
    /// The change as a unified diff, limited in size.
    pub diff: String,
    /// The number of added and removed lines.
    #[serde(default)]
    pub lines: u64,
    /// Test files that the change deletes or empties, each with a description of the change.
    pub weakened_tests: Vec<String>,
}

impl Change {
    /// Returns `true` if the working copy equals the base.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// A commit and its tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The hash of the commit.
    pub id: String,
    /// The hash of its tree.
    pub tree: String,
}
