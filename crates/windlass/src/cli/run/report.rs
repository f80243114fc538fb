//! The result of a run as JSON.

use serde::Serialize;
use serde_json::Value;
use windlass_runner::{Plan, ResultStatus, TaskResult};
use windlass_tasks::Task;

use crate::cli::app::App;
use crate::cli::exit::{CliError, Exit};
use crate::cli::queue::ProjectQueue;
use crate::cli::remote::root_of;
use crate::cli::task;
use crate::cli::task_runtime::TaskRuntime;

/// What `windlass run --apply --json` prints.
#[derive(Serialize)]
pub(super) struct RunReport<'a> {
    pub(super) plan: &'a Plan,
    pub(super) task: &'a Task,
    pub(super) result: &'a TaskResult,
    /// The result of the merge; `null` without a merge, or if the proof needs a review first.
    pub(super) merge: Option<Value>,
}

impl RunReport<'_> {
    /// Merges the change, if it is proved, and prints the report.
    pub(super) async fn finish(
        mut self,
        app: &App<'_>,
        queue: &ProjectQueue,
        task_runtime: &TaskRuntime,
    ) -> Result<Exit, CliError> {
        let is_completed = self.result.status == ResultStatus::Completed;
        let mut exit = super::exit(self.result.status);
        if task::review_needed(self.task).is_some() {
            exit = Exit::Blocked;
        } else if let Some(branch) = self.task.branch.as_deref().filter(|_| is_completed) {
            let root = root_of(&*queue.store, self.task).await?;
            let merged = task_runtime.clones.merge(&root, branch).await;
            let merged = merged.map_err(windlass_core::Error::from)?;
            if !task::is_merged(&merged) {
                exit = Exit::Failed;
            }
            self.merge = Some(task::merge_json(&merged));
        }
        app.console.value(&self)?;
        Ok(exit)
    }
}
