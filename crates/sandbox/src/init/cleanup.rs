//! Leaves the working directory as it should be: without what the sandbox put there, with what must
//! not have changed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use crate::init_protocol::{Cleanup, CleanupItem};
use crate::mount_point;

/// How long to wait for another sandbox that is cleaning up the same folder.
const LOCK_ATTEMPTS: u32 = 100;
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(5);

/// A lock on the working directory, which several sandboxes may share. The last one to leave
/// removes the mount points.
///
/// Removing a folder also removes what other sandboxes have mounted over it, and with that their
/// protection.
pub(crate) struct SharedWorkingDir(Option<File>);

impl SharedWorkingDir {
    /// Announces that the mount points in this folder are in use.
    pub(crate) fn lock(path: Option<&OsStr>) -> Self {
        let folder = path.and_then(|path| File::open(path).ok());
        if let Some(folder) = &folder {
            // A lock that is never released must not keep us from starting.
            let waits = (0..LOCK_ATTEMPTS).take_while(|_| folder.try_lock_shared().is_err());
            waits.for_each(|_| std::thread::sleep(LOCK_RETRY_DELAY));
        }
        Self(folder)
    }

    /// Returns whether no other sandbox uses the folder; then none starts there before we are done.
    pub(crate) fn is_last(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(|folder| folder.try_lock().is_ok())
    }

    /// Creates the mount points. If one cannot be made, mounting over it fails with the reason.
    pub(crate) fn prepare(&self, cleanup: &Cleanup) {
        for item in &cleanup.items {
            if let CleanupItem::MountPoint(path) = item {
                let _ = mount_point::create(Path::new(path));
            }
        }
    }

    /// Cleans up, and returns whether all of it was this sandbox's to clean up. What fails is left:
    /// there is no caller any more to report it to.
    pub(crate) fn clean_up(&self, cleanup: &Cleanup) -> bool {
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
    // It may also have been removed.
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
    fn p16_a_replaced_link_leads_where_it_led_before() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        let cleanup = Cleanup {
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
