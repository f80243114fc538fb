//! A temporary directory for one operation: removed when dropped, and removed as stale if the
//! process was killed.

use std::fs::File;
use std::path::PathBuf;

use super::{Clones, ClonesDir};
use crate::error::Result;
use crate::git::{PrivateGitDir, Repository};

/// A private git directory for one operation.
#[derive(Debug)]
pub(crate) struct ScratchRepo {
    pub(crate) git: PrivateGitDir,
    _dir: LockedDir,
}

impl ScratchRepo {
    pub(crate) fn new(clones: &Clones, repository: &Repository, format: &str) -> Result<Self> {
        let dir = LockedDir::new(&clones.dir)?;
        let git = PrivateGitDir::create(&dir.path.join("git"), &dir.path, repository, format)?;
        Ok(Self { git, _dir: dir })
    }
}

/// A locked directory among the clones.
#[derive(Debug)]
pub(crate) struct LockedDir {
    parent: ClonesDir,
    pub(crate) path: PathBuf,
    _lock: File,
}

impl LockedDir {
    pub(crate) fn new(parent: &ClonesDir) -> Result<Self> {
        let (path, lock) = parent.create_temp("scratch")?;
        Ok(Self {
            parent: parent.clone(),
            path,
            _lock: lock,
        })
    }
}

impl Drop for LockedDir {
    fn drop(&mut self) {
        // A directory that cannot be removed now is removed at the next start.
        let _ = self.parent.remove(&self.path);
    }
}
