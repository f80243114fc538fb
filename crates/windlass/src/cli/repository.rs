//! The repository that a command runs in.

use std::path::{Path, PathBuf};

use super::exit::CliError;

/// Returns the root of the repository that contains a directory.
pub(super) fn repository(cwd: &Path) -> Result<PathBuf, CliError> {
    let cwd = cwd.canonicalize().map_err(|error| {
        CliError::usage(format!(
            "the directory {} cannot be opened: {error}",
            cwd.display()
        ))
    })?;
    let root = cwd.ancestors().find(|dir| dir.join(".git").exists());
    root.map(Path::to_owned).ok_or_else(|| {
        CliError::usage(format!(
            "{} is not inside a git repository, and tasks run in clones of one: run git init and commit the files",
            cwd.display()
        ))
    })
}
