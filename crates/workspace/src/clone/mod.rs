//! Gives each attempt a private clone, under a directory that only Windlass uses.
//!
//! The directory of a clone contains the clone itself, in which an agent may do anything, including
//! commits, and `.meta`, which no agent can write to. `.meta` contains a private git directory that
//! is used to compare, commit and publish. Nothing that an agent does to the clone's own git
//! directory is therefore ever applied, and its commits become part of one commit by Windlass. Both
//! git directories borrow the objects of the user's repository. Neither has its settings, hooks or
//! branches; both have its tags.
//!
//! Tests run in a [`Checkout`]: a third directory, with exactly the files of one commit, that no agent
//! can reach.
//!
//! Nothing is downloaded: the files of submodules and those stored with LFS come from the user's
//! checkout, and a clone is refused if they are not there. A clone contains all files of the commit,
//! also if the user's checkout is sparse.

mod attempt_clone;
mod base;
mod checkout;
mod clones_dir;
mod copied;
mod file_states;
mod landing_copy;
mod lfs;
mod meta;
mod names;
mod open;
mod origin;
mod prepared;
mod retention;
mod scratch;
mod stale;
mod start;
mod submodules;

use std::path::PathBuf;

use futures::future::BoxFuture;
use windlass_sandbox::Sandbox;
use windlass_tasks::{AttemptRef, BaseRequest, Opened, Project, StaleCopy, WorkingCopy, Workspace};

use crate::blocking;
use crate::error::Error;
use crate::git::{Git, Repository};

pub use attempt_clone::AttemptClone;
pub(crate) use checkout::{Checkout, CheckoutSource};
pub(crate) use clones_dir::ClonesDir;
pub(crate) use copied::copied_files;
pub(crate) use landing_copy::TestCopy;
pub(crate) use open::{OpenClone, cache_dir, detected_tests};
pub(crate) use origin::{CloneOrigin, KEPT_REFS, kept_ref};
pub use prepared::{Prepared, readable_dirs};
pub(crate) use prepared::{git_dirs, prepared, private_git, record};
pub(crate) use retention::PruneTimer;
pub use retention::Retention;
pub(crate) use scratch::{LockedDir, ScratchRepo};

/// Opens a clone for each attempt.
#[derive(Debug, Clone)]
pub struct Clones {
    pub(crate) git: Git,
    pub(crate) dir: ClonesDir,
    /// Files of the user's checkout that every clone gets.
    copied: Vec<String>,
    /// The id of the store, in the names of refs.
    pub(crate) store: String,
    pub(crate) retention: Retention,
    pub(crate) prune_timer: PruneTimer,
}

/// The id in the names of refs if no store is named.
const UNNAMED_STORE: &str = "unnamed";

impl Clones {
    /// Creates clones under `dir`, which is created if it is missing and must be private. Use a
    /// separate directory for each store: clones are named by the numbers of their attempts.
    pub fn new(sandbox: Sandbox, dir: impl Into<PathBuf>) -> crate::Result<Self> {
        let dir = ClonesDir::new(dir.into())?;
        Ok(Self {
            git: Git::new(sandbox, dir.path().to_owned()),
            dir,
            copied: Vec::new(),
            store: UNNAMED_STORE.to_owned(),
            retention: Retention::default(),
            prune_timer: PruneTimer::default(),
        })
    }

    /// Copies these files of the user's checkout into every clone. They are relative paths of files
    /// that git does not track, and are never part of a change.
    pub fn with_copied_files(mut self, files: Vec<String>) -> Self {
        self.copied = files;
        self
    }

    /// Uses this id of the store in the names of refs, because several stores can have tasks for
    /// one repository.
    pub fn with_store(mut self, id: impl Into<String>) -> Self {
        self.store = id.into();
        self
    }

    /// Sets how long and how many changes of attempts are kept.
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Uses this author for commits instead of `Windlass <windlass@localhost>`.
    pub fn with_author(mut self, name: impl Into<String>, email: impl Into<String>) -> Self {
        self.git = self.git.with_author(name.into(), email.into());
        self
    }
}

impl Workspace for Clones {
    fn open_on<'a>(
        &'a self,
        project: &'a Project,
        attempt: AttemptRef,
        base: &'a BaseRequest,
        earlier: Option<&'a str>,
    ) -> BoxFuture<'a, windlass_core::Result<Opened>> {
        Box::pin(async move {
            let repository = Repository::find(&project.root)?;
            let (format, head) = repository.head(&self.git).await?;
            let target = match &base.target {
                None => head,
                Some(branch) => {
                    let found = repository.branch(&self.git, branch).await?;
                    let missing = || Error::branch(branch, "does not exist: create it first");
                    found.ok_or_else(missing)?.commit
                }
            };
            let at = (format.as_str(), target.as_str());
            let base = match base::stacked_base(self, &repository, at, attempt, base).await? {
                Ok(base) => base,
                Err(conflict) => return Ok(Opened::Conflict(conflict)),
            };
            let clone =
                OpenClone::create(self, repository, (&format, base), attempt, earlier).await?;
            let copy = AttemptClone::new(self.clone(), clone);
            Ok(Opened::Copy(Box::new(copy)))
        })
    }

    fn stale<'a>(
        &'a self,
        is_live: &'a (dyn Fn(AttemptRef) -> bool + Sync),
    ) -> BoxFuture<'a, windlass_core::Result<Vec<StaleCopy>>> {
        Box::pin(async move {
            let dir = self.dir.clone();
            let mut attempts = blocking(move || dir.clean_up()).await?;
            attempts.retain(|attempt| !is_live(*attempt));
            let (dir, max_age) = (self.dir.clone(), self.retention.max_age);
            let clones = blocking(move || stale::open_stale(&dir, attempts, max_age)).await?;
            let copies = clones.into_iter().map(|(attempt, clone)| {
                let copy = AttemptClone::new(self.clone(), clone);
                (attempt, Box::new(copy) as Box<dyn WorkingCopy>)
            });
            Ok(copies.collect())
        })
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

    fn diff<'a>(
        &'a self,
        project: &'a Project,
        base: &'a str,
        commit: &'a str,
    ) -> BoxFuture<'a, windlass_core::Result<String>> {
        Box::pin(async move { Ok(Self::diff(self, &project.root, Some(base), commit).await?) })
    }
}
