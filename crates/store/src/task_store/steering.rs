//! Steering of tasks and workers.

use windlass_tasks::{ProjectId, Steering, StoreFuture, Task, TaskEdit, TaskId, WorkerPause};

use super::write::{durable, operation, ready_error};
use crate::ops::steering;
use crate::store::SqlStore;
use crate::write_job::stages;

impl Steering for SqlStore {
    fn edit_task(&self, id: TaskId, edit: TaskEdit) -> StoreFuture<'_, Task> {
        let options = durable(stages!("editing a task"));
        self.write(
            options,
            operation!(|db, edit| steering::edit(db, id, &edit)),
        )
    }

    fn pause_task(&self, id: TaskId) -> StoreFuture<'_, Task> {
        let options = durable(stages!("pausing a task"));
        self.write(options, move |db| Box::pin(steering::pause(db, id, true)))
    }

    fn resume_task(&self, id: TaskId) -> StoreFuture<'_, Task> {
        let options = durable(stages!("resuming a task"));
        self.write(options, move |db| Box::pin(steering::pause(db, id, false)))
    }

    fn cancel_all(&self, project: Option<ProjectId>) -> StoreFuture<'_, Vec<Task>> {
        let options = durable(stages!("cancelling all tasks"));
        self.write(options, move |db| {
            Box::pin(steering::cancel_all(db, project))
        })
    }

    fn pause_workers(
        &self,
        project: Option<ProjectId>,
        reason: String,
    ) -> StoreFuture<'_, WorkerPause> {
        if let Err(error) = steering::check_reason(&reason) {
            return ready_error(error);
        }
        let options = durable(stages!("pausing the workers"));
        self.write(
            options,
            operation!(|db, reason| steering::pause_workers(db, project, &reason)),
        )
    }

    fn resume_workers(&self, project: Option<ProjectId>) -> StoreFuture<'_, bool> {
        let options = durable(stages!("resuming the workers"));
        self.write(options, move |db| {
            Box::pin(steering::resume_workers(db, project))
        })
    }

    fn worker_pauses(&self) -> StoreFuture<'_, Vec<WorkerPause>> {
        self.read("listing the pauses of workers", |db| {
            Box::pin(steering::worker_pauses(db))
        })
    }

    fn project_note(&self, project: ProjectId) -> StoreFuture<'_, String> {
        self.read("reading the note of a project", move |db| {
            Box::pin(steering::note(db, project))
        })
    }

    fn set_project_note(&self, project: ProjectId, note: String) -> StoreFuture<'_, ()> {
        if let Err(error) = steering::check_note(&note) {
            return ready_error(error);
        }
        let options = durable(stages!("setting the note of a project"));
        self.write(
            options,
            operation!(|db, note| steering::set_note(db, project, &note)),
        )
    }
}
