//! Tools for tasks: list, show, wait, add, retry, cancel.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::escape_line;
use windlass_tasks::{ProjectId, Scope, Task, TaskId, TaskStatus};

use super::super::operation::{Effect, McpOperation, ToolReply, record};
use super::super::paging;
use super::super::resources;
use crate::board::{Board, NewTaskBody, TaskSelection, WaitOutcome};
use crate::error::ApiError;

/// The maximum number of attempts that are shown, the newest ones.
const MAX_ATTEMPTS_SHOWN: usize = 10;
/// How long to wait if the client sets no time. Many clients stop waiting after a minute.
const DEFAULT_WAIT_SECS: u64 = 45;
/// The longest time to wait.
const MAX_WAIT_SECS: u64 = 600;

/// The names of [`TaskStatus`], for schemas.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum StatusName {
    Pending,
    InProgress,
    Completed,
    Failed,
    Blocked,
    Cancelled,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListTasks {
    /// Only tasks with one of these statuses. Default: all.
    #[serde(default)]
    #[schemars(with = "Vec<StatusName>")]
    status: Vec<TaskStatus>,
    /// Only tasks of this project. Default: the project of the server.
    #[schemars(with = "Option<i64>")]
    project_id: Option<ProjectId>,
    /// List the tasks of all projects that you can see.
    #[serde(default)]
    all_projects: bool,
    /// The number of tasks per page; default 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
    /// The next_cursor of the previous page.
    cursor: Option<String>,
}

impl McpOperation for ListTasks {
    const NAME: &'static str = "list_tasks";
    const TITLE: &'static str = "List tasks";
    const DESCRIPTION: &'static str =
        "Lists tasks with their status, oldest first. show_task has the details of one.";
    const NEEDS: &'static [Scope] = &[Scope::Read];
    const EFFECT: Effect = Effect::Reads;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let limit = paging::limit(self.limit);
        let project = match (self.project_id, self.all_projects) {
            (None, false) => board.default_project().await?,
            (project, _) => project,
        };
        let selection = TaskSelection {
            project,
            statuses: self.status,
            after: paging::parse_cursor(self.cursor.as_deref())?,
            // One more shows whether there is another page.
            limit: Some(limit + 1),
        };
        let mut tasks = board.tasks(selection).await?;
        let next = paging::cut(&mut tasks, limit, |task| task.id);
        let mut text = match tasks.len() {
            0 => "no tasks".to_owned(),
            1 => "1 task".to_owned(),
            count => format!("{count} tasks"),
        };
        for task in &tasks {
            text.push('\n');
            text.push_str(&line(task));
        }
        let items: Result<Vec<Value>, ApiError> = tasks.iter().map(summary).collect();
        Ok(ToolReply::new(
            text,
            paging::with_cursor(json!({ "tasks": items? }), next),
        ))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowTask {
    /// The number of the task.
    #[schemars(with = "i64")]
    id: TaskId,
}

impl McpOperation for ShowTask {
    const NAME: &'static str = "show_task";
    const TITLE: &'static str = "Show a task";
    const DESCRIPTION: &'static str = "Returns a task with its attempts, open questions, permission requests and proof. \
        Its log, diff and trace are resources.";
    const NEEDS: &'static [Scope] = &[Scope::Read];
    const EFFECT: Effect = Effect::Reads;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let found = board.task_with_requests(self.id).await?;
        let mut attempts = board.store.attempts(self.id).await?;
        let omitted = attempts.len().saturating_sub(MAX_ATTEMPTS_SHOWN);
        attempts.drain(..omitted);
        let proof = board.store.proof(self.id).await?;
        let mut text = outcome_text(&found);
        if let Some(proof) = &proof {
            let counts = proof.counts;
            text.push_str(&format!(
                "\nproof: {} passed, {} failed at commit {}",
                counts.passed, counts.failed, proof.commit
            ));
        }
        let mut data = outcome_data(&found)?;
        data["attempts"] = record(&attempts)?;
        data["proof"] = record(&proof)?;
        data["resources"] = json!(resources::uris(&found.task));
        Ok(ToolReply::new(text, data))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitForTask {
    /// The number of the task.
    #[schemars(with = "i64")]
    id: TaskId,
    /// How long to wait, in seconds; default 45. Call it again if the task is not done.
    #[schemars(range(min = 0, max = 600))]
    timeout_secs: Option<u64>,
}

impl McpOperation for WaitForTask {
    const NAME: &'static str = "wait_for_task";
    const TITLE: &'static str = "Wait for a task";
    const DESCRIPTION: &'static str = "Waits until a task is completed, failed or cancelled, or until it needs a person: \
        an answer or a permission. A worker must be running (windlass worker or windlass serve).";
    const NEEDS: &'static [Scope] = &[Scope::Read];
    const EFFECT: Effect = Effect::Reads;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let seconds = self.timeout_secs.unwrap_or(DEFAULT_WAIT_SECS);
        let timeout = Duration::from_secs(seconds.min(MAX_WAIT_SECS));
        let found = board.wait(self.id, timeout).await?;
        Ok(ToolReply::new(outcome_text(&found), outcome_data(&found)?))
    }
}

/// Adds a task.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct AddTask(NewTaskBody);

impl McpOperation for AddTask {
    const NAME: &'static str = "add_task";
    const TITLE: &'static str = "Add a task";
    const DESCRIPTION: &'static str = "Adds a task to the queue. A worker's agent does it in a private clone and proves it \
        with the project's tests; the change stays on its own branch until it is merged.";
    const NEEDS: &'static [Scope] = &[Scope::Work];
    const EFFECT: Effect = Effect::Adds;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let added = board.add(self.0).await?;
        let text = if added.fresh {
            format!("added {}", line(&added.task))
        } else {
            format!("exists with this key: {}", line(&added.task))
        };
        let data = json!({ "task": record(&added.task)?, "added": added.fresh });
        Ok(ToolReply::new(text, data))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RetryTask {
    /// The number of the task, which has ended or is blocked.
    #[schemars(with = "i64")]
    id: TaskId,
    /// Whether the next attempt starts from the current commit, not from the change of the last attempt.
    #[serde(default)]
    fresh: bool,
    /// Retries the task although its change has landed.
    #[serde(default)]
    landed: bool,
}

impl McpOperation for RetryTask {
    const NAME: &'static str = "retry_task";
    const TITLE: &'static str = "Retry a task";
    const DESCRIPTION: &'static str = "Puts a task that has ended or is blocked into the queue again, with a fresh limit of attempts.";
    const NEEDS: &'static [Scope] = &[Scope::Work];
    const EFFECT: Effect = Effect::Adds;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        if self.landed {
            board.store.forget_landed(self.id).await?;
        }
        changed(&board.store.retry(self.id, self.fresh).await?)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelTask {
    /// The number of the task.
    #[schemars(with = "i64")]
    id: TaskId,
}

impl McpOperation for CancelTask {
    const NAME: &'static str = "cancel_task";
    const TITLE: &'static str = "Cancel a task";
    const DESCRIPTION: &'static str =
        "Cancels a task. A running attempt is stopped, and its work is lost.";
    const NEEDS: &'static [Scope] = &[Scope::Approve];
    const EFFECT: Effect = Effect::Replaces;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        changed(&board.store.cancel(self.id).await?)
    }
}

/// Returns the reply of a tool that changed a task.
pub(super) fn changed(task: &Task) -> Result<ToolReply, ApiError> {
    Ok(ToolReply::new(line(task), json!({ "task": record(task)? })))
}

/// Returns a task as one line.
pub(super) fn line(task: &Task) -> String {
    let title = escape_line(&task.title);
    format!("task {} is {}: {title}", task.id, task.status)
}

/// Returns the fields of a task that a list shows.
fn summary(task: &Task) -> Result<Value, ApiError> {
    record(&json!({
        "id": task.id,
        "project_id": task.project_id,
        "title": task.title,
        "status": task.status,
        "priority": task.priority,
        "agent": task.agent,
        "dependencies": task.dependencies,
        "attempt": task.attempt,
        "branch": task.branch,
        "unverified": task.unverified,
        "updated_at": task.updated_at,
    }))
}

fn outcome_text(found: &WaitOutcome) -> String {
    let mut text = line(&found.task);
    if let Some(output) = &found.task.output {
        text.push('\n');
        text.push_str(output);
    }
    for blocker in &found.blockers {
        text.push_str(&format!("\nquestion {}: {}", blocker.id, blocker.question));
    }
    for approval in &found.approvals {
        let tool = &approval.request.tool;
        text.push_str(&format!("\npermission request {}: {tool}", approval.id));
    }
    text
}

fn outcome_data(found: &WaitOutcome) -> Result<Value, ApiError> {
    Ok(json!({
        "task": record(&found.task)?,
        "done": found.is_final(),
        "needs_person": found.needs_person(),
        "blockers": record(&found.blockers)?,
        "approvals": record(&found.approvals)?,
    }))
}
