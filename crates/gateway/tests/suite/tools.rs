//! Where the real programs are.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The top of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Installs what is not there yet, and gives the folder that holds it.
pub(crate) fn install(what: &str, folder: &str) -> PathBuf {
    let setup = root().join("scripts/setup");
    let output = Command::new(setup).args(["--only", what]).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    root().canonicalize().unwrap().join(".cache").join(folder)
}
