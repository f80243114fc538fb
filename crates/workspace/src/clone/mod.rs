//! Each attempt in a clone of its own, under a folder that is ours alone.
//!
//! A place is a folder with two things in it: the attempt's clone, in which an agent may do as it likes,
//! commit included, and `.place`, which no agent can write to. There stands a git folder of our own; with
//! it we compare, commit and publish, so that nothing an agent does to the clone's own git folder is ever
//! obeyed, and its commits become part of our one commit. Both borrow the objects of the user's repository. Neither has
//! its settings, hooks or branches; tags are there.
//!
//! Submodules and large files kept elsewhere (LFS) are not fetched: the first are empty folders, the
//! second are the small files that point to them.

mod attempt_clone;
mod clones_dir;
mod open;
mod scratch;

use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use windlass_core::task::{AttemptRef, Project};
use windlass_core::workspace::{WorkingCopy, Workspace};
use windlass_sandbox::Sandbox;

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
    pub(crate) folder: ClonesDir,
}

impl Clones {
    /// Places under `folder`, which is made if it is missing and must be ours alone. Give each store a
    /// folder of its own: attempts are known by their numbers.
    pub fn new(sandbox: Sandbox, folder: impl Into<PathBuf>) -> crate::Result<Self> {
        let folder = ClonesDir::new(folder.into())?;
        Ok(Self {
            git: Git::new(sandbox, folder.path().to_owned()),
            folder,
        })
    }

    /// Signs commits with this name and address instead of `Windlass <windlass@localhost>`.
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
            let opened = OpenClone::create(self, repository, &format, &base, name).await?;
            let place: Box<dyn WorkingCopy> = Box::new(AttemptClone::new(self.clone(), opened));
            Ok(place)
        })
    }

    fn remove_stale<'a>(
        &'a self,
        living: &'a [AttemptRef],
    ) -> BoxFuture<'a, windlass_core::Result<u32>> {
        let (folder, living) = (self.folder.clone(), living.to_vec());
        Box::pin(async move { Ok(blocking(move || folder.remove_stale(&living)).await?) })
    }

    fn branch_commit<'a>(
        &'a self,
        project: &'a Project,
        name: &'a str,
    ) -> BoxFuture<'a, windlass_core::Result<Option<String>>> {
        Box::pin(async move {
            let repository = Repository::find(&project.root)?;
            let standing = repository.branch(&self.git, name).await?;
            Ok(standing.map(|found| found.commit))
        })
    }
}

/// Folders outside of a place that whoever works in it must be able to read: the objects that its clone
/// borrows. Give them to `Profile::read` when you start a process in `root`. Empty where `root` is no place.
pub fn readable_dirs(root: &Path) -> Vec<PathBuf> {
    open::shared_object_dirs(root)
}
