//! Detects whether a file is on a local or on a network file system.
//!
//! SQLite's WAL needs memory shared by all readers. On a network file system it is not shared, and two
//! machines would overwrite each other's changes.
//!
//! The mount table is read because `statfs` reports one number for all FUSE file systems, remote (sshfs) or local.

use std::io::Read;
use std::path::{Path, PathBuf};

use windlass_tasks::{StoreError, StoreResult};

/// File systems with files that may be open on other machines.
const REMOTE: [&str; 16] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "davfs",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
];

/// Maximum number of bytes read from the mount table.
const MAX_MOUNTINFO_BYTES: u64 = 4 << 20;

/// Rejects a path on a network file system.
pub(super) fn check(path: &Path) -> StoreResult<()> {
    let mut table = String::new();
    let list = std::fs::File::open("/proc/self/mountinfo");
    let read = list.and_then(|list| list.take(MAX_MOUNTINFO_BYTES).read_to_string(&mut table));
    // Without a mount table the file system is unknown and accepted.
    if read.is_err() {
        return Ok(());
    }
    match file_system(&table, &resolved(path)) {
        Some(kind) if REMOTE.contains(&kind) => Err(StoreError::Unavailable(format!(
            "{} is on a network file system ({kind}), where SQLite can corrupt it: \
             put it on a local disk, or use PostgreSQL",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Resolves symbolic links in the existing part of the path.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = absolute.ancestors().find_map(|known| {
        let real = known.canonicalize().ok()?;
        let rest = absolute.strip_prefix(known).ok()?;
        Some(real.join(rest))
    });
    found.unwrap_or(absolute)
}

/// Returns the type of the file system that contains the path, from the kernel's mount table.
fn file_system<'t>(table: &'t str, path: &Path) -> Option<&'t str> {
    let mut best: Option<(usize, &str)> = None;
    for line in table.lines() {
        let Some((left, right)) = line.split_once(" - ") else {
            continue;
        };
        let (Some(point), Some(kind)) = (left.split(' ').nth(4), right.split(' ').next()) else {
            continue;
        };
        let point = unescape(point);
        // A later mount on the same mount point hides an earlier one.
        let deeper = best.is_none_or(|(length, _)| point.len() >= length);
        if deeper && path.starts_with(&point) {
            best = Some((point.len(), kind));
        }
    }
    best.map(|(_, kind)| kind)
}

/// Decodes a mount point. The kernel writes blanks and backslashes as three octal digits.
fn unescape(point: &str) -> String {
    point
        .replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{REMOTE, check, file_system};

    const TABLE: &str = "\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime shared:1 - nfs4 server:/home rw
31 30 0:41 / /home/me/my\\040disk rw - btrfs /dev/sdb rw
32 22 0:42 / /mnt rw - ext4 /dev/sdc rw
33 22 0:43 / /mnt rw - fuse.sshfs me@there: rw
";

    #[test]
    fn deepest_and_latest_mount_is_used() {
        let kind = |path: &str| file_system(TABLE, Path::new(path));
        assert_eq!(kind("/var/windlass.db"), Some("ext4"));
        assert_eq!(kind("/home/me/windlass.db"), Some("nfs4"));
        assert_eq!(kind("/home/me/my disk/windlass.db"), Some("btrfs"));
        assert_eq!(kind("/homes/windlass.db"), Some("ext4"));
        assert_eq!(kind("/mnt/windlass.db"), Some("fuse.sshfs"));
        assert_eq!(file_system("", Path::new("/")), None);
        assert_eq!(file_system("nonsense - \n - x", Path::new("/")), None);
    }

    #[test]
    fn remote_file_systems_are_sorted() {
        assert!(REMOTE.is_sorted());
    }

    #[test]
    fn local_dir_is_accepted() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(check(&dir.path().join("not/there/yet.db")), Ok(()));
    }
}
