//! `windlass task push`: pushes a task's branch to a remote.

use std::sync::Arc;

use clap::Args;
use windlass_core::escape_line;
use windlass_tasks::{NewPush, Push, PushState, Task, TaskId, TaskStore};

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::publish::Publisher;
use super::super::queue::ProjectQueue;
use super::super::remote::root_of;
use super::change::branch;
use crate::config::PublishSettings;

/// The remote that is used if none is configured.
const DEFAULT_REMOTE: &str = "origin";

#[derive(Debug, Args)]
pub(super) struct PushArgs {
    /// Task number
    id: TaskId,
    /// Git remote to push to (default: publish.remote, else origin)
    #[arg(long, value_name = "NAME")]
    remote: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl PushArgs {
    /// Pushes with the user's own git and credentials. What is on the remote is replaced only if it was pushed from
    /// here.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let task = queue.store.task(self.id).await?;
        let push = push(&queue.store, &queue.config.publish, &task, self.remote).await?;
        if self.json {
            app.console.pretty_json(&push)?;
        }
        report(app, &task, &push, self.json)
    }
}

/// Pushes a task's branch now, and returns its state.
pub(in super::super) async fn push(
    store: &Arc<dyn TaskStore>,
    settings: &PublishSettings,
    task: &Task,
    remote: Option<String>,
) -> Result<Push, CliError> {
    // Another machine may have the branch.
    root_of(&**store, task).await?;
    let remote = remote.or_else(|| settings.remote.clone());
    let push = NewPush {
        task_id: task.id,
        remote: remote.unwrap_or_else(|| DEFAULT_REMOTE.to_owned()),
        reference: format!("refs/heads/{}", branch(task)?),
    };
    let push = store.request_push(push).await?;
    let publisher = Publisher::new(Arc::clone(store), settings.command.clone());
    Ok(publisher.run_now(&push).await?)
}

/// Prints what was pushed, or returns the reason why nothing was.
fn report(app: &App<'_>, task: &Task, push: &Push, quiet: bool) -> Result<Exit, CliError> {
    if push.state != PushState::Pushed {
        let why = push.error.clone().unwrap_or_default();
        return Err(CliError::failed(why));
    }
    if quiet {
        return Ok(Exit::Done);
    }
    let branch = task.branch.as_deref().unwrap_or_default();
    let commit: String = push
        .commit
        .iter()
        .flat_map(|id| id.chars())
        .take(10)
        .collect();
    let line = format!("pushed {branch} to {} at {commit}", push.remote);
    app.console.line(&escape_line(&line))?;
    if let Some(request) = &push.request {
        app.console
            .line(&escape_line(&format!("pull request: {request}")))?;
    }
    Ok(Exit::Done)
}
