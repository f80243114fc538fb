//! Landing of the tasks that a caller can see.

use windlass_tasks::{
    Landing, LandingFilter, ProjectId, StoreError, StoreResult, Task, TaskId, TaskStatus,
};

use super::visible_store::VisibleStore;

impl VisibleStore {
    /// Lets a task land when it is proved, or immediately if it is. A worker puts it into the queue of its branch.
    pub(crate) async fn set_land(&self, id: TaskId, land: bool) -> StoreResult<Task> {
        let task = self.task(id).await?;
        let problem = match task.status {
            _ if !land => None,
            TaskStatus::Completed if task.landed.is_some() => Some("has landed already"),
            TaskStatus::Completed if task.needs_review => {
                Some("has warnings in its proof: accept them first")
            }
            TaskStatus::Completed if task.unverified => Some("was not tested"),
            TaskStatus::Failed | TaskStatus::Cancelled => Some("has no change to land"),
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(StoreError::Refused(format!("task {id} {problem}")));
        }
        self.store.set_land(id, land).await
    }

    /// Forgets that a task has landed.
    pub(crate) async fn forget_landed(&self, id: TaskId) -> StoreResult<Task> {
        self.check_task(id).await?;
        self.store.forget_landed(id).await
    }

    /// Returns the landings of the visible projects.
    pub(crate) async fn landings(
        &self,
        project: Option<ProjectId>,
        task: Option<TaskId>,
        open: bool,
    ) -> StoreResult<Vec<Landing>> {
        let mut found = Vec::new();
        for project_id in self.queries(project) {
            let filter = LandingFilter {
                project_id,
                task,
                open,
            };
            found.extend(self.store.landings(filter).await?);
        }
        found.sort_by_key(|landing| landing.id);
        Ok(found)
    }
}
