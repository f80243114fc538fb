//! Resolves a program name to a file, and checks that a process with this policy could run it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fs_policy::{Access, FsPolicy};
use crate::host::{Host, is_executable};

/// Returns the full path of a program. A name is searched for on `path`; anything with a slash is
/// relative to `cwd`.
///
/// Links among its directories are resolved, because such a link may be invisible to the process.
pub(crate) fn resolve(name: &OsStr, path: &OsStr, cwd: &Path) -> Result<PathBuf> {
    let found = if name.as_bytes().contains(&b'/') {
        usable(cwd.join(name))?
    } else {
        Host::find(path, name).ok_or_else(|| Error::ProgramNotFound {
            program: name.display().to_string(),
            path: path.display().to_string(),
        })?
    };
    let dir = found.parent().and_then(|dir| dir.canonicalize().ok());
    match (dir, found.file_name()) {
        (Some(dir), Some(name)) => Ok(dir.join(name)),
        _ => Ok(found),
    }
}

fn usable(program: PathBuf) -> Result<PathBuf> {
    let problem = match program.metadata() {
        Err(_) => "no such program",
        Ok(found) if found.is_dir() => "is a directory, not a program",
        Ok(_) if !is_executable(&program) => "is not executable: run `chmod +x` on it",
        Ok(_) => return Ok(program),
    };
    Err(Error::ProgramUnusable { program, problem })
}

/// Makes a program readable where only a temporary directory or the home directory hides it,
/// together with its directory and the rest of its installation. If the program is a link, the same
/// applies to its target.
pub(crate) fn show(program: &Path, policy: &mut FsPolicy) {
    let target = program.canonicalize().ok();
    for file in [Some(program), target.as_deref()].into_iter().flatten() {
        if let Some(dir) = file.parent() {
            policy.show_installation(dir);
        }
        policy.show(file);
    }
}

/// Returns an error if the process could not see the program. That is clearer than the exit code of
/// a shell.
pub(crate) fn ensure_visible(program: &Path, policy: &FsPolicy) -> Result<()> {
    // For a link, both its directory and its target must be visible.
    let dir = program.parent().filter(|_| program.is_symlink());
    let target = program.canonicalize().ok();
    let mut needed = dir.into_iter().chain(target.as_deref());
    let is_hidden = |path: &&Path| matches!(policy.access(path), Access::Hidden | Access::Private);
    match needed.find(is_hidden) {
        Some(path) => Err(Error::ProgramHidden {
            program: program.to_owned(),
            hidden: policy.rule_for(path).to_owned(),
            kind: policy.kind,
        }),
        None => Ok(()),
    }
}
