//! Editing and pausing tasks, one or several together.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use windlass_core::Timestamp;
use windlass_tasks::{Scope, StoreResult, Task, TaskEdit, TaskId, WorkerKind};

use super::{Board, KindName};
use crate::access::Caller;
use crate::error::ApiError;

/// The maximum number of tasks in one request.
const MAX_BULK: usize = 500;

/// Changes to a task. A field that is missing stays as it is.
#[derive(Deserialize, ToSchema, JsonSchema)]
#[schema(as = TaskEdit)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditBody {
    /// What to do, in one line.
    #[schema(nullable = false)]
    title: Option<String>,
    /// Everything that the worker's agent must know.
    #[schema(nullable = false)]
    description: Option<String>,
    /// 0 is the highest priority, 4 the lowest.
    #[schema(nullable = false, maximum = 4)]
    #[schemars(range(max = 4))]
    priority: Option<u8>,
    /// The agent to use. `null` and the empty text select the configured one.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    #[schemars(with = "Option<String>")]
    agent: Option<Option<String>>,
    /// The kind of worker: backend, frontend or test.
    #[schema(nullable = false, value_type = Option<KindName>)]
    #[schemars(with = "Option<KindName>")]
    kind: Option<WorkerKind>,
    /// Among tasks of equal priority, lower steps run first.
    #[schema(nullable = false, minimum = 1, maximum = 15)]
    #[schemars(range(min = 1, max = 15))]
    workflow_step: Option<u8>,
    /// All tasks that must be completed first.
    #[schema(nullable = false, value_type = Option<Vec<i64>>)]
    #[schemars(with = "Option<Vec<i64>>")]
    dependencies: Option<Vec<TaskId>>,
    /// How often the task is attempted before it fails.
    #[schema(nullable = false, minimum = 1, maximum = 100)]
    #[schemars(range(min = 1, max = 100))]
    max_attempts: Option<u32>,
    /// `updated_at` of the task as it was read. The edit is refused if the task has changed since.
    #[schema(nullable = false)]
    updated_at: Option<u64>,
}

/// Reads a field that is present, `null` included.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl EditBody {
    fn edit(self) -> Result<TaskEdit, ApiError> {
        if self.priority.is_some_and(|priority| priority > 4) {
            return Err(ApiError::bad_request("priority must be 0 (highest) to 4"));
        }
        Ok(TaskEdit {
            title: self.title.map(|title| title.trim().to_owned()),
            description: self.description,
            priority: self.priority,
            workflow_step: self.workflow_step,
            kind: self.kind,
            agent: self
                .agent
                .map(|agent| agent.filter(|name| !name.is_empty())),
            dependencies: self.dependencies,
            max_attempts: self.max_attempts,
            expected: self.updated_at.map(Timestamp),
        })
    }
}

/// What is done to several tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BulkAction {
    Cancel,
    Retry,
    Pause,
    Resume,
    Priority,
}

/// One action on several tasks.
#[derive(Deserialize, ToSchema)]
#[schema(as = BulkRequest)]
#[serde(deny_unknown_fields)]
pub(crate) struct BulkBody {
    /// The tasks; at most 500.
    #[schema(value_type = Vec<i64>)]
    ids: Vec<TaskId>,
    /// What to do. `cancel` needs the scope `approve`.
    action: BulkAction,
    /// The new priority, for the action `priority`.
    #[schema(nullable = false, maximum = 4)]
    priority: Option<u8>,
}

impl BulkBody {
    /// Returns what is done to which tasks, for the audit log.
    pub(crate) fn summary(&self) -> String {
        let ids: Vec<String> = self.ids.iter().map(ToString::to_string).collect();
        let action = serde_json::to_value(self.action).unwrap_or_default();
        format!(
            "{} tasks {}",
            action.as_str().unwrap_or_default(),
            ids.join(",")
        )
    }
}

/// A task, and the task after the change or why nothing was done.
pub(crate) type BulkResult = (TaskId, Result<Task, String>);

impl Board {
    /// Edits a task that is not running.
    pub(crate) async fn edit(&self, id: TaskId, body: EditBody) -> Result<Task, ApiError> {
        Ok(self.store.edit_task(id, body.edit()?).await?)
    }

    /// Applies an action to several tasks, sequentially. One that cannot be changed does not stop the others.
    pub(crate) async fn bulk(
        &self,
        caller: &Caller,
        body: BulkBody,
    ) -> Result<Vec<BulkResult>, ApiError> {
        if body.action == BulkAction::Cancel {
            caller.require(Scope::Approve)?;
        }
        if body.ids.len() > MAX_BULK {
            let message = format!("{} ids; the limit is {MAX_BULK}", body.ids.len());
            return Err(ApiError::bad_request(message));
        }
        let has_priority = body.priority.is_some();
        if has_priority != (body.action == BulkAction::Priority) {
            let message = "priority belongs to the action \"priority\", which needs it";
            return Err(ApiError::bad_request(message));
        }
        if body.priority.is_some_and(|priority| priority > 4) {
            return Err(ApiError::bad_request("priority must be 0 (highest) to 4"));
        }
        let mut results = Vec::with_capacity(body.ids.len());
        for id in body.ids {
            let result = self.act(id, body.action, body.priority).await;
            let result = result.map_err(|error| ApiError::from(error).into_message());
            results.push((id, result));
        }
        Ok(results)
    }

    async fn act(&self, id: TaskId, action: BulkAction, priority: Option<u8>) -> StoreResult<Task> {
        match action {
            BulkAction::Cancel => self.store.cancel(id).await,
            BulkAction::Retry => self.store.retry(id, false).await,
            BulkAction::Pause => self.store.pause_task(id).await,
            BulkAction::Resume => self.store.resume_task(id).await,
            BulkAction::Priority => {
                let edit = TaskEdit {
                    priority,
                    ..TaskEdit::default()
                };
                self.store.edit_task(id, edit).await
            }
        }
    }
}
