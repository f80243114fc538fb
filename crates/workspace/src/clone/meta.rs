//! Windlass's own files of a clone: next to it, where no agent can write.

use std::path::{Path, PathBuf};

/// The directory of these files.
pub(super) const META_DIR: &str = ".meta";

/// Returns the path of one of these files of the clone at `root`; `None` if `root` is not a clone.
pub(super) fn meta_path(root: &Path, name: &str) -> Option<PathBuf> {
    let meta = root.parent()?.join(META_DIR);
    meta.is_dir().then(|| meta.join(name))
}
