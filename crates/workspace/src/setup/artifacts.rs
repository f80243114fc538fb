//! What a set-up created in a checkout.

use std::path::{Component, Path};

use crate::error::Result;
use crate::git::{Git, PrivateGitDir};

/// Directories for dependencies and build products: the tool that uses them compares them with the
/// sources.
const DEPENDENCY_DIRS: &[&str] = &[
    "node_modules",
    ".venv",
    "venv",
    "target",
    "vendor",
    ".bundle",
    ".yarn",
    ".pnpm-store",
    ".gradle",
    ".eggs",
    "__pycache__",
    ".tox",
    ".nox",
];

/// Files that only describe dependencies or the version.
const DEPENDENCY_FILES: &[&str] = &[
    "Cargo.lock",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    "uv.lock",
    "poetry.lock",
    "go.sum",
    "Gemfile.lock",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    "_version.py",
];

/// The paths that a set-up created, relative to the checkout. A new directory includes its
/// content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Artifacts {
    pub(super) paths: Vec<String>,
}

impl Artifacts {
    /// Finds what git does not track in a checkout that had no other files before.
    pub(super) async fn find(git: &Git, dir: &PrivateGitDir, checkout: &Path) -> Result<Self> {
        let args = [
            "ls-files",
            "-z",
            "--others",
            "--directory",
            "--no-empty-directory",
        ];
        let output = dir.command_in(git, checkout).run(&args).await?;
        let paths = output.nul_separated()?.into_iter();
        let paths = paths.map(|path| path.trim_end_matches('/').to_owned());
        Ok(Self {
            paths: paths.filter(|path| is_plain(path)).collect(),
        })
    }

    /// Returns `false` if something was built that may depend on any file of the checkout.
    pub(super) fn depend_on_inputs_only(&self) -> bool {
        self.paths.iter().all(|path| {
            let name = path.rsplit('/').next().unwrap_or(path);
            let mut dirs = path.split('/');
            dirs.any(|dir| DEPENDENCY_DIRS.contains(&dir))
                || DEPENDENCY_FILES.contains(&name)
                || name.ends_with(".egg-info")
        })
    }
}

/// Returns `true` for a relative path of names only.
fn is_plain(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}
