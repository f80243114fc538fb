//! What in a working directory nobody may change, there or not: it would be obeyed later, outside of any sandbox.

use std::path::{Path, PathBuf};

use crate::orders::Leftover;
use crate::places;
use crate::view::{Access, View};

/// One thing to cover.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// It exists: show it, read-only.
    Existing(PathBuf),
    /// It does not exist: put an unwritable empty folder there, even where a file is meant. Git takes no notice of an
    /// empty folder, while it stumbles over a device on a file (`git add -A` then fails as a whole).
    Missing(PathBuf),
}

/// Everything to cover in the workplace of this view.
pub(crate) fn covers(view: &View) -> Vec<Cover> {
    let Some(workplace) = &view.workplace else {
        return Vec::new();
    };
    let named = places::PROTECTED.iter().map(|name| workplace.join(name));
    named
        .chain(git(workplace))
        // A caller that opens one of these by name knows why.
        .filter(|path| view.rules.get(path) != Some(&Access::Write))
        .map(|path| match path.symlink_metadata() {
            Ok(_) => Cover::Existing(path),
            Err(_) => Cover::Missing(path),
        })
        .collect()
}

/// What the sandbox leaves in the workplace by covering, to be removed afterwards.
pub(crate) fn leftovers(covers: &[Cover]) -> Vec<Leftover> {
    let ghosts = covers.iter().filter_map(|cover| match cover {
        Cover::Existing(_) => None,
        Cover::Missing(path) => Some(Leftover::Ghost(path.into())),
    });
    ghosts.collect()
}

/// Git's own settings and hooks; the rest of `.git` stays writable, or nobody could commit.
fn git(workplace: &Path) -> Vec<PathBuf> {
    let git = workplace.join(".git");
    if git.is_dir() {
        vec![git.join("config"), git.join("hooks")]
    } else {
        // A worktree's link, or nothing: an own repository made here would bring its own hooks.
        vec![git]
    }
}

/// A file with which git would take settings and hooks from elsewhere. It cannot be covered: empty, it breaks git.
pub(crate) fn redirect(view: &View) -> Option<Leftover> {
    let file = view.workplace.as_ref()?.join(".git/commondir");
    (file.parent()?.is_dir() && !file.exists()).then(|| Leftover::Forbidden(file.into()))
}
