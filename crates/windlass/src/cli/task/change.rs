//! `windlass task diff` and `windlass task merge`: show and merge a task's change.

use clap::Args;
use serde_json::json;
use windlass_core::escape_control;
use windlass_tasks::{Projects, Task, TaskId, TaskStatus, TaskStore};
use windlass_workspace::{self as workspace, Clones};

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::queue::TaskQueue;
use super::super::task_runtime::{TaskRuntime, test_settings};

#[derive(Debug, Args)]
pub(super) struct Diff {
    /// Task number
    id: TaskId,
}

#[derive(Debug, Args)]
pub(super) struct Merge {
    /// Task number
    id: TaskId,
    /// Dry run: print what would be merged
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Diff {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = TaskQueue::open(app).await?;
        let task = queue.store.task(self.id).await?;
        let task_runtime =
            TaskRuntime::for_store(app, &queue.url, test_settings(&queue.config)).await?;
        let diff = diff(&*queue.store, &task_runtime.clones, &task).await?;
        app.console.text(&diff)?;
        Ok(Exit::Done)
    }
}

/// Returns a task's change as a git diff.
pub(in super::super) async fn diff(
    store: &dyn TaskStore,
    clones: &Clones,
    task: &Task,
) -> Result<String, CliError> {
    let branch = branch(task)?;
    let proof = store.proof(task.id).await?;
    let root = store.project(task.project_id).await?.root;
    let (base, commit) = match &proof {
        Some(proof) => (Some(proof.base.as_str()), proof.commit.as_str()),
        None => (None, branch),
    };
    let diff = clones.diff(&root, base, commit).await;
    Ok(diff.map_err(windlass_core::Error::from)?)
}

/// Merges a task's branch, and returns the outcome as JSON.
pub(in super::super) async fn merge(
    store: &dyn Projects,
    clones: &Clones,
    task: &Task,
) -> Result<serde_json::Value, CliError> {
    let branch = branch(task)?;
    let root = store.project(task.project_id).await?.root;
    let merged = clones.merge(&root, branch).await;
    let merged = merged.map_err(windlass_core::Error::from)?;
    match not_merged(branch, &merged) {
        Some(why) => Err(CliError::usage(why)),
        None => Ok(as_json(&merged)),
    }
}

impl Merge {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = TaskQueue::open(app).await?;
        let task = queue.store.task(self.id).await?;
        let branch = branch(&task)?;
        let root = queue.store.project(task.project_id).await?.root;
        let task_runtime =
            TaskRuntime::for_store(app, &queue.url, test_settings(&queue.config)).await?;
        let merged = if self.dry_run {
            task_runtime.clones.preview(&root, branch).await
        } else {
            task_runtime.clones.merge(&root, branch).await
        };
        let merged = merged.map_err(windlass_core::Error::from)?;
        if self.json {
            app.console.pretty_json(&as_json(&merged))?;
        }
        report(app, branch, &merged, self.json)
    }
}

/// Prints the outcome of a merge, or returns an error if nothing was merged.
pub(in super::super) fn report(
    app: &App<'_>,
    branch: &str,
    merged: &workspace::MergeOutcome,
    quiet: bool,
) -> Result<Exit, CliError> {
    match merged {
        workspace::MergeOutcome::Merged(done) if !quiet => {
            let files = match done.files.join(", ") {
                files if files.is_empty() => "no files changed".to_owned(),
                files => files,
            };
            app.console.line(&escape_control(&format!(
                "merged {branch} into {}: {files}",
                done.into
            )))?;
            app.console.line(&format!("to undo it: {}", done.undo()))?;
            Ok(Exit::Done)
        }
        workspace::MergeOutcome::UpToDate if !quiet => {
            app.console.line("already up to date")?;
            Ok(Exit::Done)
        }
        merged => match not_merged(branch, merged) {
            Some(why) => Err(CliError::failed(why)),
            None => Ok(Exit::Done),
        },
    }
}

/// Returns the reason why nothing was merged, if nothing was.
fn not_merged(branch: &str, merged: &workspace::MergeOutcome) -> Option<String> {
    match merged {
        workspace::MergeOutcome::Conflicts(files) => Some(format!(
            "nothing was merged: conflicts in {}; run git merge {branch} to resolve them by hand",
            files.join(", ")
        )),
        workspace::MergeOutcome::WouldOverwrite(files) => Some(format!(
            "nothing was merged: your uncommitted edits in {} would be lost; commit or stash them first",
            files.join(", ")
        )),
        _ => None,
    }
}

fn as_json(merged: &workspace::MergeOutcome) -> serde_json::Value {
    match merged {
        workspace::MergeOutcome::Merged(done) => json!({
            "status": "merged",
            "into": done.into,
            "before": done.before,
            "after": done.after,
            "fast_forward": done.fast_forward,
            "files": done.files,
            "undo": done.undo(),
        }),
        workspace::MergeOutcome::Conflicts(files) => {
            json!({ "status": "conflicts", "files": files })
        }
        workspace::MergeOutcome::WouldOverwrite(files) => {
            json!({ "status": "overwrites", "files": files })
        }
        _ => json!({ "status": "nothing" }),
    }
}

/// Returns the branch with a task's change.
fn branch(task: &Task) -> Result<&str, CliError> {
    task.branch.as_deref().ok_or_else(|| {
        let why = match task.status {
            TaskStatus::Completed => "it changed nothing".to_owned(),
            status => format!("it is {status}"),
        };
        CliError::usage(format!("task {} has no change: {why}", task.id))
    })
}
