//! Host operations of the servers: diffs, merges, the agent list and prompts to agents, implemented with the code of
//! the CLI commands.

use std::path::Path;
use std::sync::{Arc, Once};

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::Mutex;
use windlass_agents::AgentContext;
use windlass_core::{
    AgentEvent, AgentHandle, AgentRegistry, DirAccess, Error, Prompt, SessionOptions, Usage,
};
use windlass_server::{AgentCard, AskAnswer, AskRequest, Evaluation, HostOps, HostOpsError};
use windlass_tasks::{AttemptNumber, Push, Task, TaskStore};
use windlass_workspace::Clones;

use super::app::App;
use super::console::Console;
use super::exit::CliError;
use super::queue::ProjectQueue;
use super::task_runtime::TaskRuntime;
use super::{agents, eval, task};
use crate::agent_catalog::AgentCatalog;
use crate::config::{Config, Inputs};

/// Host operations on this machine.
pub(super) struct LocalHostOps {
    store: Arc<dyn TaskStore>,
    clones: Clones,
    agents: AgentCatalog,
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
    pub(super) fn new(
        app: &App<'_>,
        queue: &ProjectQueue,
        task_runtime: &TaskRuntime,
        agents: AgentCatalog,
    ) -> Self {
        Self {
            store: Arc::clone(&queue.store),
            clones: task_runtime.clones.clone(),
            agents,
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
    fn diff<'a>(
        &'a self,
        task: &'a Task,
        attempt: Option<AttemptNumber>,
    ) -> BoxFuture<'a, Result<String, HostOpsError>> {
        Box::pin(async move {
            let diff = task::diff(&*self.store, &self.clones, task, attempt).await;
            diff.map_err(to_host_error)
        })
    }

    fn version_diff<'a>(
        &'a self,
        task: &'a Task,
        from: AttemptNumber,
        to: AttemptNumber,
    ) -> BoxFuture<'a, Result<String, HostOpsError>> {
        Box::pin(async move {
            let diff = task::version_diff(&*self.store, &self.clones, task, (from, to)).await;
            diff.map_err(to_host_error)
        })
    }

    fn merge<'a>(
        &'a self,
        task: &'a Task,
        by: &'a str,
    ) -> BoxFuture<'a, Result<Value, HostOpsError>> {
        Box::pin(async move {
            let _guard = self.merging.lock().await;
            let merged = task::merge(&*self.store, &self.clones, task, by).await;
            // Errors from git describe the user's checkout, so they are shown to the user.
            merged.map_err(|error| HostOpsError::Refused(error.to_string()))
        })
    }

    fn preview_merge<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<Value, HostOpsError>> {
        Box::pin(async move {
            let merged = task::preview_merge(&*self.store, &self.clones, task).await;
            merged.map_err(|error| HostOpsError::Refused(error.to_string()))
        })
    }

    fn push<'a>(
        &'a self,
        task: &'a Task,
        remote: Option<String>,
    ) -> BoxFuture<'a, Result<Push, HostOpsError>> {
        Box::pin(async move {
            let pushed = task::push(&self.store, &self.config.publish, task, remote).await;
            pushed.map_err(to_host_error)
        })
    }

    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentCard>, HostOpsError>> {
        Box::pin(async move {
            let app = App {
                registry: Arc::clone(&self.registry),
                machine: self.machine.clone(),
                bridge: None,
                inputs: self.inputs.clone(),
                config: Ok(Arc::clone(&self.config)),
                console: &self.console,
                notices: Arc::clone(&self.notices),
                telemetry: Arc::default(),
            };
            let rows = agents::rows(&app).await.map_err(to_host_error)?;
            Ok(rows.into_iter().map(agents::AgentRow::into_card).collect())
        })
    }

    fn evaluations(&self) -> BoxFuture<'_, Result<Vec<Evaluation>, HostOpsError>> {
        let state = self.inputs.state_dir();
        Box::pin(async move {
            let Some(state) = state else {
                return Ok(Vec::new());
            };
            let read = tokio::task::spawn_blocking(move || eval::saved_reports(&state)).await;
            read.map_err(|error| HostOpsError::Internal(error.to_string()))
        })
    }

    fn ask<'a>(
        &'a self,
        root: &'a Path,
        ask: AskRequest,
    ) -> BoxFuture<'a, Result<AskAnswer, HostOpsError>> {
        Box::pin(async move {
            let agent = self.agents.find(ask.agent.as_deref()).map_err(refused)?;
            let options = SessionOptions {
                model: agent.model.clone(),
                access: DirAccess::ReadOnly,
                once: true,
                ..SessionOptions::in_dir(root)
            };
            let prompt = Prompt {
                text: ask.prompt,
                timeout: Some(ask.timeout),
                ..Prompt::default()
            };
            // Its processes belong to this prompt, and end with it.
            let handle = self.agents.open(&agent).map_err(refused)?.scoped();
            let result = run_turn(&handle, options, prompt).await;
            handle.close().await;
            let (answer, usage) = result.map_err(|error| {
                HostOpsError::Refused(format!("the agent {} failed: {error}", agent.name))
            })?;
            Ok(AskAnswer {
                agent: agent.name,
                answer,
                usage,
            })
        })
    }
}

/// Runs one turn in a new session, and returns its answer.
async fn run_turn(
    handle: &AgentHandle,
    options: SessionOptions,
    prompt: Prompt,
) -> Result<(String, Option<Usage>), Error> {
    let session = handle.new_session(options).await?;
    let mut turn = handle.prompt(&session, prompt).await?;
    while let Some(event) = turn.recv().await {
        match event {
            AgentEvent::Result { text, usage, .. } => return Ok((text, usage)),
            AgentEvent::Error { code, message, .. } => return Err(Error::agent(code, message)),
            AgentEvent::SessionInvalid { reason } => return Err(Error::InvalidInput(reason)),
            _ => {}
        }
    }
    Err(Error::Cancelled)
}

fn refused(error: Error) -> HostOpsError {
    HostOpsError::Refused(error.to_string())
}

fn to_host_error(error: CliError) -> HostOpsError {
    if error.is_usage() {
        HostOpsError::Refused(error.to_string())
    } else {
        HostOpsError::Internal(error.to_string())
    }
}
