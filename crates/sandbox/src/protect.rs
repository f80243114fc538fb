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
    /// It does not exist: put an unwritable empty file there.
    NoFile(PathBuf),
    /// It does not exist: put an unwritable empty folder there.
    NoFolder(PathBuf),
}

/// Everything to cover in the workplace of this view.
pub(crate) fn covers(view: &View) -> Vec<Cover> {
    let Some(workplace) = &view.workplace else {
        return Vec::new();
    };
    let files = places::PROTECTED_FILES
        .iter()
        .map(|name| (workplace.join(name), false));
    let folders = places::PROTECTED_FOLDERS
        .iter()
        .map(|name| (workplace.join(name), true));
    files
        .chain(folders)
        .chain(git(workplace))
        // A caller that opens one of these by name knows why.
        .filter(|(path, _)| view.rules.get(path) != Some(&Access::Write))
        .map(
            |(path, is_folder)| match (path.symlink_metadata().is_ok(), is_folder) {
                (true, _) => Cover::Existing(path),
                (false, false) => Cover::NoFile(path),
                (false, true) => Cover::NoFolder(path),
            },
        )
        .collect()
}

/// What the sandbox leaves in the workplace by covering, to be removed afterwards.
pub(crate) fn leftovers(covers: &[Cover]) -> Vec<Leftover> {
    let ghosts = covers.iter().filter_map(|cover| match cover {
        Cover::Existing(_) => None,
        Cover::NoFile(path) | Cover::NoFolder(path) => Some(Leftover::Ghost(path.into())),
    });
    ghosts.collect()
}

/// Git's own settings and hooks; the rest of `.git` stays writable, or nobody could commit.
fn git(workplace: &Path) -> Vec<(PathBuf, bool)> {
    let git = workplace.join(".git");
    if git.is_dir() {
        vec![(git.join("config"), false), (git.join("hooks"), true)]
    } else {
        // A worktree's link, or nothing: an own repository made here would bring its own hooks.
        vec![(git, true)]
    }
}

/// A file with which git would take settings and hooks from elsewhere. It cannot be covered: empty, it breaks git.
pub(crate) fn redirect(view: &View) -> Option<Leftover> {
    let file = view.workplace.as_ref()?.join(".git/commondir");
    (file.parent()?.is_dir() && !file.exists()).then(|| Leftover::Forbidden(file.into()))
}
