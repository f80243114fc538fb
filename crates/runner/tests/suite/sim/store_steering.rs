//! Steering of the in-memory store.

use windlass_core::Timestamp;
use windlass_tasks::{
    ProjectId, Steering, StoreError, StoreFuture, StoreResult, Task, TaskEdit, TaskId, TaskStatus,
    WorkerPause,
};

use super::memory::{Memory, Now};
use super::store::SimStore;

impl Steering for SimStore {
    fn edit_task(&self, id: TaskId, edit: TaskEdit) -> StoreFuture<'_, Task> {
        self.call(move |memory, now| {
            let task = &mut memory.row(id)?.task;
            if task.status == TaskStatus::InProgress {
                return Err(StoreError::Refused(format!("task {id} is running")));
            }
            if edit.expected.is_some_and(|seen| seen != task.updated_at) {
                return Err(StoreError::Refused(format!("task {id} has changed")));
            }
            edit.apply(task);
            task.updated_at = Timestamp(now.wall.0.max(task.updated_at.0 + 1));
            Ok(task.clone())
        })
    }

    fn pause_task(&self, id: TaskId) -> StoreFuture<'_, Task> {
        self.call(move |memory, now| set_paused(memory, id, true, now))
    }

    fn resume_task(&self, id: TaskId) -> StoreFuture<'_, Task> {
        self.call(move |memory, now| set_paused(memory, id, false, now))
    }

    fn cancel_all(&self, project: Option<ProjectId>) -> StoreFuture<'_, Vec<Task>> {
        self.call(move |memory, now| {
            let open = memory.rows.values().map(|row| &row.task);
            let open = open.filter(|task| !task.status.is_final());
            let open = open.filter(|task| project.is_none_or(|id| id == task.project_id));
            let open: Vec<TaskId> = open.map(|task| task.id).collect();
            open.into_iter().map(|id| memory.cancel(id, now)).collect()
        })
    }

    fn pause_workers(
        &self,
        project_id: Option<ProjectId>,
        reason: String,
    ) -> StoreFuture<'_, WorkerPause> {
        self.call(move |memory, now| {
            let pause = WorkerPause {
                project_id,
                reason,
                since: now.wall,
            };
            memory.pauses.insert(project_id, pause.clone());
            Ok(pause)
        })
    }

    fn resume_workers(&self, project: Option<ProjectId>) -> StoreFuture<'_, bool> {
        self.call(move |memory, _| Ok(memory.pauses.remove(&project).is_some()))
    }

    fn worker_pauses(&self) -> StoreFuture<'_, Vec<WorkerPause>> {
        self.call(|memory, _| Ok(memory.pauses.values().cloned().collect()))
    }

    fn project_note(&self, project: ProjectId) -> StoreFuture<'_, String> {
        self.call(move |memory, _| Ok(memory.notes.get(&project).cloned().unwrap_or_default()))
    }

    fn set_project_note(&self, project: ProjectId, note: String) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            memory.notes.insert(project, note);
            Ok(())
        })
    }
}

fn set_paused(memory: &mut Memory, id: TaskId, paused: bool, now: Now) -> StoreResult<Task> {
    let task = &mut memory.row(id)?.task;
    task.paused = paused && !task.status.is_final();
    task.updated_at = now.wall;
    Ok(task.clone())
}
