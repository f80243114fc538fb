//! One module per property, and the test project they share.

mod cache;
mod context;
mod hostile;
mod incremental;
mod ranking;
mod signals;

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use windlass_index::{CodebaseIndex, PastCommit};

/// A project, with a cache directory next to it.
pub(crate) struct Harness {
    root: TempDir,
}

impl Harness {
    pub(crate) fn new() -> Self {
        let root = TempDir::new().unwrap();
        std::fs::create_dir_all(root.path().join("project/.git")).unwrap();
        Self { root }
    }

    /// Creates a small project with three related files.
    pub(crate) fn small() -> Self {
        let harness = Self::new();
        harness
            .file("src/lease.rs", "/// A lease on a task, renewed by heartbeats.\npub fn renew_lease() -> bool { read_clock() > 0 }\n")
            .file("src/clock.rs", "/// Time.\npub fn read_clock() -> u64 { 0 }\n")
            .file("src/paint.rs", "/// Colours of the terminal.\npub fn paint_line(text: &str) {}\n");
        harness
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    pub(crate) fn cache_dir(&self) -> PathBuf {
        self.root.path().join("caches")
    }

    /// Returns the only cache file.
    pub(crate) fn cache(&self) -> PathBuf {
        let files: Vec<PathBuf> = std::fs::read_dir(self.cache_dir())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    pub(crate) fn file(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) -> &Self {
        let path = self.project().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn open(&self) -> CodebaseIndex {
        CodebaseIndex::open(&self.project(), &self.cache_dir()).unwrap()
    }

    /// Returns the paths for a task, best first.
    pub(crate) fn paths(&self, task: &str) -> Vec<String> {
        let related = self.open().related(task);
        related.files.into_iter().map(|file| file.path).collect()
    }
}

/// Returns a commit that changed these files.
pub(crate) fn commit(message: &str, files: &[&str]) -> PastCommit {
    PastCommit {
        message: message.to_owned(),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        renames: Vec::new(),
    }
}
