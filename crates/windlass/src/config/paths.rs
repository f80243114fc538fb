//! Finds the files of a configuration.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Error, Inputs, Result};

/// The name of every configuration file.
const FILE: &str = "windlass.toml";

/// The paths of a configuration's files, which may not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigPaths {
    /// The user's own file.
    pub user: Option<PathBuf>,
    /// The project's directory: that of its `windlass.toml`, else the root of the repository, else the working
    /// directory.
    pub root: PathBuf,
    /// The project's `windlass.toml`.
    pub project: PathBuf,
    /// The project's `.env`.
    pub dot_env: PathBuf,
}

impl ConfigPaths {
    /// Finds the project of the working directory: the nearest `windlass.toml` in it or its parents, up to the root
    /// of the repository, the home directory or the root of the file system.
    pub fn find(inputs: &Inputs) -> Result<Self> {
        let cwd = canonical_cwd(&inputs.cwd)?;
        let home = inputs
            .home
            .as_ref()
            .and_then(|home| home.canonicalize().ok());
        let user = inputs.user_file();
        let mut root = cwd.clone();
        for dir in find_upwards(&cwd, home.as_deref()) {
            let file = dir.join(FILE);
            if exists(&file) && !is_user_file(&file, user.as_deref()) {
                root = dir.to_owned();
                break;
            }
            if exists(&dir.join(".git")) {
                root = dir.to_owned();
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

/// Returns the directories to search, innermost first.
fn find_upwards<'a>(cwd: &'a Path, home: Option<&'a Path>) -> impl Iterator<Item = &'a Path> {
    let device = |dir: &Path| dir.metadata().ok().map(|metadata| metadata.dev());
    let cwd_device = device(cwd);
    let mut ended = false;
    cwd.ancestors().take_while(move |dir| {
        if ended || device(dir) != cwd_device {
            return false;
        }
        ended = exists(&dir.join(".git")) || home == Some(*dir);
        true
    })
}

/// Returns the working directory without symbolic links.
fn canonical_cwd(cwd: &Path) -> Result<PathBuf> {
    let dir = cwd.canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::file(cwd, "the working directory does not exist"),
        _ => Error::file(
            cwd,
            format!("cannot be used as the working directory: {error}"),
        ),
    })?;
    if dir.is_dir() {
        Ok(dir)
    } else {
        Err(Error::file(cwd, "is a file, expected a working directory"))
    }
}

/// Returns `true` if anything exists at this path, including a broken symbolic link.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Returns `true` if the file is the user's own, which the search finds from below the configuration directory.
fn is_user_file(file: &Path, user: Option<&Path>) -> bool {
    user.and_then(|user| user.canonicalize().ok()).as_deref() == Some(file)
}
