//! Cleanup records, used when the init process itself is killed.
//!
//! The init process writes a record before it creates anything on disk, holds a lock on it, and
//! removes it after cleaning up. A record without a lock therefore belongs to a dead init process.
//! The next start of a sandbox processes it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::cleanup::SharedWorkingDir;
use crate::init_protocol::{CleanupItem, CleanupPlan};

/// A record lists a few dozen paths.
const MAX_RECORD_BYTES: u64 = 1 << 20;

/// A record on disk, locked by this process.
pub(super) struct CleanupRecord {
    path: PathBuf,
    file: File,
}

impl CleanupRecord {
    /// Writes a record. Without one the command still runs, but a killed init process leaves its
    /// mount points until the next start in the same directory.
    pub(super) fn write(path: &Path, cleanup: &CleanupPlan) -> io::Result<Self> {
        let dir = path.parent().unwrap_or(path);
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        // The lock hides the new record from cleanups until it is locked itself.
        let dir = File::open(dir)?;
        dir.lock_shared()?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.try_lock()?;
        file.write_all(&serde_json::to_vec(&without_links(cleanup))?)?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Removes the record after everything was cleaned up.
    pub(super) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Leaves what was not cleaned up to the next start of a sandbox, which may come before this process has exited.
    pub(super) fn leave(&self) {
        let _ = self.file.unlock();
    }
}

/// Removes the links: they are not restored from a record, because the user may have changed them
/// since.
fn without_links(cleanup: &CleanupPlan) -> CleanupPlan {
    let mut cleanup = cleanup.clone();
    cleanup
        .items
        .retain(|item| !matches!(item, CleanupItem::RestoreLink(..)));
    cleanup
}

/// Processes the records of init processes that were killed.
///
/// Records that cannot be read or removed are left for the next cleanup.
pub(crate) fn sweep(dir: &Path) {
    let Ok(lock) = File::open(dir) else {
        return;
    };
    // Another process is writing or removing a record.
    if lock.try_lock().is_err() {
        return;
    }
    let Ok(entries) = dir.read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        let _ = process(&entry.path());
    }
}

fn process(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.try_lock()?;
    let mut text = Vec::new();
    (&file).take(MAX_RECORD_BYTES).read_to_end(&mut text)?;
    // The disk may have been full, or the power lost, while the record was written.
    let cleanup: CleanupPlan = serde_json::from_slice(&text).unwrap_or_default();
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

    struct RecordFixture {
        dir: tempfile::TempDir,
        cleanup: CleanupPlan,
    }

    impl RecordFixture {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let working_dir = dir.path().join("project");
            let private = dir.path().join("windlass-private");
            fs::create_dir(&working_dir).unwrap();
            fs::create_dir(&private).unwrap();
            mount_point::create(&working_dir.join(".vscode")).unwrap();
            let items = vec![
                CleanupItem::MountPoint(working_dir.join(".vscode").into()),
                CleanupItem::RestoreLink(working_dir.join(".bashrc").into(), "old".into()),
                CleanupItem::PrivateDir(private.into()),
            ];
            let cleanup = CleanupPlan {
                working_dir: Some(working_dir.into()),
                items,
            };
            Self { dir, cleanup }
        }

        fn records(&self) -> PathBuf {
            self.dir.path().join("state/cleanup")
        }

        fn write(&self) -> CleanupRecord {
            CleanupRecord::write(&self.records().join("one"), &self.cleanup).unwrap()
        }

        fn exists(&self, name: &str) -> bool {
            self.dir.path().join(name).symlink_metadata().is_ok()
        }
    }

    #[test]
    fn record_is_processed_once_its_writer_is_dead() {
        let fixture = RecordFixture::new();
        let record = fixture.write();
        sweep(&fixture.records());
        assert!(
            fixture.exists("project/.vscode"),
            "the record's writer is still running"
        );

        drop(record);
        sweep(&fixture.records());
        assert!(!fixture.exists("project/.vscode") && !fixture.exists("windlass-private"));
        assert!(!fixture.exists("project/.bashrc"), "a link was restored");
        assert_eq!(fixture.records().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn dir_in_use_by_another_sandbox_is_left() {
        let fixture = RecordFixture::new();
        drop(fixture.write());
        let other = SharedWorkingDir::lock(fixture.cleanup.working_dir.as_deref());
        sweep(&fixture.records());
        assert!(fixture.exists("project/.vscode"));
        drop(other);
        sweep(&fixture.records());
        assert!(!fixture.exists("project/.vscode"));
    }

    #[test]
    fn unreadable_record_is_removed_without_cleanup() {
        let fixture = RecordFixture::new();
        drop(fixture.write());
        fs::write(fixture.records().join("one"), "{\"items\": [").unwrap();
        sweep(&fixture.records());
        assert!(fixture.exists("project/.vscode"));
        assert_eq!(fixture.records().read_dir().unwrap().count(), 0);
    }
}
