//! Host operations of the server: diffs, merges and the agent list, implemented with the code of the CLI commands.

use std::sync::{Arc, Once};

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::Mutex;
use windlass_agents::AgentContext;
use windlass_core::AgentRegistry;
use windlass_server::{AgentCard, HostOps, HostOpsError};
use windlass_tasks::{Task, TaskStore};
use windlass_workspace::Clones;

use super::super::app::App;
use super::super::console::Console;
use super::super::exit::CliError;
use super::super::queue::TaskQueue;
use super::super::task_runtime::TaskRuntime;
use super::super::{agents, task};
use crate::config::{Config, Inputs};

/// Host operations on this machine.
pub(super) struct LocalHostOps {
    store: Arc<dyn TaskStore>,
    clones: Clones,
    registry: Arc<AgentRegistry>,
    machine: Result<AgentContext, String>,
    inputs: Inputs,
    config: Arc<Config>,
    notices: Arc<Once>,
    console: Console,
    /// Serializes merges, because each one changes the checkout.
    merging: Mutex<()>,
}

impl std::fmt::Debug for LocalHostOps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalHostOps").finish_non_exhaustive()
    }
}

impl LocalHostOps {
    pub(super) fn new(app: &App<'_>, queue: &TaskQueue, task_runtime: &TaskRuntime) -> Self {
        Self {
            store: Arc::clone(&queue.store),
            clones: task_runtime.clones.clone(),
            registry: Arc::clone(&app.registry),
            machine: app.machine.clone(),
            inputs: app.inputs.clone(),
            config: Arc::clone(&queue.config),
            notices: Arc::clone(&app.notices),
            console: *app.console,
            merging: Mutex::new(()),
        }
    }
}

impl HostOps for LocalHostOps {
    fn diff<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<String, HostOpsError>> {
        Box::pin(async move {
            let diff = task::diff(&*self.store, &self.clones, task).await;
            diff.map_err(to_host_error)
        })
    }

    fn merge<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<Value, HostOpsError>> {
        Box::pin(async move {
            let _guard = self.merging.lock().await;
            let merged = task::merge(&*self.store, &self.clones, task).await;
            // Errors from git describe the user's checkout, so they are shown to the user.
            merged.map_err(|error| HostOpsError::Refused(error.to_string()))
        })
    }

    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentCard>, HostOpsError>> {
        Box::pin(async move {
            let app = App {
                registry: Arc::clone(&self.registry),
                machine: self.machine.clone(),
                inputs: self.inputs.clone(),
                config: Ok(Arc::clone(&self.config)),
                console: &self.console,
                notices: Arc::clone(&self.notices),
            };
            let rows = agents::rows(&app).await.map_err(to_host_error)?;
            Ok(rows.into_iter().map(agents::AgentRow::into_card).collect())
        })
    }
}

fn to_host_error(error: CliError) -> HostOpsError {
    if error.is_usage() {
        HostOpsError::Refused(error.to_string())
    } else {
        HostOpsError::Internal(error.to_string())
    }
}
