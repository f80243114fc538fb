//! Paths in a working directory that no process may change or create, because programs outside the
//! sandbox would apply them later.

use std::path::{Path, PathBuf};

use windlass_core::DirAccess;

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
    /// A missing path over which nothing can be mounted: remove it afterwards.
    Absent(PathBuf),
    /// An existing directory with content that must not be seen.
    Hidden(PathBuf),
    /// A link, over which nothing can be mounted: restore it afterwards.
    Link { path: PathBuf, target: PathBuf },
}

/// Returns the paths to protect in the writable working directory, in mount order.
pub(crate) fn protected_paths(policy: &FsPolicy) -> Vec<ProtectedPath> {
    let Some(working_dir) = &policy.protected_dir else {
        return Vec::new();
    };
    let mut list = ProtectionList {
        policy,
        working_dir,
        pinned: Vec::new(),
        paths: Vec::new(),
    };
    let git = working_dir.join(".git");
    let is_repository =
        git.is_dir() && !git.is_symlink() && !mount_point::is_ours(&git) && !is_empty(&git);
    if policy.access == DirAccess::Repository && is_repository {
        // The rest of it stays writable; otherwise commits would fail.
        list.add(&git.join("config"));
        list.add(&git.join("hooks"));
        // Git reads its settings from the directory that this file names. It cannot be covered: an
        // empty one breaks git.
        let commondir = git.join("commondir");
        if commondir.symlink_metadata().is_err() {
            list.paths.push(ProtectedPath::Absent(commondir));
        }
    } else {
        // What an agent writes there could make the user's next git command run a program. A
        // repository that is created here would bring its own hooks.
        list.add(&git);
    }
    if policy.access != DirAccess::Repository {
        for path in &policy.repository.protected {
            list.add(path);
        }
        let absent = policy.repository.absent.iter().cloned();
        list.paths.extend(absent.map(ProtectedPath::Absent));
        for name in path_lists::HOOK_DIRS {
            list.add(&working_dir.join(name));
        }
        let store = working_dir.join(path_lists::STORE_DIR);
        if store.is_dir() && !store.is_symlink() && !mount_point::is_ours(&store) {
            list.paths.push(ProtectedPath::Hidden(store));
        } else {
            list.add(&store);
        }
    }
    for name in path_lists::PROTECTED_NAMES {
        list.add(&working_dir.join(name));
    }
    for own in &policy.own_paths {
        if own.symlink_metadata().is_err() && own.starts_with(working_dir) {
            list.add(own);
        }
    }
    list.paths
}

/// Collects the paths to protect.
struct ProtectionList<'a> {
    policy: &'a FsPolicy,
    working_dir: &'a Path,
    pinned: Vec<PathBuf>,
    paths: Vec<ProtectedPath>,
}

impl ProtectionList<'_> {
    /// Protects a path below the working directory, and pins the directories above it.
    fn add(&mut self, path: &Path) {
        let Ok(below) = path.strip_prefix(self.working_dir) else {
            return;
        };
        let mut above = self.working_dir.to_owned();
        let names: Vec<_> = below.components().collect();
        for (at, name) in names.iter().enumerate() {
            above.push(name);
            let is_last = at + 1 == names.len();
            if self.is_covered(&above) {
                return;
            }
            if above.is_symlink() && !is_last {
                let rest: PathBuf = names[at + 1..].iter().collect();
                return self.add_through_link(above, &rest);
            }
            // A missing directory is protected as a whole.
            if is_last || !above.is_dir() || mount_point::is_ours(&above) {
                return self.add_entry(above, is_last);
            }
            if !self.pinned.contains(&above) {
                self.pinned.push(above.clone());
                self.paths.push(ProtectedPath::Pinned(above.clone()));
            }
        }
    }

    /// Protects a link, and the path `rest` in the directory that it leads to.
    fn add_through_link(&mut self, link: PathBuf, rest: &Path) {
        let Ok(target) = link.read_link() else {
            return;
        };
        let real = link.canonicalize();
        self.paths.push(ProtectedPath::Link { path: link, target });
        if let Ok(real) = real {
            self.add(&real.join(rest));
        }
    }

    fn add_entry(&mut self, path: PathBuf, is_last: bool) {
        // The caller made this path writable on purpose.
        if self.policy.rules.get(&path) == Some(&Access::Write) {
            return;
        }
        // The mount point of another sandbox will be removed, so it counts as missing.
        if path.symlink_metadata().is_err() || mount_point::is_ours(&path) {
            self.paths.push(ProtectedPath::Missing(path));
            return;
        }
        let Ok(target) = path.read_link() else {
            // A file where the protected path has a directory: the path cannot come to exist.
            if is_last {
                self.paths.push(ProtectedPath::Existing(path));
            }
            return;
        };
        // If the target is outside the working directory, or is that directory itself, the link
        // gives no additional write access.
        let inside = path
            .canonicalize()
            .ok()
            .filter(|real| real.starts_with(self.working_dir) && *real != self.working_dir);
        self.paths
            .extend(inside.into_iter().map(ProtectedPath::Existing));
        self.paths.push(ProtectedPath::Link { path, target });
    }

    /// Returns `true` if a path is already protected together with everything in it.
    fn is_covered(&self, path: &Path) -> bool {
        self.paths.iter().any(|entry| match entry {
            ProtectedPath::Existing(known)
            | ProtectedPath::Missing(known)
            | ProtectedPath::Absent(known)
            | ProtectedPath::Hidden(known)
            | ProtectedPath::Link { path: known, .. } => known == path,
            ProtectedPath::Pinned(_) => false,
        })
    }
}

/// Returns what to clean up or restore in the working directory after the command.
pub(crate) fn cleanup_items(protected: &[ProtectedPath]) -> Vec<CleanupItem> {
    let items = protected.iter().filter_map(|path| match path {
        ProtectedPath::Existing(_) | ProtectedPath::Pinned(_) | ProtectedPath::Hidden(_) => None,
        ProtectedPath::Absent(path) => Some(CleanupItem::MustNotExist(path.into())),
        ProtectedPath::Missing(path) => Some(CleanupItem::MountPoint(path.into())),
        ProtectedPath::Link { path, target } => {
            Some(CleanupItem::RestoreLink(path.into(), target.into()))
        }
    });
    items.collect()
}

fn is_empty(dir: &Path) -> bool {
    dir.read_dir()
        .is_ok_and(|mut entries| entries.next().is_none())
}
