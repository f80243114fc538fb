//! The files of a user's checkout: what an update would lose, and how an unfinished one is undone.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::change::FileDiff;
use crate::error::Result;
use crate::git::GitCommand;

/// Maximum number of entries of a directory that are examined. More count as in the way.
const MAX_ENTRIES: usize = 10_000;

/// Returns `true` if a new file cannot be written without losing something that is not tracked. The files in `removed`
/// are tracked and go away with the same update.
pub(crate) fn is_in_the_way(root: &Path, path: &str, removed: &BTreeSet<&str>) -> bool {
    for ancestor in Path::new(path).ancestors().skip(1) {
        let is_file = |data: fs::Metadata| !data.is_dir();
        if root.join(ancestor).symlink_metadata().is_ok_and(is_file) {
            return ancestor.to_str().is_none_or(|name| !removed.contains(name));
        }
    }
    match root.join(path).symlink_metadata() {
        Ok(data) if data.is_dir() => {
            let mut left = MAX_ENTRIES;
            has_other_files(&root.join(path), path, removed, &mut left)
        }
        Ok(_) => true,
        Err(_) => false,
    }
}

fn has_other_files(dir: &Path, path: &str, removed: &BTreeSet<&str>, left: &mut usize) -> bool {
    let Ok(entries) = fs::read_dir(dir) else {
        return true;
    };
    for entry in entries {
        let (Ok(entry), Some(rest)) = (entry, left.checked_sub(1)) else {
            return true;
        };
        *left = rest;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return true;
        };
        let inner = format!("{path}/{name}");
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_other = if is_dir {
            has_other_files(&entry.path(), &inner, removed, left)
        } else {
            !removed.contains(inner.as_str())
        };
        if is_other {
            return true;
        }
    }
    false
}

/// Undoes an update that failed in the middle, for example because the disk is full: the files get the content
/// that they have in the index, and new ones go away. They had no edits before. `kept` are not changed.
pub(crate) async fn restore(
    command: GitCommand<'_>,
    root: &Path,
    diffs: &[FileDiff],
    kept: &BTreeSet<String>,
) -> Result<()> {
    let mut old = String::new();
    for diff in diffs.iter().filter(|diff| !kept.contains(&diff.path)) {
        if diff.kind == 'A' {
            // It may not have been written.
            let _ = fs::remove_file(root.join(&diff.path));
        } else {
            old.push_str(&diff.path);
            old.push('\0');
        }
    }
    let args = ["checkout-index", "-q", "-f", "-u", "-z", "--stdin"];
    command.input(old).run(&args).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_tracked_is_in_the_way() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        for name in ["file", "dir/a", "dir/deep/b"] {
            file(name);
        }
        fs::create_dir_all(root.path().join("empty/dir")).unwrap();
        std::os::unix::fs::symlink("dir", root.path().join("link")).unwrap();
        let check = |path: &str, removed: &[&str]| {
            is_in_the_way(root.path(), path, &removed.iter().copied().collect())
        };
        assert!(!check("new", &[]));
        assert!(!check("dir/new", &[]));
        assert!(!check("empty", &[]));
        assert!(check("file", &[]));
        assert!(check("file/new", &[]));
        assert!(!check("file/new", &["file"]));
        assert!(check("link/new", &[]));
        assert!(check("dir", &["dir/a"]));
        assert!(!check("dir", &["dir/a", "dir/deep/b"]));
    }
}
