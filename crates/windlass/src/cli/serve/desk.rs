//! What the server asks for that needs a repository or this machine: the same that the commands use.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::Mutex;
use windlass_agents::AgentContext;
use windlass_core::task::Task;
use windlass_core::{AgentRegistry, TaskStore};
use windlass_server::{AgentCard, Desk, DeskError};
use windlass_workspace::Clones;

use super::super::app::App;
use super::super::console::Console;
use super::super::crew::Crew;
use super::super::exit::Failure;
use super::super::queue::Queue;
use super::super::{agents, task};
use crate::config::{Config, Inputs};

/// The desk of this machine.
pub(super) struct LocalDesk {
    store: Arc<dyn TaskStore>,
    clones: Clones,
    registry: Arc<AgentRegistry>,
    machine: Result<AgentContext, String>,
    inputs: Inputs,
    config: Config,
    console: Console,
    /// One merge at a time: they all touch what is checked out.
    merging: Mutex<()>,
}

impl std::fmt::Debug for LocalDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalDesk").finish_non_exhaustive()
    }
}

impl LocalDesk {
    pub(super) fn new(app: &App<'_>, queue: &Queue, crew: &Crew) -> Self {
        Self {
            store: Arc::clone(&queue.store),
            clones: crew.clones.clone(),
            registry: Arc::clone(&app.registry),
            machine: app.machine.clone(),
            inputs: app.inputs.clone(),
            config: queue.config.clone(),
            console: *app.console,
            merging: Mutex::new(()),
        }
    }
}

impl Desk for LocalDesk {
    fn diff<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<String, DeskError>> {
        Box::pin(async move {
            let diff = task::diff(&*self.store, &self.clones, task).await;
            diff.map_err(refused)
        })
    }

    fn merge<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<Value, DeskError>> {
        Box::pin(async move {
            let _alone = self.merging.lock().await;
            let merged = task::merge(&*self.store, &self.clones, task).await;
            // Whatever git says about the checkout is for its owner.
            merged.map_err(|failure| DeskError::Refused(failure.to_string()))
        })
    }

    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentCard>, DeskError>> {
        Box::pin(async move {
            let app = App {
                registry: Arc::clone(&self.registry),
                machine: self.machine.clone(),
                inputs: self.inputs.clone(),
                console: &self.console,
            };
            let rows = agents::rows(&app, &self.config).await.map_err(refused)?;
            Ok(rows.into_iter().map(agents::Row::card).collect())
        })
    }
}

fn refused(failure: Failure) -> DeskError {
    if failure.is_usage() {
        DeskError::Refused(failure.to_string())
    } else {
        DeskError::Broken(failure.to_string())
    }
}
