//! Where requests work: a folder for each server, which the next one removes if this one cannot.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use super::super::exit::CliError;
use crate::config::private_dir::PrivateDir;

/// A folder of this server's own, gone when it ends.
#[derive(Debug)]
pub(super) struct RequestDirs {
    own: TempDir,
    /// Held while the server lives, however it ends: who can take it knows that nobody works here any more.
    _lock: File,
}

impl RequestDirs {
    /// Sweeps what servers left behind that were killed, and takes a folder beside those that live.
    pub(super) fn create(requests: &Path) -> Result<Self, CliError> {
        // One at a time: a folder is never seen between being made and being locked.
        let _alone = PrivateDir::lock(requests)?;
        let unusable = |error: io::Error| {
            let folder = requests.display();
            CliError::failed(format!("requests cannot work in {folder}: {error}"))
        };
        remove_stale(requests).map_err(unusable)?;
        let own = tempfile::Builder::new()
            .prefix("server-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(requests)
            .map_err(unusable)?;
        let lock = File::open(own.path()).map_err(unusable)?;
        lock.lock().map_err(unusable)?;
        Ok(Self { own, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.own.path()
    }
}

/// Removes the folders that nobody holds.
fn remove_stale(requests: &Path) -> io::Result<()> {
    for entry in fs::read_dir(requests)? {
        let entry = entry?;
        // A link is not a folder here, and is not followed.
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let path = entry.path();
        let Ok(folder) = File::open(&path) else {
            continue;
        };
        if folder.try_lock().is_ok() {
            // What an agent left there may refuse to go; the next start tries again.
            let _ = fs::remove_dir_all(&path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_left_is_swept_and_what_the_living_have_stays() {
        let state = TempDir::new().unwrap();
        let requests = state.path().join("requests");
        let dead = requests.join("server-dead/turn-1/.git");
        fs::create_dir_all(&dead).unwrap();
        let outside = state.path().join("outside");
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, requests.join("server-link")).unwrap();

        let first = RequestDirs::create(&requests).unwrap();
        assert!(!requests.join("server-dead").exists());
        assert!(outside.exists(), "a link was followed");
        let busy = first.path().join("turn-1");
        fs::create_dir(&busy).unwrap();

        let second = RequestDirs::create(&requests).unwrap();
        assert!(busy.exists(), "another server's request was taken away");
        assert_ne!(first.path(), second.path());
        let path = second.path().to_owned();
        drop(second);
        assert!(!path.exists());
    }
}
