//! A folder for one piece of work: gone when it is dropped, and swept when we were killed in it.

use std::fs::File;
use std::path::PathBuf;

use super::{Clones, ClonesDir};
use crate::error::Result;
use crate::git::{PrivateGitDir, Repository};

/// A private git folder for one piece of work.
#[derive(Debug)]
pub(crate) struct ScratchRepo {
    pub(crate) git: PrivateGitDir,
    _room: LockedDir,
}

impl ScratchRepo {
    pub(crate) fn new(clones: &Clones, repository: &Repository, format: &str) -> Result<Self> {
        let room = LockedDir::new(&clones.folder)?;
        let git = PrivateGitDir::create(&room.path.join("git"), &room.path, repository, format)?;
        Ok(Self { git, _room: room })
    }
}

/// A locked folder among the places.
#[derive(Debug)]
pub(crate) struct LockedDir {
    folder: ClonesDir,
    pub(crate) path: PathBuf,
    _lock: File,
}

impl LockedDir {
    pub(crate) fn new(folder: &ClonesDir) -> Result<Self> {
        let (path, lock) = folder.create_temp("scratch")?;
        Ok(Self {
            folder: folder.clone(),
            path,
            _lock: lock,
        })
    }
}

impl Drop for LockedDir {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        let _ = self.folder.remove(&self.path);
    }
}
