//! Where the files of a configuration are.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Error, Inputs, Result};

/// The name of every configuration file.
const FILE: &str = "windlass.toml";

/// The files of a configuration, whether or not each is there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigPaths {
    /// The user's own file.
    pub user: Option<PathBuf>,
    /// The project's folder: that of its `windlass.toml`, else the root of the repository, else the working
    /// directory.
    pub root: PathBuf,
    /// The project's `windlass.toml`.
    pub project: PathBuf,
    /// The project's `.env`.
    pub dot_env: PathBuf,
}

impl ConfigPaths {
    /// Finds the project around the working directory: the nearest `windlass.toml` upwards, but not beyond the
    /// root of the repository, the home folder or the file system.
    pub fn find(inputs: &Inputs) -> Result<Self> {
        let cwd = folder(&inputs.cwd)?;
        let home = inputs
            .home
            .as_ref()
            .and_then(|home| home.canonicalize().ok());
        let user = inputs.user_file();
        let mut root = cwd.clone();
        for folder in find_upwards(&cwd, home.as_deref()) {
            let file = folder.join(FILE);
            if is_there(&file) && !same(&file, user.as_deref()) {
                root = folder.to_owned();
                break;
            }
            if is_there(&folder.join(".git")) {
                root = folder.to_owned();
            }
        }
        Ok(Self {
            user,
            project: root.join(FILE),
            dot_env: root.join(".env"),
            root,
        })
    }
}

/// The folders to look in, innermost first.
fn find_upwards<'a>(cwd: &'a Path, home: Option<&'a Path>) -> impl Iterator<Item = &'a Path> {
    let device = |folder: &Path| folder.metadata().ok().map(|about| about.dev());
    let ours = device(cwd);
    let mut ended = false;
    cwd.ancestors().take_while(move |folder| {
        if ended || device(folder) != ours {
            return false;
        }
        ended = is_there(&folder.join(".git")) || home == Some(*folder);
        true
    })
}

/// The working directory without symbolic links.
fn folder(cwd: &Path) -> Result<PathBuf> {
    let folder = cwd.canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::file(cwd, "there is no such working directory"),
        _ => Error::file(cwd, format!("cannot be the working directory: {error}")),
    })?;
    if folder.is_dir() {
        Ok(folder)
    } else {
        Err(Error::file(cwd, "is a file, expected a working directory"))
    }
}

/// Whether anything has this name, be it a link that leads nowhere.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether the project's file is the user's own, met by climbing up from the folder of configurations.
fn same(file: &Path, user: Option<&Path>) -> bool {
    user.and_then(|user| user.canonicalize().ok()).as_deref() == Some(file)
}
