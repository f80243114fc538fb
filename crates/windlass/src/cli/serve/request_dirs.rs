//! The working directories of requests: one parent directory per server. The next server removes it if this one is
//! killed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use super::super::exit::CliError;
use crate::config::private_dir::PrivateDir;

/// This server's own directory, removed when it is dropped.
#[derive(Debug)]
pub(super) struct RequestDirs {
    own: TempDir,
    /// Held while the server process lives, even if it is killed. A process that can take the lock knows that the
    /// directory is no longer used.
    _lock: File,
}

impl RequestDirs {
    /// Removes the directories of servers that were killed, and creates a new one next to those in use.
    pub(super) fn create(requests: &Path) -> Result<Self, CliError> {
        // Only one process at a time, so that no other process sees a directory before it is locked.
        let _guard = PrivateDir::lock(requests)?;
        let unusable = |error: io::Error| {
            let dir = requests.display();
            CliError::failed(format!(
                "the directory for requests {dir} cannot be used: {error}"
            ))
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

/// Removes the directories that are not locked.
fn remove_stale(requests: &Path) -> io::Result<()> {
    for entry in fs::read_dir(requests)? {
        let entry = entry?;
        // A symbolic link is not a directory here, and is not followed.
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let path = entry.path();
        let Ok(dir) = File::open(&path) else {
            continue;
        };
        if dir.try_lock().is_ok() {
            // Removing files of an agent may fail; the next start tries again.
            let _ = fs::remove_dir_all(&path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_dirs_are_removed_and_locked_dirs_kept() {
        let state = TempDir::new().unwrap();
        let requests = state.path().join("requests");
        let stale = requests.join("server-stale/turn-1/.git");
        fs::create_dir_all(&stale).unwrap();
        let outside = state.path().join("outside");
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, requests.join("server-link")).unwrap();

        let first = RequestDirs::create(&requests).unwrap();
        assert!(!requests.join("server-stale").exists());
        assert!(outside.exists(), "a symbolic link was followed");
        let busy = first.path().join("turn-1");
        fs::create_dir(&busy).unwrap();

        let second = RequestDirs::create(&requests).unwrap();
        assert!(busy.exists(), "another server's request was removed");
        assert_ne!(first.path(), second.path());
        let path = second.path().to_owned();
        drop(second);
        assert!(!path.exists());
    }
}
