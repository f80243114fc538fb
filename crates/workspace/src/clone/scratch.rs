//! A folder for one piece of work: gone when it is dropped, and swept when we were killed in it.

use std::fs::File;
use std::path::PathBuf;

use super::{Clones, Folder};
use crate::error::Result;
use crate::git::{OwnGit, Repository};

/// A private git folder for one piece of work.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) git: OwnGit,
    _room: Room,
}

impl Scratch {
    pub(crate) fn new(clones: &Clones, repository: &Repository, format: &str) -> Result<Self> {
        let room = Room::new(&clones.folder)?;
        let git = OwnGit::make(&room.path.join("git"), &room.path, repository, format)?;
        Ok(Self { git, _room: room })
    }
}

/// A locked folder among the places.
#[derive(Debug)]
pub(crate) struct Room {
    folder: Folder,
    pub(crate) path: PathBuf,
    _lock: File,
}

impl Room {
    pub(crate) fn new(folder: &Folder) -> Result<Self> {
        let (path, lock) = folder.begin("scratch")?;
        Ok(Self {
            folder: folder.clone(),
            path,
            _lock: lock,
        })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        let _ = self.folder.remove(&self.path);
    }
}
