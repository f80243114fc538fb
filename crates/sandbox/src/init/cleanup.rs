//! Restores the working directory: removes what the sandbox added and undoes forbidden changes.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use crate::init_protocol::{CleanupItem, CleanupPlan};
use crate::mount_point;

/// How often to try to lock a directory that another sandbox is cleaning up.
const LOCK_ATTEMPTS: u32 = 100;
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(5);

/// A lock on the working directory, which several sandboxes may share. The last sandbox to exit
/// removes the mount points.
///
/// Removing a directory also removes what other sandboxes have mounted over it, and with that their
/// protection.
pub(crate) struct SharedWorkingDir(Option<File>);

impl SharedWorkingDir {
    /// Takes a shared lock: the mount points in this directory are in use.
    pub(crate) fn lock(path: Option<&OsStr>) -> Self {
        let dir = path.and_then(|path| File::open(path).ok());
        if let Some(dir) = &dir {
            // A lock that is never released must not prevent the start.
            let waits = (0..LOCK_ATTEMPTS).take_while(|_| dir.try_lock_shared().is_err());
            waits.for_each(|_| std::thread::sleep(LOCK_RETRY_DELAY));
        }
        Self(dir)
    }

    /// Returns `true` if no other sandbox uses the directory. No other sandbox can then start there
    /// until this lock is dropped.
    pub(crate) fn is_last(&self) -> bool {
        self.0.as_ref().is_none_or(|dir| dir.try_lock().is_ok())
    }

    /// Lets another sandbox use the directory, or clean it up.
    pub(crate) fn unlock(&self) {
        if let Some(dir) = &self.0 {
            let _ = dir.unlock();
        }
    }

    /// Creates the mount points. If one cannot be created, mounting over it fails with the reason.
    pub(crate) fn prepare(&self, cleanup: &CleanupPlan) {
        for item in &cleanup.items {
            if let CleanupItem::MountPoint(path) = item {
                let _ = mount_point::create(Path::new(path));
            }
        }
    }

    /// Cleans up and returns `true` if this sandbox was the last user of the directory, so that
    /// nothing is left to clean up. Errors are ignored: there is no caller left to report to.
    pub(crate) fn clean_up(&self, cleanup: &CleanupPlan) -> bool {
        let is_last = self.is_last();
        for item in &cleanup.items {
            let _ = match item {
                CleanupItem::MountPoint(path) if is_last => mount_point::remove(Path::new(path)),
                CleanupItem::MountPoint(_) => Ok(()),
                CleanupItem::MustNotExist(path) => remove(Path::new(path)),
                CleanupItem::RestoreLink(path, target) => {
                    restore(Path::new(path), Path::new(target))
                }
                CleanupItem::PrivateDir(path) => fs::remove_dir_all(path),
            };
        }
        is_last
    }
}

fn restore(path: &Path, target: &Path) -> io::Result<()> {
    if path.read_link().is_ok_and(|found| found == target) {
        return Ok(());
    }
    // The link may also have been removed.
    let _ = remove(path);
    symlink(target, path)
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p16_replaced_link_gets_its_target_back() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        let cleanup = CleanupPlan {
            working_dir: None,
            items: vec![CleanupItem::RestoreLink(
                link.clone().into(),
                "target".into(),
            )],
        };
        for replace in [
            |path: &Path| fs::create_dir(path),
            |path: &Path| fs::write(path, "evil"),
            |_: &Path| Ok(()),
        ] {
            let _ = fs::remove_file(&link);
            replace(&link).unwrap();
            SharedWorkingDir::lock(None).clean_up(&cleanup);
            assert_eq!(link.read_link().unwrap(), Path::new("target"));
        }
    }
}
