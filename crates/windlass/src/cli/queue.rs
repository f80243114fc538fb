//! Opens the task store and the current project.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_store::{OpenStore, StoreSettings};
use windlass_tasks::{AccessStore, NewProject, Project, StoreError, TaskStore};

use super::app::App;
use super::exit::CliError;
use crate::config::Config;

/// The task store, with the configuration and the current project.
pub(super) struct TaskQueue {
    pub(super) config: Arc<Config>,
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) access: Arc<dyn AccessStore>,
    pub(super) project: Project,
}

impl TaskQueue {
    /// Opens the configured store, and adds the project if the store does not have it yet. If it does, nothing is
    /// written, so that a read-only store can be read.
    pub(super) async fn open(app: &App<'_>) -> Result<Self, CliError> {
        let config = Arc::clone(app.config()?);
        let root = repository(&app.inputs.cwd)?;
        let OpenStore {
            tasks: store,
            access,
            ..
        } = store(&config).await?;
        let known = store.projects().await?;
        let project = match known.into_iter().find(|known| known.root == root) {
            Some(project) => project,
            None => store.add_project(project_in(root)).await?,
        };
        Ok(Self {
            config,
            store,
            access,
            project,
        })
    }
}

/// Opens the configured store.
pub(super) async fn store(config: &Config) -> Result<OpenStore, CliError> {
    let url = &config.store.url;
    let url = match url.strip_prefix("sqlite:") {
        Some(path) => {
            let path = config.root().join(path);
            create_private_dir(&path)?;
            format!("sqlite:{}", path.display())
        }
        None => url.clone(),
    };
    Ok(windlass_store::open_all(&url, StoreSettings::default()).await?)
}

/// Returns a new project with the name of its directory.
pub(super) fn project_in(root: PathBuf) -> NewProject {
    let name = root.file_name().unwrap_or(root.as_os_str());
    NewProject {
        name: name.to_string_lossy().into_owned(),
        root,
    }
}

/// Returns the root of the repository that contains a directory.
pub(super) fn repository(cwd: &Path) -> Result<PathBuf, CliError> {
    let cwd = cwd.canonicalize().map_err(|error| {
        CliError::usage(format!(
            "the directory {} cannot be opened: {error}",
            cwd.display()
        ))
    })?;
    let root = cwd.ancestors().find(|dir| dir.join(".git").exists());
    root.map(Path::to_owned).ok_or_else(|| {
        CliError::usage(format!(
            "{} is not inside a git repository, and tasks run in clones of one: run git init and commit the files",
            cwd.display()
        ))
    })
}

/// Creates Windlass's own directory in a project, accessible only to its owner and ignored by git. A symbolic link
/// from the repository is not followed. If the directory cannot be created, opening the store reports why.
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
    if create_with_mode(dir).is_ok() {
        let ignore = dir.join(".gitignore");
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

/// Creates a directory with mode 0700; an existing one is not changed.
fn create_with_mode(dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(dir)
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
