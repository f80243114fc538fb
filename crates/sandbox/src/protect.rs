//! What in a working directory nobody may change, there or not: it would be obeyed later, outside
//! of any sandbox.

use std::path::{Path, PathBuf};

use crate::fs_policy::{Access, FsPolicy};
use crate::init_protocol::CleanupItem;
use crate::mount_point;
use crate::path_lists;

/// One thing to cover.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ProtectedPath {
    /// It holds something to cover: keep it where it is, or it could be moved away and replaced as
    /// a whole.
    Pinned(PathBuf),
    /// It exists: show it, read-only.
    Existing(PathBuf),
    /// It does not exist: put an unwritable empty folder there, even where a file is meant. Git
    /// takes no notice of an empty folder, while it stumbles over a device on a file (`git add -A`
    /// then fails as a whole).
    Missing(PathBuf),
    /// It is a link, over which nothing can be mounted: put it back afterwards.
    Link { path: PathBuf, target: PathBuf },
}

/// Everything to cover in the workplace of this view, in the order in which to do it.
pub(crate) fn protected_paths(view: &FsPolicy) -> Vec<ProtectedPath> {
    let Some(workplace) = &view.workplace else {
        return Vec::new();
    };
    let mut covers = Vec::new();
    let git = workplace.join(".git");
    if git.is_dir() && !git.is_symlink() && !mount_point::is_ours(&git) && !is_empty(&git) {
        // The rest of it stays writable, or nobody could commit.
        covers.extend([ProtectedPath::Pinned(git.clone())]);
        covers.extend(protect(git.join("config"), workplace));
        covers.extend(protect(git.join("hooks"), workplace));
    } else {
        // A worktree's file, or nothing: an own repository made here would bring its own hooks.
        covers.extend(protect(git, workplace));
    }
    for name in path_lists::PROTECTED_NAMES {
        let path = workplace.join(name);
        // A caller that opens one of these by name knows why.
        if view.rules.get(&path) != Some(&Access::Write) {
            covers.extend(protect(path, workplace));
        }
    }
    covers
}

/// What the sandbox leaves in the workplace by covering, and what it has to put right, afterwards.
pub(crate) fn cleanup_items(covers: &[ProtectedPath]) -> Vec<CleanupItem> {
    let left = covers.iter().filter_map(|cover| match cover {
        ProtectedPath::Existing(_) => None,
        // A file with which git takes its settings from elsewhere. It cannot be covered: empty, it
        // breaks git.
        ProtectedPath::Pinned(git) => Some(git.join("commondir"))
            .filter(|file| file.symlink_metadata().is_err())
            .map(|file| CleanupItem::MustNotExist(file.into())),
        ProtectedPath::Missing(path) => Some(CleanupItem::MountPoint(path.into())),
        ProtectedPath::Link { path, target } => {
            Some(CleanupItem::RestoreLink(path.into(), target.into()))
        }
    });
    left.collect()
}

fn protect(path: PathBuf, workplace: &Path) -> Vec<ProtectedPath> {
    // The mount point of another sandbox will be removed: it counts as missing.
    if path.symlink_metadata().is_err() || mount_point::is_ours(&path) {
        return vec![ProtectedPath::Missing(path)];
    }
    let Ok(target) = path.read_link() else {
        return vec![ProtectedPath::Existing(path)];
    };
    // Where it leads out of the workplace, or around to it, nothing more can be written than
    // elsewhere.
    let inside = path
        .canonicalize()
        .ok()
        .filter(|real| real.starts_with(workplace) && real != workplace);
    let link = ProtectedPath::Link { path, target };
    inside
        .map(ProtectedPath::Existing)
        .into_iter()
        .chain([link])
        .collect()
}

fn is_empty(folder: &Path) -> bool {
    folder
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_none())
}
