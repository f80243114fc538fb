//! Empty directories that the sandbox creates in a working directory, to mount something over a
//! path that does not exist.
//!
//! They have a marker, so that a user's directory is never mistaken for a mount point, and the next
//! sandbox recognizes a mount point even if the first sandbox was killed.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// The mode of a mount point. The sticky bit is the marker: it has no effect on a directory that
/// only its owner can write to, so it is rarely set there, and `mkdir` sets it atomically.
const MARKED: u32 = 0o1755;

/// Creates a mount point, unless the path exists.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(MARKED).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

/// Returns `true` if the path is an empty directory that a sandbox created.
pub(crate) fn is_ours(path: &Path) -> bool {
    let is_marked = path
        .symlink_metadata()
        .is_ok_and(|found| found.is_dir() && is_marked(found.mode()));
    is_marked
        && path
            .read_dir()
            .is_ok_and(|mut entries| entries.next().is_none())
}

/// Removes a mount point. If it contains a file by now, only the marker is removed.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let found = path.symlink_metadata()?;
    if !found.is_dir() || !is_marked(found.mode()) {
        return Ok(());
    }
    match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            fs::set_permissions(path, Permissions::from_mode(found.mode() & 0o777))
        }
        removed => removed,
    }
}

/// A umask may have cleared permission bits, but not the sticky bit.
fn is_marked(mode: u32) -> bool {
    mode & 0o1000 != 0 && mode & 0o022 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_empty_dir_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let [ours, users, used] = ["ours", "users", "used"].map(|name| dir.path().join(name));
        create(&ours).unwrap();
        create(&ours).unwrap();
        create(&used).unwrap();
        fs::create_dir(&users).unwrap();
        fs::write(used.join("settings.json"), "{}").unwrap();

        assert!(is_ours(&ours) && !is_ours(&users) && !is_ours(&used));
        for path in [&ours, &users, &used] {
            remove(path).unwrap();
        }
        assert!(!ours.exists() && users.is_dir() && used.join("settings.json").exists());
        assert_eq!(used.metadata().unwrap().mode() & 0o7777, 0o755);
    }

    #[test]
    fn shared_dir_with_sticky_bit_is_not_a_mount_point() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
        assert!(!is_ours(dir.path()));
    }
}
