//! Which file a program's name means, and whether a process with this view could run it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::host::{Host, is_executable};
use crate::view::{Access, View};

/// The full path of a program: a name is looked for on `path`, anything with a slash is taken from
/// `cwd`.
pub(crate) fn resolve(name: &OsStr, path: &OsStr, cwd: &Path) -> Result<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return usable(cwd.join(name));
    }
    Host::find(path, name).ok_or_else(|| Error::ProgramNotFound {
        program: name.display().to_string(),
        path: path.display().to_string(),
    })
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

/// Says so now, and not with an exit code of somebody else later, if the view hides the program.
pub(crate) fn refuse_if_hidden(program: &Path, view: &View) -> Result<()> {
    // Both the folder it is in and what it is a link to must be seen.
    let places = [program.parent(), Some(program)].into_iter().flatten();
    let mut real = places.filter_map(|place| place.canonicalize().ok());
    match real.find(|place| matches!(view.access(place), Access::Hidden | Access::Private)) {
        Some(program) => Err(Error::ProgramHidden { program }),
        None => Ok(()),
    }
}
