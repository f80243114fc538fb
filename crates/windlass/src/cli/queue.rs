//! The store of tasks and the project that a command is about.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::TaskStore;
use windlass_core::task::{NewProject, Project, StoreError};

use super::app::App;
use super::exit::CliError;
use crate::config::Config;

/// The tasks of this project, and all others in the same store.
pub(super) struct TaskQueue {
    pub(super) config: Config,
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) project: Project,
}

impl TaskQueue {
    /// Opens the configured store, and makes the project known to it where it is not yet: a store that cannot be written
    /// can still be looked at.
    pub(super) async fn open(app: &App<'_>) -> Result<Self, CliError> {
        Self::with_config(app, app.config()?).await
    }

    /// The same for a configuration that was read, and spoken of, already.
    pub(super) async fn with_config(app: &App<'_>, config: Config) -> Result<Self, CliError> {
        let root = repository(&app.inputs.cwd)?;
        let store = store(&config).await?;
        let known = store.projects().await?;
        let project = match known.into_iter().find(|known| known.root == root) {
            Some(project) => project,
            None => store.add_project(project_in(root)).await?,
        };
        Ok(Self {
            config,
            store,
            project,
        })
    }
}

/// The configured store.
pub(super) async fn store(config: &Config) -> Result<Arc<dyn TaskStore>, CliError> {
    let url = config.store_url().unwrap_or_default();
    let url = match url.strip_prefix("sqlite:") {
        Some(path) => {
            let path = config.root().join(path);
            create_private_dir(&path)?;
            format!("sqlite:{}", path.display())
        }
        None => url.to_owned(),
    };
    Ok(windlass_store::open(&url).await?)
}

/// A project under the name of its folder.
pub(super) fn project_in(root: PathBuf) -> NewProject {
    let name = root.file_name().unwrap_or(root.as_os_str());
    NewProject {
        name: name.to_string_lossy().into_owned(),
        root,
    }
}

/// The root of the repository that a folder is in.
pub(super) fn repository(cwd: &Path) -> Result<PathBuf, CliError> {
    let cwd = cwd.canonicalize().map_err(|error| {
        CliError::usage(format!(
            "the folder {} cannot be opened: {error}",
            cwd.display()
        ))
    })?;
    let root = cwd.ancestors().find(|folder| folder.join(".git").exists());
    root.map(Path::to_owned).ok_or_else(|| {
        CliError::usage(format!(
            "{} is not inside a git repository: tasks are worked on in clones of one; run git init and commit what is there",
            cwd.display()
        ))
    })
}

/// Makes our own folder in a project, for its owner alone and passed over by git. A link that a repository brought along
/// is not followed. Where the folder cannot be made, opening the store says why.
fn create_private_dir(database: &Path) -> Result<(), CliError> {
    let folder = database.parent();
    let Some(folder) = folder.filter(|folder| folder.ends_with(".windlass")) else {
        return Ok(());
    };
    if folder.is_symlink() {
        let folder = folder.display();
        return Err(CliError::usage(format!(
            "{folder} is a symbolic link, which is not followed here: remove it"
        )));
    }
    if private_folder(folder).is_ok() {
        let ignore = folder.join(".gitignore");
        let mut options = OpenOptions::new();
        if let Ok(mut file) = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(ignore)
        {
            let _ = file.write_all(b"*\n");
        }
    }
    Ok(())
}

/// A folder for its owner alone; one that is there stays as it is.
fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { .. }
            | StoreError::Refused(_)
            | StoreError::IdempotencyConflict { .. } => Self::usage(error.to_string()),
            error => Self::failed(error.to_string()),
        }
    }
}
