//! Steering: editing and pausing tasks, pausing workers, and the note for every agent of a project.

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::{ProjectId, TaskId};
use crate::task::{Task, WorkerKind};

/// The maximum size of a project's note, in bytes. Every prompt contains it.
pub const MAX_NOTE_BYTES: usize = 8 << 10;
/// The maximum size of the reason for a pause, in bytes.
pub const MAX_PAUSE_REASON_BYTES: usize = 1 << 10;

/// Changes to a task that is not running. A field that is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskEdit {
    /// The title.
    pub title: Option<String>,
    /// The full description.
    pub description: Option<String>,
    /// The priority, from 0 (first) to 4 (last).
    pub priority: Option<u8>,
    /// The workflow step, from 1 (first) to 15 (last).
    pub workflow_step: Option<u8>,
    /// The kind of worker.
    pub kind: Option<WorkerKind>,
    /// The agent. `Some(None)` selects the configured one.
    pub agent: Option<Option<String>>,
    /// All tasks that must be completed first. They replace the former ones.
    pub dependencies: Option<Vec<TaskId>>,
    /// The maximum number of attempts.
    pub max_attempts: Option<u32>,
    /// [`Task::updated_at`] as the editor saw it. The edit is refused if the task has changed since.
    pub expected: Option<Timestamp>,
}

impl TaskEdit {
    /// Returns `true` if the edit changes nothing.
    pub fn is_empty(&self) -> bool {
        *self
            == Self {
                expected: self.expected,
                ..Self::default()
            }
    }

    /// Changes the fields of a task, without those that need the store.
    pub fn apply(&self, task: &mut Task) {
        let edit = self.clone();
        set(&mut task.title, edit.title);
        set(&mut task.description, edit.description);
        set(&mut task.priority, edit.priority);
        set(&mut task.workflow_step, edit.workflow_step);
        set(&mut task.kind, edit.kind);
        if edit
            .agent
            .as_ref()
            .is_some_and(|agent| *agent != task.agent)
        {
            // They are those of the former agent.
            task.agent_settings = None;
        }
        set(&mut task.agent, edit.agent);
        set(&mut task.dependencies, edit.dependencies);
        set(&mut task.max_attempts, edit.max_attempts);
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// A pause of workers. They claim no task until it ends; running attempts continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerPause {
    /// The paused project. `None` means all projects.
    pub project_id: Option<ProjectId>,
    /// Why, for display. It may be empty.
    pub reason: String,
    /// When the pause began.
    pub since: Timestamp,
}
