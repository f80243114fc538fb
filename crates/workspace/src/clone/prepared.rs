//! What the set-up made for a clone, as recorded next to it, where no agent can write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::meta::meta_path;
use super::open::shared_object_dirs;
use crate::error::{Error, Result};
use crate::git::{PrivateGitDir, small_file, write};

/// The name of the record.
const FILE: &str = "setup.json";

/// What a process in a prepared checkout needs in addition to the checkout.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// Identifies the set-up command and everything it depends on. Empty if there is no set-up.
    pub key: String,
    /// The directories that processes in the checkout must be able to read.
    pub readable: Vec<PathBuf>,
    /// The variables of the tests: they name what the set-up downloaded.
    pub variables: BTreeMap<String, String>,
}

/// Returns what was prepared for the clone at `root`. `None` if it is not prepared, or not a clone.
pub(crate) fn prepared(root: &Path) -> Option<Prepared> {
    let text = small_file(&meta_path(root, FILE)?)?;
    serde_json::from_str(&text).ok()
}

/// Records what was prepared for the clone at `root`.
pub(crate) fn record(root: &Path, prepared: &Prepared) -> Result<()> {
    let Some(path) = meta_path(root, FILE) else {
        return Ok(());
    };
    let text = serde_json::to_string(prepared).map_err(|error| Error::Path {
        path: path.clone(),
        problem: error.to_string(),
    })?;
    write(&path, &text)
}

/// Returns the private git directory of the clone at `root`; `None` if `root` is not a clone.
pub(crate) fn private_git(root: &Path) -> Option<PrivateGitDir> {
    let dir = meta_path(root, "git")?;
    let cwd = root.parent()?;
    Some(PrivateGitDir::at(&dir, cwd, shared_object_dirs(root)))
}

/// Returns both git directories of the clone at `root`: Windlass's own, and the agent's.
pub(crate) fn git_dirs(root: &Path) -> Vec<PrivateGitDir> {
    let own = private_git(root);
    let agent = own.is_some().then(|| {
        let dirs = shared_object_dirs(root);
        PrivateGitDir::at(&root.join(".git"), root, dirs)
    });
    own.into_iter().chain(agent).collect()
}

/// Returns the directories outside a clone that a process in it must be able to read: the objects
/// that the clone borrows, and what its set-up shares. Pass them to `Profile::read` to start a
/// process in `root`. Empty if `root` is not a clone.
pub fn readable_dirs(root: &Path) -> Vec<PathBuf> {
    let mut dirs = shared_object_dirs(root);
    dirs.extend(prepared(root).unwrap_or_default().readable);
    dirs
}
