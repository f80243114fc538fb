//! Opens the task store and the current project.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_store::{OpenStore, StoreSettings};
use windlass_tasks::{AccessStore, ModelCalls, NewProject, Project, StoreError, TaskStore};

use super::app::App;
use super::exit::CliError;
use super::repository::repository;
use crate::config::Config;

/// The task store, with the configuration and the current project.
pub(super) struct ProjectQueue {
    pub(super) config: Arc<Config>,
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) access: Arc<dyn AccessStore>,
    pub(super) calls: Arc<dyn ModelCalls>,
    /// The URL of the store. It may contain a password.
    pub(super) url: String,
    pub(super) project: Project,
}

impl ProjectQueue {
    /// Opens the configured store, and adds the project if the store does not have it yet. If it does, nothing is
    /// written, so that a read-only store can be read.
    pub(super) async fn open(app: &App<'_>) -> Result<Self, CliError> {
        Self::open_at(app, repository(&app.inputs.cwd)?).await
    }

    /// Like [`open`](Self::open), for the project in this directory.
    pub(super) async fn open_at(app: &App<'_>, root: PathBuf) -> Result<Self, CliError> {
        let config = Arc::clone(app.config()?);
        let url = super::store::locate(app, &config, &root).await?;
        let OpenStore {
            tasks: store,
            access,
            calls,
            ..
        } = windlass_store::open_all(&url, StoreSettings::default()).await?;
        if let Some(bridge) = &app.bridge {
            bridge.store_in(Arc::clone(&calls));
        }
        let known = store.projects().await?;
        let project = match known.into_iter().find(|known| known.root == root) {
            Some(project) => project,
            None => store.add_project(project_in(root)).await?,
        };
        Ok(Self {
            config,
            store,
            access,
            calls,
            url,
            project,
        })
    }
}

/// Returns a new project with the name of its directory.
pub(super) fn project_in(root: PathBuf) -> NewProject {
    let name = root.file_name().unwrap_or(root.as_os_str());
    NewProject {
        name: name.to_string_lossy().into_owned(),
        root,
    }
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
