//! Lists of tasks.

use windlass_tasks::{ProjectId, Task, TaskFilter, TaskId, TaskStatus};

use super::Board;
use crate::error::ApiError;

/// Which tasks to list.
#[derive(Debug, Default)]
pub(crate) struct TaskSelection {
    /// Only tasks of this project.
    pub(crate) project: Option<ProjectId>,
    /// Only tasks with one of these statuses; none means all.
    pub(crate) statuses: Vec<TaskStatus>,
    /// Only tasks with a higher id.
    pub(crate) after: Option<TaskId>,
    /// The maximum number of tasks.
    pub(crate) limit: Option<u32>,
}

impl Board {
    /// Returns tasks in the order of their ids.
    pub(crate) async fn tasks(&self, selection: TaskSelection) -> Result<Vec<Task>, ApiError> {
        let filter = TaskFilter {
            project_id: selection.project,
            after: selection.after,
            limit: selection.limit.unwrap_or(0),
            ..TaskFilter::default()
        };
        let mut queries: Vec<Option<TaskStatus>> = Vec::new();
        for status in selection.statuses {
            if !queries.contains(&Some(status)) {
                queries.push(Some(status));
            }
        }
        if queries.is_empty() {
            queries.push(None);
        }
        let mut tasks = Vec::new();
        for status in queries {
            let filter = TaskFilter {
                status,
                ..filter.clone()
            };
            tasks.extend(self.store.tasks(filter).await?);
        }
        tasks.sort_by_key(|task| task.id);
        if let Some(limit) = selection.limit {
            tasks.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        Ok(tasks)
    }
}
