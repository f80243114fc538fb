//! Resolves a program name to a file, and checks that a process with this policy could run it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fs_policy::{Access, FsPolicy, ROOT};
use crate::host::{Host, is_executable};
use crate::links;

/// A program that was found.
#[derive(Debug)]
pub(crate) struct Program {
    /// The path at which it was found.
    found: PathBuf,
    /// The path without links among its directories, because such a link may be invisible to
    /// the process.
    pub(crate) path: PathBuf,
}

/// Finds a program. A name is searched for on `path`; anything with a slash is relative to `cwd`.
pub(crate) fn resolve(name: &OsStr, path: &OsStr, cwd: &Path) -> Result<Program> {
    let found = if name.as_bytes().contains(&b'/') {
        usable(cwd.join(name))?
    } else {
        Host::find(path, name).ok_or_else(|| Error::ProgramNotFound {
            program: name.display().to_string(),
            path: path.display().to_string(),
        })?
    };
    let dir = found.parent().and_then(|dir| dir.canonicalize().ok());
    let path = match (dir, found.file_name()) {
        (Some(dir), Some(name)) => dir.join(name),
        _ => found.clone(),
    };
    Ok(Program { found, path })
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
/// applies to its target, unless the process itself may have created the link: it could lead to any
/// file.
pub(crate) fn show(program: &Program, policy: &mut FsPolicy) {
    let target = program.path.canonicalize().ok();
    if follows_own_link(&program.found, policy) {
        return;
    }
    for file in [Some(&*program.path), target.as_deref()]
        .into_iter()
        .flatten()
    {
        if let Some(dir) = file.parent() {
            policy.show_installation(dir);
        }
        policy.show(file);
    }
}

/// Makes a configured argument readable if it is an absolute path: a directory, or a script with
/// the package that it belongs to.
pub(crate) fn show_argument(argument: &OsStr, policy: &mut FsPolicy) {
    const PACKAGE_FILES: [&str; 2] = ["package.json", "pyproject.toml"];
    let path = Path::new(argument);
    if !path.is_absolute() || follows_own_link(path, policy) {
        return;
    }
    if path.is_file() {
        let mut dirs = path.ancestors().skip(1);
        let is_package = |dir: &&Path| PACKAGE_FILES.iter().any(|file| dir.join(file).is_file());
        let package = dirs.find(is_package).or(path.parent());
        if let Some(dir) = package {
            policy.show(dir);
        }
    }
    policy.show(path);
}

fn follows_own_link(path: &Path, policy: &FsPolicy) -> bool {
    links::follows_link_in(path, |dir| policy.access(dir) == Access::Write)
}

/// Returns the directory that hides a path: for most paths the one in the root, which has no rule.
fn hidden_part<'a>(path: &'a Path, policy: &FsPolicy) -> &'a Path {
    let is_in_root = |above: &&Path| above.parent() == Some(Path::new(ROOT));
    match policy.rule_for(path) {
        rule if rule == Path::new(ROOT) => path.ancestors().find(is_in_root).unwrap_or(path),
        rule => rule,
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
            hidden: hidden_part(path, policy).to_owned(),
            kind: policy.kind,
        }),
        None => Ok(()),
    }
}
