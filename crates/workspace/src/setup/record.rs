//! The description of a stored result.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::git::write;

/// The file of the description. It is written last; a result without it is incomplete. It was
/// modified when the result was last used.
pub(super) const ENTRY_FILE: &str = "entry.json";

/// The description of a result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct EntryRecord {
    /// The checkout in which the set-up ran.
    pub(super) root: PathBuf,
    /// The paths in the checkout, relative to it.
    pub(super) artifacts: Vec<String>,
    /// The names of the caches.
    pub(super) caches: Vec<String>,
    /// The disk space.
    pub(super) bytes: u64,
    /// The state of the files; see [`tree_state`](super::digest::tree_state).
    pub(super) digest: String,
}

impl EntryRecord {
    /// Reads the description of the result in `dir`.
    pub(super) fn read(dir: &Path) -> Option<Self> {
        let text = fs::read(dir.join(ENTRY_FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes the description of the result in `dir`, completely or not at all.
    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        let path = dir.join(ENTRY_FILE);
        let text = serde_json::to_string(self).map_err(|error| Error::Path {
            path: path.clone(),
            problem: error.to_string(),
        })?;
        let new = dir.join("entry.new");
        write(&new, &text)?;
        fs::rename(new, &path).map_err(|error| Error::io(&path, &error))
    }
}
