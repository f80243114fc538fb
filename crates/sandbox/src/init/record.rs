//! Records of what has to be cleaned up, for the case that the init program itself is killed.
//!
//! The init program writes one before it puts anything on disk, holds a lock on it, and removes it
//! when it has cleaned up. A record without a lock therefore belongs to a dead init program. The
//! next start of a sandbox carries it out.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::cleanup::SharedWorkingDir;
use crate::init_protocol::{Cleanup, CleanupItem};

/// A record lists a few dozen paths.
const MAX_RECORD_BYTES: u64 = 1 << 20;

/// A record on disk, locked by this process.
pub(super) struct Record {
    path: PathBuf,
    _lock: File,
}

impl Record {
    /// Writes a record. Without one the command still runs, and a killed init program leaves its
    /// mount points until the next start in the same folder.
    pub(super) fn write(path: &Path, cleanup: &Cleanup) -> io::Result<Self> {
        let folder = path.parent().unwrap_or(path);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        // No sweep sees the record before it is locked.
        let folder = File::open(folder)?;
        folder.lock_shared()?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.try_lock()?;
        file.write_all(&serde_json::to_vec(&without_links(cleanup))?)?;
        Ok(Self {
            path: path.to_owned(),
            _lock: file,
        })
    }

    /// Removes the record: everything has been cleaned up.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A link is not restored from a record: the user may have changed it since.
fn without_links(cleanup: &Cleanup) -> Cleanup {
    let mut cleanup = cleanup.clone();
    cleanup
        .items
        .retain(|item| !matches!(item, CleanupItem::RestoreLink(..)));
    cleanup
}

/// Carries out the records of init programs that were killed.
///
/// What cannot be read or removed is left for the next time.
pub(crate) fn sweep(folder: &Path) {
    let Ok(lock) = File::open(folder) else {
        return;
    };
    // Another process is writing a record or sweeping.
    if lock.try_lock().is_err() {
        return;
    }
    let Ok(entries) = folder.read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        let _ = carry_out(&entry.path());
    }
}

fn carry_out(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.try_lock()?;
    let mut text = Vec::new();
    (&file).take(MAX_RECORD_BYTES).read_to_end(&mut text)?;
    // The disk may have been full, or the power gone, while it was written.
    let cleanup: Cleanup = serde_json::from_slice(&text).unwrap_or_default();
    let working_dir = SharedWorkingDir::lock(cleanup.working_dir.as_deref());
    if working_dir.is_last() {
        working_dir.clean_up(&cleanup);
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mount_point;

    struct Place {
        folder: tempfile::TempDir,
        cleanup: Cleanup,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let working_dir = folder.path().join("project");
            let private = folder.path().join("windlass-private");
            fs::create_dir(&working_dir).unwrap();
            fs::create_dir(&private).unwrap();
            mount_point::create(&working_dir.join(".vscode")).unwrap();
            let items = vec![
                CleanupItem::MountPoint(working_dir.join(".vscode").into()),
                CleanupItem::RestoreLink(working_dir.join(".bashrc").into(), "old".into()),
                CleanupItem::PrivateDir(private.into()),
            ];
            let cleanup = Cleanup {
                working_dir: Some(working_dir.into()),
                items,
            };
            Self { folder, cleanup }
        }

        fn records(&self) -> PathBuf {
            self.folder.path().join("state/cleanup")
        }

        fn write(&self) -> Record {
            Record::write(&self.records().join("one"), &self.cleanup).unwrap()
        }

        fn exists(&self, name: &str) -> bool {
            self.folder.path().join(name).symlink_metadata().is_ok()
        }
    }

    #[test]
    fn a_record_is_carried_out_once_its_writer_has_died() {
        let place = Place::new();
        let record = place.write();
        sweep(&place.records());
        assert!(place.exists("project/.vscode"), "its writer still runs");

        drop(record);
        sweep(&place.records());
        assert!(!place.exists("project/.vscode") && !place.exists("windlass-private"));
        assert!(!place.exists("project/.bashrc"), "a link was restored");
        assert_eq!(place.records().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_folder_in_use_by_another_sandbox_is_left_for_later() {
        let place = Place::new();
        drop(place.write());
        let other = SharedWorkingDir::lock(place.cleanup.working_dir.as_deref());
        sweep(&place.records());
        assert!(place.exists("project/.vscode"));
        drop(other);
        sweep(&place.records());
        assert!(!place.exists("project/.vscode"));
    }

    #[test]
    fn an_unreadable_record_is_removed_and_harms_nothing() {
        let place = Place::new();
        drop(place.write());
        fs::write(place.records().join("one"), "{\"items\": [").unwrap();
        sweep(&place.records());
        assert!(place.exists("project/.vscode"));
        assert_eq!(place.records().read_dir().unwrap().count(), 0);
    }
}
