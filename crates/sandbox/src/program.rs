//! Which file a program's name means, and whether a process with this view could run it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fs_policy::{Access, FsPolicy};
use crate::host::{Host, is_executable};

/// Returns the full path of a program: a name is looked for on `path`, anything with a slash is
/// taken from `cwd`.
///
/// Links among its folders are followed: the process may not see the place of such a link.
pub(crate) fn resolve(name: &OsStr, path: &OsStr, cwd: &Path) -> Result<PathBuf> {
    let found = if name.as_bytes().contains(&b'/') {
        usable(cwd.join(name))?
    } else {
        Host::find(path, name).ok_or_else(|| Error::ProgramNotFound {
            program: name.display().to_string(),
            path: path.display().to_string(),
        })?
    };
    let folder = found.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, found.file_name()) {
        (Some(folder), Some(name)) => Ok(folder.join(name)),
        _ => Ok(found),
    }
}

fn usable(program: PathBuf) -> Result<PathBuf> {
    let problem = match program.metadata() {
        Err(_) => "no such program",
        Ok(found) if found.is_dir() => "is a folder, not a program",
        Ok(_) if !is_executable(&program) => "is not executable: try `chmod +x`",
        Ok(_) => return Ok(program),
    };
    Err(Error::ProgramUnusable { program, problem })
}

/// Makes a program readable where only a temporary folder or the home folder hides it, together
/// with its folder and what was installed along with it. If the program is a link, the same holds
/// for its target.
pub(crate) fn show(program: &Path, view: &mut FsPolicy) {
    let target = program.canonicalize().ok();
    for file in [Some(program), target.as_deref()].into_iter().flatten() {
        if let Some(folder) = file.parent() {
            view.show_installation(folder);
        }
        view.show(file);
    }
}

/// Fails if the process could not see the program: that is clearer than the exit code of a shell.
pub(crate) fn ensure_visible(program: &Path, view: &FsPolicy) -> Result<()> {
    // Of a link, both its folder and its target must be visible.
    let folder = program.parent().filter(|_| program.is_symlink());
    let target = program.canonicalize().ok();
    let mut needed = folder.into_iter().chain(target.as_deref());
    let is_hidden = |path: &&Path| matches!(view.access(path), Access::Hidden | Access::Private);
    match needed.find(is_hidden) {
        Some(path) => Err(Error::ProgramHidden {
            program: program.to_owned(),
            hidden: view.rule_for(path).to_owned(),
            kind: view.kind,
        }),
        None => Ok(()),
    }
}
