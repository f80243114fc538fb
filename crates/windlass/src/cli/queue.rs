//! Opens the task store and the current project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_store::{LocalMachine, OpenStore, StoreSettings};
use windlass_tasks::{
    AccessStore, ModelCalls, NewProject, Project, ProjectIdentity, StoreError, TaskStore,
};

use super::app::App;
use super::exit::CliError;
use super::machine::local_machine;
use super::remote;
use super::repository::repository;
use crate::config::Config;

/// The task store, with the configuration.
pub(super) struct OpenQueue {
    pub(super) config: Arc<Config>,
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) access: Arc<dyn AccessStore>,
    pub(super) calls: Arc<dyn ModelCalls>,
    /// The URL of the store. It may contain a password.
    pub(super) url: String,
    /// The name of this machine, and where it has its mirrors.
    pub(super) machine: LocalMachine,
}

/// The task store with the current project.
pub(super) struct ProjectQueue {
    pub(super) queue: OpenQueue,
    pub(super) project: Project,
}

impl std::ops::Deref for ProjectQueue {
    type Target = OpenQueue;

    fn deref(&self) -> &OpenQueue {
        &self.queue
    }
}

impl OpenQueue {
    /// Opens the configured store. It may be used outside of any repository if it is configured.
    pub(super) async fn open(app: &App<'_>) -> Result<Self, CliError> {
        let config = app.config()?;
        let root = match repository(&app.inputs.cwd) {
            Ok(root) => root,
            Err(error) if config.store.url.is_none() => return Err(error),
            Err(_) => app.inputs.cwd.clone(),
        };
        Self::open_at(app, &root).await
    }

    /// Opens the store for the repository with this root.
    async fn open_at(app: &App<'_>, root: &Path) -> Result<Self, CliError> {
        let config = Arc::clone(app.config()?);
        let url = super::store::locate(app, &config, root).await?;
        let machine = local_machine(&app.inputs, &url)?;
        let mut settings = StoreSettings::default();
        settings.machine = machine.clone();
        settings.traces = app.telemetry(&config)?.map(|telemetry| telemetry as _);
        settings.listen_url = config.store.listen_url.clone();
        let OpenStore {
            tasks: store,
            access,
            calls,
            newer_schema,
            ..
        } = windlass_store::open_all(&url, settings).await?;
        if let Some(version) = newer_schema {
            app.console.notice(&format!(
                "the store was migrated by a newer Windlass (schema version {version}); this version can go on using it, and can be upgraded at any time"
            ));
        }
        if let Some(bridge) = &app.bridge {
            bridge.store_in(Arc::clone(&calls));
        }
        Ok(Self {
            config,
            store,
            access,
            calls,
            url,
            machine,
        })
    }
}

impl ProjectQueue {
    /// Opens the configured store, and adds the project if the store does not have it yet. If it does, nothing is
    /// written, so that a read-only store can be read.
    pub(super) async fn open(app: &App<'_>) -> Result<Self, CliError> {
        Self::open_at(app, repository(&app.inputs.cwd)?).await
    }

    /// Like [`open`](Self::open), for the project in this directory.
    pub(super) async fn open_at(app: &App<'_>, root: PathBuf) -> Result<Self, CliError> {
        let queue = OpenQueue::open_at(app, &root).await?;
        let known = queue.store.projects().await?;
        let here = known.iter().find(|known| known.here && known.root == root);
        let project = match here {
            Some(project) => project.clone(),
            None => register(&*queue.store, &known, root, None).await?,
        };
        Ok(Self { queue, project })
    }
}

/// Adds a checkout to the store. If another machine shares its project by a remote, it becomes a checkout of that one.
pub(super) async fn register(
    store: &dyn TaskStore,
    known: &[Project],
    root: PathBuf,
    name: Option<&str>,
) -> Result<Project, CliError> {
    let roots = remote::roots(&root).await;
    let is_shared = |project: &&Project| {
        let commit = project.root_commit.as_ref();
        let is_named = name.is_none_or(|name| project.name == name);
        let is_free = project.remote.is_some() && !project.here && is_named;
        is_free && commit.is_some_and(|commit| roots.contains(commit))
    };
    if let Some(shared) = known.iter().find(is_shared) {
        return Ok(store.set_checkout(shared.id, Some(root)).await?);
    }
    let mut new = project_in(root);
    if let Some(name) = name {
        new.name = name.to_owned();
    }
    let project = store.add_project(new).await?;
    let Some(root_commit) = roots.into_iter().next() else {
        return Ok(project);
    };
    let identity = ProjectIdentity {
        name: project.name,
        root_commit: Some(root_commit),
        remote: project.remote,
    };
    Ok(store.identify_project(project.id, identity).await?)
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
