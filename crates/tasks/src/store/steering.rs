//! Steering of tasks and workers.

use std::fmt;

use super::error::StoreFuture;
use crate::id::{ProjectId, TaskId};
use crate::steering::{TaskEdit, WorkerPause};
use crate::task::Task;

/// Edits and pauses tasks, pauses workers, and stores the note of a project.
pub trait Steering: fmt::Debug + Send + Sync {
    /// Edits a task that is not running. Cycles are rejected. [`Task::updated_at`] grows with each edit.
    fn edit_task(&self, id: TaskId, edit: TaskEdit) -> StoreFuture<'_, Task>;
    /// Pauses a task: it is not claimed. A running attempt continues. Pausing again has no effect.
    fn pause_task(&self, id: TaskId) -> StoreFuture<'_, Task>;
    /// Ends the pause of a task. One that is not paused stays as it is.
    fn resume_task(&self, id: TaskId) -> StoreFuture<'_, Task>;
    /// Cancels every task that has not ended, of one project or of all. Returns them.
    fn cancel_all(&self, project: Option<ProjectId>) -> StoreFuture<'_, Vec<Task>>;
    /// Pauses the workers of one project or of all: they claim no task, except one that a claim names. Pausing
    /// again replaces the reason.
    fn pause_workers(
        &self,
        project: Option<ProjectId>,
        reason: String,
    ) -> StoreFuture<'_, WorkerPause>;
    /// Ends a pause of workers. Returns `false` if they were not paused. A pause of all projects and one of a project
    /// are separate.
    fn resume_workers(&self, project: Option<ProjectId>) -> StoreFuture<'_, bool>;
    /// Returns the pauses of workers; that of all projects first, then by project.
    fn worker_pauses(&self) -> StoreFuture<'_, Vec<WorkerPause>>;
    /// Returns the note of a project. It may be empty.
    fn project_note(&self, project: ProjectId) -> StoreFuture<'_, String>;
    /// Sets the note of a project, which is part of every agent's prompt. An empty one removes it.
    fn set_project_note(&self, project: ProjectId, note: String) -> StoreFuture<'_, ()>;
}
