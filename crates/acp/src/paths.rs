//! Paths as a client knows them. Pure.

use std::path::{Component, Path, PathBuf};

/// The directory of a session, and the clones of tasks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paths {
    /// The directory that relative paths start from.
    pub(crate) cwd: PathBuf,
    /// The root of the repository, which a clone of a task corresponds to.
    pub(crate) root: PathBuf,
    /// The directory with the clones. The files of a clone are at `ATTEMPT/NAME/…` in it.
    pub(crate) clones: Option<PathBuf>,
}

impl Paths {
    /// Creates the paths of a session in this directory.
    pub(crate) fn in_dir(cwd: &Path) -> Self {
        Self {
            cwd: cwd.to_owned(),
            root: cwd.to_owned(),
            clones: None,
        }
    }

    /// Returns the absolute path for a client. A file of a clone is shown as the file of the repository.
    pub(crate) fn resolve(&self, path: &str) -> PathBuf {
        let path = self.cwd.join(path);
        let in_clone = self.clones.as_ref().and_then(|clones| {
            let mut inside = path.strip_prefix(clones).ok()?.components();
            let is_dir = |part: Option<Component<'_>>| matches!(part, Some(Component::Normal(_)));
            (is_dir(inside.next()) && is_dir(inside.next())).then(|| inside.as_path().to_owned())
        });
        match in_clone {
            Some(inside) => self.root.join(inside),
            None => path,
        }
    }

    /// Returns a path as text: relative if it is in the session's directory.
    pub(crate) fn brief(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root);
        inside.unwrap_or(path).display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_clones_are_those_of_the_repository() {
        let paths = Paths {
            cwd: "/home/me/app".into(),
            root: "/home/me/app".into(),
            clones: Some("/state/places/1f".into()),
        };
        let check = |path: &str, expected: &str| {
            assert_eq!(paths.resolve(path), Path::new(expected), "{path}")
        };
        check("src/lib.rs", "/home/me/app/src/lib.rs");
        check(
            "/state/places/1f/task-1-attempt-1/app/src/lib.rs",
            "/home/me/app/src/lib.rs",
        );
        check(
            "/state/places/1f/task-1-attempt-1",
            "/state/places/1f/task-1-attempt-1",
        );
        check("/etc/hosts", "/etc/hosts");
        assert_eq!(
            paths.brief(Path::new("/home/me/app/src/lib.rs")),
            "src/lib.rs"
        );
        assert_eq!(paths.brief(Path::new("/etc/hosts")), "/etc/hosts");
    }
}
