//! Paths in a working directory that no process may change or create, because programs outside the
//! sandbox would apply them later.

use std::path::{Path, PathBuf};

use crate::fs_policy::{Access, FsPolicy};
use crate::init_protocol::CleanupItem;
use crate::mount_point;
use crate::path_lists;

/// One path to protect.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProtectedPath {
    /// A directory that contains protected paths: mount it over itself, or it could be moved away
    /// and replaced as a whole.
    Pinned(PathBuf),
    /// An existing path: make it read-only.
    Existing(PathBuf),
    /// A missing path: mount a read-only empty directory there, even where a file would be. Git
    /// ignores an empty directory, but `git add -A` fails completely if there is a device file.
    Missing(PathBuf),
    /// A link, over which nothing can be mounted: restore it afterwards.
    Link { path: PathBuf, target: PathBuf },
}

/// Returns the paths to protect in the writable working directory, in mount order.
pub(crate) fn protected_paths(policy: &FsPolicy) -> Vec<ProtectedPath> {
    let Some(working_dir) = &policy.protected_dir else {
        return Vec::new();
    };
    let mut protected = Vec::new();
    let git = working_dir.join(".git");
    if git.is_dir() && !git.is_symlink() && !mount_point::is_ours(&git) && !is_empty(&git) {
        // The rest of it stays writable; otherwise commits would fail.
        protected.extend([ProtectedPath::Pinned(git.clone())]);
        protected.extend(protect(git.join("config"), working_dir));
        protected.extend(protect(git.join("hooks"), working_dir));
    } else {
        // A worktree's file, or nothing: a repository created here would bring its own hooks.
        protected.extend(protect(git, working_dir));
    }
    for name in path_lists::PROTECTED_NAMES {
        let path = working_dir.join(name);
        // The caller made this path writable on purpose.
        if policy.rules.get(&path) != Some(&Access::Write) {
            protected.extend(protect(path, working_dir));
        }
    }
    protected
}

/// Returns what to clean up or restore in the working directory after the command.
pub(crate) fn cleanup_items(protected: &[ProtectedPath]) -> Vec<CleanupItem> {
    let items = protected.iter().filter_map(|path| match path {
        ProtectedPath::Existing(_) => None,
        // Git reads its settings from the directory that this file names. It cannot be covered: an
        // empty one breaks git.
        ProtectedPath::Pinned(git) => Some(git.join("commondir"))
            .filter(|file| file.symlink_metadata().is_err())
            .map(|file| CleanupItem::MustNotExist(file.into())),
        ProtectedPath::Missing(path) => Some(CleanupItem::MountPoint(path.into())),
        ProtectedPath::Link { path, target } => {
            Some(CleanupItem::RestoreLink(path.into(), target.into()))
        }
    });
    items.collect()
}

fn protect(path: PathBuf, working_dir: &Path) -> Vec<ProtectedPath> {
    // The mount point of another sandbox will be removed, so it counts as missing.
    if path.symlink_metadata().is_err() || mount_point::is_ours(&path) {
        return vec![ProtectedPath::Missing(path)];
    }
    let Ok(target) = path.read_link() else {
        return vec![ProtectedPath::Existing(path)];
    };
    // If the target is outside the working directory, or is that directory itself, the link gives
    // no additional write access.
    let inside = path
        .canonicalize()
        .ok()
        .filter(|real| real.starts_with(working_dir) && real != working_dir);
    let link = ProtectedPath::Link { path, target };
    inside
        .map(ProtectedPath::Existing)
        .into_iter()
        .chain([link])
        .collect()
}

fn is_empty(dir: &Path) -> bool {
    dir.read_dir()
        .is_ok_and(|mut entries| entries.next().is_none())
}
