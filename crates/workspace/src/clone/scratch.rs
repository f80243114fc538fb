//! A folder for one piece of work: gone when it is dropped, and swept when we were killed in it.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{Clones, Folder};
use crate::error::{Error, Result};
use crate::git::{OwnGit, Repository};

/// Held as long as somebody works there.
const LOCK: &str = "lock";

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
        let path = folder.begin("scratch")?;
        let locked = File::create(path.join(LOCK)).and_then(|file| {
            file.lock()?;
            Ok(file)
        });
        Ok(Self {
            folder: folder.clone(),
            _lock: locked.map_err(|error| Error::io(&path, &error))?,
            path,
        })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        let _ = self.folder.remove(&self.path);
    }
}

/// Whether nobody works in this folder any more.
pub(crate) fn is_abandoned(path: &Path) -> bool {
    // Without a lock file its maker has just begun, and needs it in a moment; or never came so far, and then
    // it is empty.
    File::open(path.join(LOCK)).map_or_else(|_| is_empty(path), |file| file.try_lock().is_ok())
}

fn is_empty(path: &Path) -> bool {
    path.read_dir()
        .is_ok_and(|mut entries| entries.next().is_none())
}
