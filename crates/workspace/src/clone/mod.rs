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

mod folder;
mod open;
mod own;
mod scratch;

use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use windlass_core::place::{Place, Workspace};
use windlass_core::task::{AttemptRef, Project};
use windlass_sandbox::Sandbox;

use crate::blocking;
use crate::git::{Git, Repository};

pub(crate) use folder::Folder;
pub(crate) use open::{Opened, cache_of, shared_with, tested_by};
pub use own::OwnClone;
pub(crate) use scratch::{Room, Scratch};

/// Opens a clone for each attempt.
#[derive(Debug, Clone)]
pub struct Clones {
    pub(crate) git: Git,
    pub(crate) folder: Folder,
}

impl Clones {
    /// Places under `folder`, which is made if it is missing and must be ours alone. Give each store a
    /// folder of its own: attempts are known by their numbers.
    pub fn new(sandbox: Sandbox, folder: impl Into<PathBuf>) -> crate::Result<Self> {
        let folder = Folder::new(folder.into())?;
        Ok(Self {
            git: Git::new(sandbox, folder.path().to_owned()),
            folder,
        })
    }

    /// Signs commits with this name and address instead of `Windlass <windlass@localhost>`.
    pub fn signed(mut self, name: impl Into<String>, email: impl Into<String>) -> Self {
        self.git = self.git.signed(name.into(), email.into());
        self
    }
}

impl Workspace for Clones {
    fn open<'a>(
        &'a self,
        project: &'a Project,
        attempt: AttemptRef,
    ) -> BoxFuture<'a, windlass_core::Result<Box<dyn Place>>> {
        Box::pin(async move {
            let repository = Repository::find(&project.root)?;
            let (format, base) = repository.head(&self.git).await?;
            let name = folder::name(attempt);
            let opened = Opened::at(self, repository, &format, &base, name).await?;
            let place: Box<dyn Place> = Box::new(OwnClone::new(self.clone(), opened));
            Ok(place)
        })
    }

    fn clear<'a>(&'a self, living: &'a [AttemptRef]) -> BoxFuture<'a, windlass_core::Result<u32>> {
        let (folder, living) = (self.folder.clone(), living.to_vec());
        Box::pin(async move { Ok(blocking(move || folder.clear(&living)).await?) })
    }

    fn branch<'a>(
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
pub fn reads(root: &Path) -> Vec<PathBuf> {
    open::shared_with(root)
}
