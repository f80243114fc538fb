//! The tree that judges a change: its files, with the tests, runner configuration and scripts of the base.

use std::fmt::Write as _;

use super::files::ChangedFile;
use super::roles::FileRole;
use super::{inline, manifest};
use crate::error::{Error, Result};
use crate::git::{Git, PrivateGitDir};

/// Extensions of files that a test runner may execute.
const CODE: &[&str] = &[
    "py", "js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx", "rs", "go", "java", "kt", "rb",
    "php", "sh", "bash", "pl", "lua", "c", "cc", "cpp", "h", "hpp", "cs", "swift", "ex", "exs",
];

/// How the tree to test differs from the change.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    /// Paths with the content of the base, as lines for `update-index --index-info`.
    restored: Vec<String>,
    /// Paths with a merged content: mode, path, text.
    merged: Vec<(String, String, String)>,
    /// All of these paths.
    pub(super) paths: Vec<String>,
}

impl Overlay {
    /// Returns the overlay for the files of a change. It is empty if the change has no file that decides
    /// about tests.
    pub(super) fn new(files: &[ChangedFile]) -> Self {
        let mut overlay = Self::default();
        for file in files {
            overlay.add(file);
        }
        overlay
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    fn add(&mut self, file: &ChangedFile) {
        let diff = &file.diff;
        let texts = file.base.as_deref().zip(file.new.as_deref());
        let merged = match file.role {
            FileRole::Test if file.is_added() && !is_code(file.path()) => return,
            FileRole::Test | FileRole::Runner | FileRole::Targets => None,
            FileRole::Manifest if file.is_added() => return,
            FileRole::Manifest => match texts {
                Some((base, new)) => match manifest::with_base_settings(file.path(), base, new) {
                    Some(text) => Some(text),
                    None => return,
                },
                None => None,
            },
            FileRole::Other => {
                let with = |(base, new)| inline::with_base_tests(file.path(), base, new);
                match texts.and_then(with) {
                    Some(text) => Some(text),
                    None => return,
                }
            }
        };
        self.paths.push(diff.path.clone());
        match merged {
            Some(text) => {
                let (mode, path) = (diff.new_mode.clone(), diff.path.clone());
                self.merged.push((mode, path, text));
            }
            // A file that the base does not have has the mode zero there, which removes it.
            None => {
                let line = format!("{} {}\t{}\0", diff.old_mode, diff.old_blob, diff.path);
                self.restored.push(line);
            }
        }
    }

    /// Writes the tree to test for a change with this tree, and returns its hash.
    pub(super) async fn write(
        &self,
        git: &Git,
        private_git: &PrivateGitDir,
        tree: &str,
    ) -> Result<String> {
        let index = private_git.index().with_extension("judge");
        let command = || private_git.command(git).index(&index);
        let _ = std::fs::remove_file(&index);
        command().run(&["read-tree", tree]).await?;
        let mut lines: String = self.restored.concat();
        for (mode, path, text) in &self.merged {
            let hash = command().input(text.as_str());
            let blob = hash.run(&["hash-object", "-w", "--stdin"]).await?.text();
            let _ = write!(lines, "{mode} {blob}\t{path}\0");
        }
        let update = command().input(lines);
        update.run(&["update-index", "-z", "--index-info"]).await?;
        let tree = command().run(&["write-tree"]).await?.text();
        std::fs::remove_file(&index).map_err(|error| Error::io(&index, &error))?;
        Ok(tree)
    }
}

/// Returns `true` if the file may contain code.
pub(super) fn is_code(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    match file.rsplit_once('.') {
        Some((_, extension)) => CODE.contains(&extension),
        None => true,
    }
}
