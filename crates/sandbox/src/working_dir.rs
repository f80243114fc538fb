//! Checks of a process's working directory: whether it exists, and whether it is writable.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::getuid;

use crate::error::{Error, Result};

/// Returns the canonical path of a working directory, or an error if it is not a directory.
pub(crate) fn canonical_dir(path: &Path) -> Result<PathBuf> {
    let problem = |problem: String| Error::WorkingDirectory {
        path: path.to_owned(),
        problem,
    };
    if path.is_file() {
        return Err(problem("is a file: give the directory it is in".into()));
    }
    let real = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            problem("does not exist: create it first, or give another".into())
        }
        _ => problem(error.to_string()),
    })?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(problem("is not a directory".into()))
    }
}

/// Returns `true` if the process could write here with the sandbox's permission. Root's
/// capabilities do not count, because the process will not have them.
pub(crate) fn is_writable(dir: &Path) -> bool {
    let may_write = access(dir, Access::WRITE_OK).is_ok();
    if !getuid().is_root() {
        return may_write;
    }
    let needed = |found: &Metadata| match (found.uid(), found.gid()) {
        (0, _) => 0o200,
        (_, 0) => 0o020,
        _ => 0o002,
    };
    may_write
        && dir
            .metadata()
            .is_ok_and(|found| found.mode() & needed(&found) != 0)
}
