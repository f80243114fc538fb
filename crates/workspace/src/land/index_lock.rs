//! The lock of a checkout's index, as git takes it.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The content of a lock that Windlass took. Git's own locks have the content of an index.
const MARK: &str = "locked by windlass\n";

/// Keeps other git commands from changing an index. The lock of a killed process is recognized and taken over.
#[derive(Debug)]
pub(super) struct IndexLock {
    path: PathBuf,
    /// Locked by the kernel for as long as the process lives.
    _file: File,
}

impl IndexLock {
    /// Takes the lock. Returns `None` if another program has it.
    pub(super) fn acquire(git_dir: &Path) -> Result<Option<Self>> {
        let path = git_dir.join("index.lock");
        let to_error = |error: std::io::Error| Error::io(&path, &error);
        let mut file = tempfile::NamedTempFile::new_in(git_dir).map_err(to_error)?;
        file.write_all(MARK.as_bytes()).map_err(to_error)?;
        file.as_file().lock().map_err(to_error)?;
        // Complete and locked before it has its name.
        let mut linked = fs::hard_link(file.path(), &path);
        if linked
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::AlreadyExists)
            && let Some(_stale) = lock_stale(&path)
        {
            fs::remove_file(&path).map_err(to_error)?;
            linked = fs::hard_link(file.path(), &path);
        }
        match linked {
            Ok(()) => Ok(Some(Self {
                _file: file.into_file(),
                path,
            })),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(to_error(error)),
        }
    }
}

/// Returns the lock's file, locked, if Windlass took the lock and that process has ended. While the caller has the file,
/// no other process takes the lock over.
fn lock_stale(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    let mut text = String::new();
    let length = u64::try_from(MARK.len()).unwrap_or(u64::MAX);
    (&file).take(length).read_to_string(&mut text).ok()?;
    if text != MARK || file.try_lock().is_err() {
        return None;
    }
    // Another process may have taken it over since the file was opened.
    let (opened, named) = (file.metadata().ok()?, fs::metadata(path).ok()?);
    let is_same = (opened.dev(), opened.ino()) == (named.dev(), named.ino());
    is_same.then_some(file)
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // A lock that stays is recognized as stale.
        let _ = fs::remove_file(&self.path);
    }
}
