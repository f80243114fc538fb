//! Symbolic links on a path that a process may have placed there.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The kernel follows at most this many links.
const MAX_LINKS: usize = 40;

/// Returns `true` if resolving the path follows a link in a directory for which `is_untrusted`
/// holds. A path with too many links is untrusted too.
pub(crate) fn follows_link_in(path: &Path, is_untrusted: impl Fn(&Path) -> bool) -> bool {
    let found = followed(path);
    let in_untrusted = |link: &PathBuf| link.parent().is_some_and(&is_untrusted);
    found.len() > MAX_LINKS || found.iter().any(in_untrusted)
}

/// Returns the canonical path, if there is something at the path.
///
/// Most paths on our lists do not exist. To ask for that first takes one system call, and not one for each
/// directory above, for every process that is started.
pub(crate) fn canonical(path: &Path) -> Option<PathBuf> {
    path.symlink_metadata().ok()?;
    path.canonicalize().ok()
}

/// Returns the links that resolving the path follows, each in its real directory, with their real
/// targets, and without links to nothing.
pub(crate) fn on_path(path: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    let found = followed(path).into_iter();
    found.filter_map(|link| Some((link.clone(), link.canonicalize().ok()?)))
}

/// Returns the links that resolving the path follows, at most one more than the kernel follows.
fn followed(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut real = PathBuf::from("/");
    let mut rest = reversed(path);
    while let Some(name) = rest.pop()
        && found.len() <= MAX_LINKS
    {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        let Ok(target) = next.read_link() else {
            real = next;
            continue;
        };
        found.push(next);
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        rest.extend(reversed(&target));
    }
    found
}

/// Returns the names of a path, the last one first.
fn reversed(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    let mut names: Vec<OsString> = names.collect();
    names.reverse();
    names
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn p16_links_are_found_anywhere_on_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let open = root.join("open");
        for name in ["open/sub", "other/bin"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        symlink("../../other", open.join("sub/link")).unwrap();
        symlink("open/sub/link/bin", root.join("chain")).unwrap();
        symlink("other", root.join("fine")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for (path, untrusted) in [
            ("open/sub", false),
            ("fine/bin", false),
            ("other/../fine/bin", false),
            ("open/sub/link/bin", true),
            ("open/sub/link", true),
            ("chain", true),
            ("loop", true),
        ] {
            let found = follows_link_in(&root.join(path), |dir| dir.starts_with(&open));
            assert_eq!(found, untrusted, "{path}");
        }
    }
}
