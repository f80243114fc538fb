//! Where a file lies: on this machine, or on another one.
//!
//! SQLite's log needs memory that all its readers share. On a network file system it is not shared, and two machines
//! would write over each other.

use std::io::Read;
use std::path::{Path, PathBuf};

use windlass_core::task::{StoreError, StoreResult};

/// File systems whose files may be open on another machine.
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

/// The longest list of mounts that is read.
const MOST: u64 = 4 << 20;

/// Refuses a path on a file system that does not suit SQLite.
pub(super) fn check(path: &Path) -> StoreResult<()> {
    let mut table = String::new();
    let list = std::fs::File::open("/proc/self/mountinfo");
    let read = list.and_then(|list| list.take(MOST).read_to_string(&mut table));
    // Where the kernel does not say, nothing is known against it.
    if read.is_err() {
        return Ok(());
    }
    match file_system(&table, &resolved(path)) {
        Some(kind) if REMOTE.contains(&kind) => Err(StoreError::Unavailable(format!(
            "{} lies on a network file system ({kind}), where SQLite can damage it: \
             put it on a local disk, or use PostgreSQL",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// The path without links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = absolute.ancestors().find_map(|known| {
        let real = known.canonicalize().ok()?;
        let rest = absolute.strip_prefix(known).ok()?;
        Some(real.join(rest))
    });
    found.unwrap_or(absolute)
}

/// The kind of file system that a path is on, from the kernel's table.
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
        // Of two on the same point the later one hides the earlier.
        let deeper = best.is_none_or(|(length, _)| point.len() >= length);
        if deeper && path.starts_with(&point) {
            best = Some((point.len(), kind));
        }
    }
    best.map(|(_, kind)| kind)
}

/// The kernel writes blanks and backslashes as three octal digits.
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
    fn the_deepest_and_latest_mount_counts() {
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
    fn the_remote_ones_are_in_order() {
        assert!(REMOTE.is_sorted());
    }

    #[test]
    fn a_local_folder_will_do() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(check(&folder.path().join("not/there/yet.db")), Ok(()));
    }
}
