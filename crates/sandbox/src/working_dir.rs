//! The folder a process is started in: whether it can be, and whether it could be written to.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::getuid;

use crate::error::{Error, Result};

/// Where a working directory really is, if it is one.
pub(crate) fn canonical_dir(path: &Path) -> Result<PathBuf> {
    let problem = |problem: String| Error::WorkingDirectory {
        path: path.to_owned(),
        problem,
    };
    if path.is_file() {
        return Err(problem("is a file: name the folder it is in".into()));
    }
    let real = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            problem("does not exist: make it first, or name another".into())
        }
        _ => problem(error.to_string()),
    })?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(problem("is not a folder".into()))
    }
}

/// Whether the process could write here if the sandbox let it. Root's powers do not count: it will
/// not have them.
pub(crate) fn is_writable(folder: &Path) -> bool {
    let may_write = access(folder, Access::WRITE_OK).is_ok();
    if !getuid().is_root() {
        return may_write;
    }
    let needed = |found: &Metadata| match (found.uid(), found.gid()) {
        (0, _) => 0o200,
        (_, 0) => 0o020,
        _ => 0o002,
    };
    may_write
        && folder
            .metadata()
            .is_ok_and(|found| found.mode() & needed(&found) != 0)
}
