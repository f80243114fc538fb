//! Finds git repositories that were created inside a work tree.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_core::Timestamp;

/// Maximum number of directory entries that are examined.
const MAX_ENTRIES: usize = 500_000;

/// Returns the directories below `root` that became git repositories at or after `since`, as
/// relative paths. The repository of `root` itself does not count.
///
/// The settings of such a repository apply to git commands that are run in it. A very large tree is
/// examined in part.
pub fn new_repositories(root: &Path, since: Timestamp) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = dir.read_dir() else {
            continue;
        };
        if dir != root && is_repository(&dir) && changed_at(&git_mark(&dir)) >= since {
            found.extend(dir.strip_prefix(root).map(Path::to_owned));
        }
        for entry in entries.flatten() {
            let Some(rest) = left.checked_sub(1) else {
                return found;
            };
            left = rest;
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_dir && entry.file_name() != ".git" {
                dirs.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Returns `true` if git would use the directory as a repository: it has a `.git`, or is a bare one.
fn is_repository(dir: &Path) -> bool {
    let is_bare = || {
        ["HEAD", "objects", "refs"]
            .iter()
            .all(|name| dir.join(name).exists())
    };
    dir.join(".git").symlink_metadata().is_ok() || is_bare()
}

/// Returns the file that makes a directory a repository.
fn git_mark(dir: &Path) -> PathBuf {
    let git = dir.join(".git");
    if git.symlink_metadata().is_ok() {
        git
    } else {
        dir.join("HEAD")
    }
}

/// Returns when the file last changed, by the time that no program can set.
fn changed_at(path: &Path) -> Timestamp {
    let changed = path.symlink_metadata().map(|found| {
        let seconds = u64::try_from(found.ctime()).unwrap_or_default();
        let nanos = u64::try_from(found.ctime_nsec()).unwrap_or_default();
        seconds * 1000 + nanos / 1_000_000
    });
    Timestamp(changed.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use windlass_core::{Clock, SystemClock};

    use super::*;

    #[test]
    fn only_new_repositories_below_the_root_are_found() {
        let dir = tempfile::tempdir().unwrap();
        for name in [".git", "old/.git", "plain/src"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        assert_eq!(
            new_repositories(dir.path(), Timestamp(0)),
            [Path::new("old")]
        );
        let later = Timestamp(SystemClock::new().now().0 + 3_600_000);
        assert_eq!(new_repositories(dir.path(), later), [] as [PathBuf; 0]);
        for name in ["deep/er/.git", "bare/objects", "bare/refs"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("bare/HEAD"), "ref: x").unwrap();
        std::fs::write(dir.path().join("plain/.git"), "gitdir: ../evil").unwrap();
        assert_eq!(
            new_repositories(dir.path(), Timestamp(0)),
            ["bare", "deep/er", "old", "plain"].map(Path::new)
        );
    }
}
