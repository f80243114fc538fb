//! Installation of the real programs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Installs what is missing, and returns its directory.
pub(crate) fn install(what: &str, dir: &str) -> PathBuf {
    let setup = root().join("scripts/setup");
    let output = Command::new(setup).args(["--only", what]).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    root().canonicalize().unwrap().join(".cache").join(dir)
}
