//! Steering of the tasks that a caller can see.

use windlass_tasks::{
    AgentMessage, ProjectId, RegisteredWorker, Schedule, StoreError, StoreResult, Task, TaskEdit,
    TaskId, WorkerId, WorkerPause,
};

use super::visible_store::VisibleStore;

impl VisibleStore {
    pub(crate) async fn edit_task(&self, id: TaskId, edit: TaskEdit) -> StoreResult<Task> {
        self.check_task(id).await?;
        for on in edit.dependencies.iter().flatten() {
            self.check_task(*on).await?;
        }
        self.store.edit_task(id, edit).await
    }

    pub(crate) async fn pause_task(&self, id: TaskId) -> StoreResult<Task> {
        self.check_task(id).await?;
        self.store.pause_task(id).await
    }

    pub(crate) async fn resume_task(&self, id: TaskId) -> StoreResult<Task> {
        self.check_task(id).await?;
        self.store.resume_task(id).await
    }

    pub(crate) async fn project_note(&self, project: ProjectId) -> StoreResult<String> {
        self.check_project(Some(project))?;
        self.store.project_note(project).await
    }

    pub(crate) async fn set_project_note(
        &self,
        project: ProjectId,
        note: String,
    ) -> StoreResult<()> {
        self.check_project(Some(project))?;
        self.store.set_project_note(project, note).await
    }

    /// Returns the pauses that concern the visible projects: their own, and that of all projects.
    /// Returns the workers that may run tasks of visible projects.
    pub(crate) async fn workers(&self) -> StoreResult<Vec<RegisteredWorker>> {
        let mut workers = self.store.workers().await?;
        workers.retain(|worker| worker.project_id.is_none_or(|project| self.sees(project)));
        Ok(workers)
    }

    /// Drains a worker that runs tasks of visible projects only.
    pub(crate) async fn drain_worker(&self, id: WorkerId) -> StoreResult<RegisteredWorker> {
        let workers = self.store.workers().await?;
        let found = workers.iter().find(|worker| worker.id == id);
        match found.map(|worker| worker.project_id) {
            Some(Some(project)) if self.sees(project) => {}
            Some(None) if self.sees_all() => {}
            _ => return Err(StoreError::not_found("worker", id)),
        }
        self.store.drain_worker(id).await
    }

    pub(crate) async fn worker_pauses(&self) -> StoreResult<Vec<WorkerPause>> {
        let mut pauses = self.store.worker_pauses().await?;
        pauses.retain(|pause| pause.project_id.is_none_or(|project| self.sees(project)));
        Ok(pauses)
    }

    pub(crate) async fn pause_workers(
        &self,
        project: Option<ProjectId>,
        reason: String,
    ) -> StoreResult<WorkerPause> {
        self.check_project(project)?;
        self.store.pause_workers(project, reason).await
    }

    pub(crate) async fn resume_workers(&self, project: Option<ProjectId>) -> StoreResult<bool> {
        self.check_project(project)?;
        self.store.resume_workers(project).await
    }

    pub(crate) async fn messages(&self, id: TaskId) -> StoreResult<Vec<AgentMessage>> {
        self.check_task(id).await?;
        self.store.messages(id).await
    }

    pub(crate) async fn send_message(
        &self,
        id: TaskId,
        author: String,
        text: String,
    ) -> StoreResult<AgentMessage> {
        let task = self.task(id).await?;
        if task.status.is_final() {
            return Err(StoreError::Refused(format!(
                "task {id} is {}: its agent receives no message; retry it first",
                task.status
            )));
        }
        self.store.send_message(id, author, text).await
    }

    pub(crate) async fn schedules(&self, project: Option<ProjectId>) -> StoreResult<Vec<Schedule>> {
        let mut schedules = self.store.schedules(project).await?;
        schedules.retain(|schedule| self.sees(schedule.project_id));
        Ok(schedules)
    }

    /// Fails unless the caller can see a project; `None` means all of them.
    fn check_project(&self, project: Option<ProjectId>) -> StoreResult<()> {
        match project {
            Some(id) if !self.sees(id) => Err(StoreError::not_found("project", id)),
            None if !self.sees_all() => Err(StoreError::Refused(
                "this token does not see all projects: name one".to_owned(),
            )),
            _ => Ok(()),
        }
    }
}
