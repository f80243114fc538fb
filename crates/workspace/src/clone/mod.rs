//! Gives each attempt a private clone, under a directory that only Windlass uses.
//!
//! The directory of a clone contains the clone itself, in which an agent may do anything, including
//! commits, and `.meta`, which no agent can write to. `.meta` contains a private git directory that
//! is used to compare, commit and publish. Nothing that an agent does to the clone's own git
//! directory is therefore ever applied, and its commits become part of one commit by Windlass. Both
//! git directories borrow the objects of the user's repository. Neither has its settings, hooks or
//! branches; both have its tags.
//!
//! Submodules and files stored with LFS are not fetched: submodules are empty directories, and LFS
//! files are the pointer files.

mod attempt_clone;
mod clones_dir;
mod open;
mod scratch;

use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use windlass_sandbox::Sandbox;
use windlass_tasks::{AttemptRef, Project, WorkingCopy, Workspace};

use crate::blocking;
use crate::git::{Git, Repository};

pub use attempt_clone::AttemptClone;
pub(crate) use clones_dir::ClonesDir;
pub(crate) use open::{OpenClone, cache_dir, shared_object_dirs, test_command};
pub(crate) use scratch::{LockedDir, ScratchRepo};

/// Opens a clone for each attempt.
#[derive(Debug, Clone)]
pub struct Clones {
    pub(crate) git: Git,
    pub(crate) dir: ClonesDir,
}

impl Clones {
    /// Creates clones under `dir`, which is created if it is missing and must be private. Use a
    /// separate directory for each store: clones are named by the numbers of their attempts.
    pub fn new(sandbox: Sandbox, dir: impl Into<PathBuf>) -> crate::Result<Self> {
        let dir = ClonesDir::new(dir.into())?;
        Ok(Self {
            git: Git::new(sandbox, dir.path().to_owned()),
            dir,
        })
    }

    /// Uses this author for commits instead of `Windlass <windlass@localhost>`.
    pub fn with_author(mut self, name: impl Into<String>, email: impl Into<String>) -> Self {
        self.git = self.git.with_author(name.into(), email.into());
        self
    }
}

impl Workspace for Clones {
    fn open<'a>(
        &'a self,
        project: &'a Project,
        attempt: AttemptRef,
    ) -> BoxFuture<'a, windlass_core::Result<Box<dyn WorkingCopy>>> {
        Box::pin(async move {
            let repository = Repository::find(&project.root)?;
            let (format, base) = repository.head(&self.git).await?;
            let name = clones_dir::clone_name(attempt);
            let clone = OpenClone::create(self, repository, &format, &base, name).await?;
            let copy: Box<dyn WorkingCopy> = Box::new(AttemptClone::new(self.clone(), clone));
            Ok(copy)
        })
    }

    fn remove_stale<'a>(
        &'a self,
        live: &'a [AttemptRef],
    ) -> BoxFuture<'a, windlass_core::Result<u32>> {
        let (dir, live) = (self.dir.clone(), live.to_vec());
        Box::pin(async move { Ok(blocking(move || dir.remove_stale(&live)).await?) })
    }

    fn branch_commit<'a>(
        &'a self,
        project: &'a Project,
        name: &'a str,
    ) -> BoxFuture<'a, windlass_core::Result<Option<String>>> {
        Box::pin(async move {
            let repository = Repository::find(&project.root)?;
            let status = repository.branch(&self.git, name).await?;
            Ok(status.map(|status| status.commit))
        })
    }
}

/// Returns the directories outside a clone that a process in it must be able to read: the objects
/// that the clone borrows. Pass them to `Profile::read` to start a process in `root`. Empty if
/// `root` is not a clone.
pub fn readable_dirs(root: &Path) -> Vec<PathBuf> {
    open::shared_object_dirs(root)
}
