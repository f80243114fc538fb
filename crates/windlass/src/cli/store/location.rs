//! Where the tasks of a project are stored.
//!
//! The default is a file in the user's state directory. No file of a repository is opened as a store because it is
//! there: its tasks would be run and its decisions applied.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::repository_file::{RepositoryFile, is_tracked};
use crate::cli::app::App;
use crate::cli::exit::CliError;
use crate::config::{Config, Inputs};

/// Name of the database file.
const FILE: &str = "windlass.db";
/// Maximum length of the readable part of a project's directory name.
const MAX_NAME_LEN: usize = 40;

/// Returns the URL of the store for the repository with this root. Every command uses this function.
///
/// A store that an earlier version created in the repository is moved first, if the user agrees.
pub(in crate::cli) async fn locate(
    app: &App<'_>,
    config: &Config,
    root: &Path,
) -> Result<String, CliError> {
    let Some(url) = config.store.url.as_deref() else {
        let path = default_path(&app.inputs, root)?;
        if let Some(file) = RepositoryFile::find(config, root) {
            file.offer_move(app, &path).await?;
        }
        return Ok(format!("sqlite:{}", path.display()));
    };
    let Some(path) = url.strip_prefix("sqlite:") else {
        return Ok(url.to_owned());
    };
    let path = config.root().join(path);
    reject_tracked(app, root, &path).await?;
    create_private_dir(&path)?;
    Ok(format!("sqlite:{}", path.display()))
}

/// Returns the file of a project in the state directory: named after the project, keyed by its root directory.
pub(super) fn default_path(inputs: &Inputs, root: &Path) -> Result<PathBuf, CliError> {
    let state = inputs
        .state_dir()
        .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
    let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let hash: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(MAX_NAME_LEN)
        .collect();
    Ok(state
        .join("projects")
        .join(format!("{name}-{hash}"))
        .join(FILE))
}

/// Rejects a configured file that comes with the repository.
async fn reject_tracked(app: &App<'_>, root: &Path, path: &Path) -> Result<(), CliError> {
    let Some(dir) = path.parent().and_then(|dir| dir.canonicalize().ok()) else {
        return Ok(());
    };
    let file = dir.join(path.file_name().unwrap_or_default());
    if file.symlink_metadata().is_err() {
        return Ok(());
    }
    let Ok(inside) = file.strip_prefix(root) else {
        return Ok(());
    };
    match is_tracked(app, root, inside).await {
        Some(false) => Ok(()),
        Some(true) => Err(CliError::usage(format!(
            "{} is tracked by git and cannot be the store: set store.url to another file",
            path.display()
        ))),
        None => Err(CliError::usage(format!(
            "{} cannot be the store: git does not say whether it is tracked; set store.url to a file outside of the \
             repository",
            path.display()
        ))),
    }
}

/// Creates a directory `.windlass` for a configured file, accessible only to its owner and ignored by git. A symbolic
/// link is not followed. If the directory cannot be created, opening the store reports why.
fn create_private_dir(database: &Path) -> Result<(), CliError> {
    let dir = database.parent();
    let Some(dir) = dir.filter(|dir| dir.ends_with(".windlass")) else {
        return Ok(());
    };
    if dir.is_symlink() {
        let dir = dir.display();
        return Err(CliError::usage(format!(
            "{dir} is a symbolic link, which is not followed here: remove it"
        )));
    }
    let mut builder = std::fs::DirBuilder::new();
    if builder.recursive(true).mode(0o700).create(dir).is_ok() {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        if let Ok(mut file) = options.open(dir.join(".gitignore")) {
            let _ = file.write_all(b"*\n");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_path_is_outside_of_the_repository_and_unique() {
        let inputs = Inputs::new("/", Some("/home/me".into()));
        let path = |root: &str| default_path(&inputs, Path::new(root)).unwrap();
        let shop = path("/src/my shop");
        assert!(shop.starts_with("/home/me/.local/state/windlass/projects"));
        let dir = shop.parent().unwrap().file_name().unwrap();
        assert!(dir.to_str().unwrap().starts_with("my-shop-"), "{dir:?}");
        assert_ne!(shop, path("/src2/my shop"));
        assert_ne!(path("/src/a.b"), path("/src/a-b"));
        assert!(path("/").ends_with(FILE));
    }
}
