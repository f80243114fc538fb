//! P17: paths cannot leave the workspace.

mod attacks;
mod kernel;
mod ordinary;
mod swap;

use std::path::PathBuf;

use tempfile::TempDir;
use windlass_workspace::paths::Root;

/// A directory to work in, and next to it one that must not be reached.
pub(super) struct TestDirs {
    parent: TempDir,
    pub(super) root: Root,
}

impl TestDirs {
    pub(super) fn new() -> Self {
        let parent = TempDir::new().unwrap();
        let real = parent.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("inside")).unwrap();
        std::fs::create_dir(real.join("outside")).unwrap();
        std::fs::write(real.join("outside/secret"), "canary").unwrap();
        let root = Root::open(&real.join("inside")).unwrap();
        Self { parent, root }
    }

    pub(super) fn inside(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(super) fn outside(&self, path: &str) -> PathBuf {
        self.parent.path().join("outside").join(path)
    }

    pub(super) fn put(&self, path: &str, content: &str) {
        let path = self.inside(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(super) fn link(&self, target: &str, path: &str) {
        let path = self.inside(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    pub(super) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.inside(path)).unwrap()
    }

    /// Panics unless the outside directory has only its original content.
    #[track_caller]
    pub(super) fn assert_untouched(&self) {
        let names: Vec<_> = std::fs::read_dir(self.outside("")).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        assert_eq!(
            std::fs::read_to_string(self.outside("secret")).unwrap(),
            "canary"
        );
    }

    /// Panics if a temporary file was left in the directory.
    #[track_caller]
    pub(super) fn assert_no_temp_files(&self, dir: &str) {
        for entry in std::fs::read_dir(self.inside(dir)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(
                !name.starts_with(windlass_workspace::paths::TEMP_PREFIX),
                "{name}"
            );
        }
    }
}
