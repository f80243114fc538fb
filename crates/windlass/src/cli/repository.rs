//! The repository that a command runs in.

use std::path::{Path, PathBuf};

use super::exit::CliError;

/// Returns `true` if a directory is a repository without a work tree, and not the `.git` of one.
fn is_bare(dir: &Path) -> bool {
    let is_git_dir = ["HEAD", "objects", "refs"].map(|part| dir.join(part).exists());
    is_git_dir == [true; 3] && dir.file_name().is_some_and(|name| name != ".git")
}

/// Returns the root of the repository that contains a directory.
pub(super) fn repository(cwd: &Path) -> Result<PathBuf, CliError> {
    let cwd = cwd.canonicalize().map_err(|error| {
        CliError::usage(format!(
            "the directory {} cannot be opened: {error}",
            cwd.display()
        ))
    })?;
    if let Some(bare) = cwd.ancestors().find(|dir| is_bare(dir)) {
        return Err(CliError::usage(format!(
            "{} is a bare repository, without files to work on: run the command in a clone of it",
            bare.display()
        )));
    }
    let root = cwd.ancestors().find(|dir| dir.join(".git").exists());
    root.map(Path::to_owned).ok_or_else(|| {
        CliError::usage(format!(
            "{} is not inside a git repository, and tasks run in clones of one: run git init and commit the files",
            cwd.display()
        ))
    })
}
