//! The part of the store that a caller can see: its projects. Everything else does not exist for it.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::TraceNode;
use windlass_tasks::{
    Approval, ApprovalId, Attempt, Blocker, BlockerId, Correction, Dependency, Enqueued,
    EventFilter, LoggedEvent, NewReview, NewTask, Project, ProjectId, Proof, Push, Review,
    StoreError, StoreResult, Task, TaskFilter, TaskId, TaskStore, TestResult,
};

use crate::candidates::{CandidateRow, candidate_rows};

/// The maximum number of tasks or events per page, as in the store.
const MAX_PAGE: u32 = 1_000;

/// The store, as a caller sees it.
#[derive(Debug, Clone)]
pub(crate) struct VisibleStore {
    pub(super) store: Arc<dyn TaskStore>,
    /// The visible projects; `None` means all.
    projects: Option<Vec<ProjectId>>,
}

impl VisibleStore {
    /// Returns the part of a store that belongs to these projects; `None` means all.
    pub(crate) fn new(store: Arc<dyn TaskStore>, projects: Option<Vec<ProjectId>>) -> Self {
        Self { store, projects }
    }

    /// Returns `true` if the caller sees all projects.
    pub(super) fn sees_all(&self) -> bool {
        self.projects.is_none()
    }

    pub(super) fn sees(&self, project: ProjectId) -> bool {
        let projects = self.projects.as_ref();
        projects.is_none_or(|projects| projects.contains(&project))
    }

    /// Returns the projects to query for a requested one, or for all. `None` is one query for everything.
    pub(super) fn queries(&self, requested: Option<ProjectId>) -> Vec<Option<ProjectId>> {
        match (requested, &self.projects) {
            (Some(project), _) if self.sees(project) => vec![Some(project)],
            (Some(_), _) => Vec::new(),
            (None, None) => vec![None],
            (None, Some(projects)) => projects.iter().copied().map(Some).collect(),
        }
    }

    /// Returns `true` if the caller can see a task.
    async fn sees_task(&self, id: TaskId) -> StoreResult<bool> {
        match self.check_task(id).await {
            Ok(()) => Ok(true),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Fails unless the caller can see a task. One that sees all projects gets the error of the next operation.
    pub(super) async fn check_task(&self, id: TaskId) -> StoreResult<()> {
        if self.projects.is_some() {
            self.task(id).await?;
        }
        Ok(())
    }

    pub(crate) async fn projects(&self) -> StoreResult<Vec<Project>> {
        let mut projects = self.store.projects().await?;
        projects.retain(|project| self.sees(project.id));
        Ok(projects)
    }

    pub(crate) async fn task(&self, id: TaskId) -> StoreResult<Task> {
        let task = self.store.task(id).await?;
        if self.sees(task.project_id) {
            Ok(task)
        } else {
            Err(StoreError::not_found("task", id))
        }
    }

    /// Returns a page of tasks, by id.
    pub(crate) async fn tasks(&self, filter: TaskFilter) -> StoreResult<Vec<Task>> {
        let mut tasks = Vec::new();
        for project_id in self.queries(filter.project_id) {
            let filter = TaskFilter {
                project_id,
                ..filter.clone()
            };
            tasks.extend(self.store.tasks(filter).await?);
        }
        tasks.sort_by_key(|task| task.id);
        tasks.truncate(page_size(filter.limit));
        Ok(tasks)
    }

    pub(crate) async fn enqueue(&self, new: NewTask) -> StoreResult<Enqueued> {
        if !self.sees(new.project_id) {
            return Err(StoreError::not_found("project", new.project_id));
        }
        for dependency in &new.dependencies {
            if let Dependency::Task(id) = dependency {
                self.check_task(*id).await?;
            }
        }
        if let Some(id) = new.issue_id {
            let issue = self.store.issue(id).await?;
            if !self.sees(issue.project_id) {
                return Err(StoreError::not_found("issue", id));
            }
        }
        let added = match self.store.enqueue(vec![new]).await {
            // The other task may be one that the caller cannot see.
            Err(StoreError::IdempotencyConflict { key, task }) => {
                return Err(if self.sees_task(task).await? {
                    StoreError::IdempotencyConflict { key, task }
                } else {
                    StoreError::Refused("the idempotency key is in use: use a new one".to_owned())
                });
            }
            added => added?,
        };
        let added = added.into_iter().next();
        added.ok_or_else(|| StoreError::Unavailable("the store returned no task".to_owned()))
    }

    pub(crate) async fn cancel(&self, id: TaskId) -> StoreResult<Task> {
        self.check_task(id).await?;
        self.store.cancel(id).await
    }

    pub(crate) async fn retry(&self, id: TaskId, fresh: bool) -> StoreResult<Task> {
        self.check_task(id).await?;
        self.store.retry(id, fresh).await
    }

    pub(crate) async fn accept(&self, id: TaskId) -> StoreResult<Task> {
        self.check_task(id).await?;
        self.store.accept(id).await
    }

    pub(crate) async fn pushes(&self, id: TaskId) -> StoreResult<Vec<Push>> {
        self.task(id).await?;
        self.store.pushes(id).await
    }

    pub(crate) async fn candidates(&self, id: TaskId) -> StoreResult<Vec<CandidateRow>> {
        self.task(id).await?;
        candidate_rows(&*self.store, id).await
    }

    pub(crate) async fn attempts(&self, id: TaskId) -> StoreResult<Vec<Attempt>> {
        self.check_task(id).await?;
        self.store.attempts(id).await
    }

    pub(crate) async fn test_results(&self, id: TaskId) -> StoreResult<Vec<(u32, TestResult)>> {
        self.check_task(id).await?;
        self.store.test_results(id).await
    }

    pub(crate) async fn corrections(&self, id: TaskId) -> StoreResult<Vec<(u32, Correction)>> {
        self.check_task(id).await?;
        self.store.corrections(id).await
    }

    pub(crate) async fn proof(&self, id: TaskId) -> StoreResult<Option<Proof>> {
        self.task(id).await?;
        self.store.proof(id).await
    }

    pub(crate) async fn task_blockers(&self, id: TaskId) -> StoreResult<Vec<Blocker>> {
        self.task(id).await?;
        self.store.task_blockers(id).await
    }

    pub(crate) async fn reviews(&self, id: TaskId) -> StoreResult<Vec<Review>> {
        self.check_task(id).await?;
        self.store.reviews(id).await
    }

    pub(crate) async fn add_review(&self, review: NewReview) -> StoreResult<(Review, Task)> {
        self.check_task(review.task_id).await?;
        self.store.add_review(review).await
    }

    /// Returns a page of events, by sequence number.
    pub(crate) async fn events(&self, filter: EventFilter) -> StoreResult<Vec<LoggedEvent>> {
        let mut events = Vec::new();
        for project_id in self.queries(filter.project_id) {
            let filter = EventFilter {
                project_id,
                ..filter.clone()
            };
            events.extend(self.store.events(filter).await?);
        }
        events.sort_by_key(|event| event.seq);
        let surplus = events.len().saturating_sub(page_size(filter.limit));
        if filter.before.is_some() {
            events.drain(..surplus);
        } else {
            events.truncate(events.len() - surplus);
        }
        Ok(events)
    }

    /// Waits until there are events after this number, of any project, and returns the number of the last one.
    pub(crate) async fn wait_for_events(&self, after: u64, timeout: Duration) -> StoreResult<u64> {
        self.store.wait_for_events(after, timeout).await
    }

    pub(crate) async fn blockers(
        &self,
        project: Option<ProjectId>,
        open: bool,
    ) -> StoreResult<Vec<Blocker>> {
        let mut blockers = Vec::new();
        for project in self.queries(project) {
            blockers.extend(self.store.blockers(project, open).await?);
        }
        blockers.sort_by_key(|blocker| blocker.id);
        Ok(blockers)
    }

    pub(crate) async fn answer_blocker(&self, id: BlockerId, text: String) -> StoreResult<Task> {
        if self.projects.is_some() {
            let visible = self.blockers(None, false).await?;
            if !visible.iter().any(|blocker| blocker.id == id) {
                return Err(StoreError::not_found("blocker", id));
            }
        }
        self.store.answer_blocker(id, text).await
    }

    pub(crate) async fn approvals(&self, open: bool) -> StoreResult<Vec<Approval>> {
        let approvals = self.store.approvals(open).await?;
        let mut visible = Vec::new();
        for approval in approvals {
            if self.sees_task(approval.request.attempt.task).await? {
                visible.push(approval);
            }
        }
        Ok(visible)
    }

    pub(crate) async fn approval(&self, id: ApprovalId) -> StoreResult<Approval> {
        let approval = self.store.approval(id).await?;
        if self.sees_task(approval.request.attempt.task).await? {
            Ok(approval)
        } else {
            Err(StoreError::not_found("permission request", id))
        }
    }

    pub(crate) async fn decide_approval(
        &self,
        id: ApprovalId,
        option: String,
    ) -> StoreResult<Approval> {
        self.approval(id).await?;
        self.store.decide_approval(id, Some(option)).await
    }

    /// Returns a trace. One that belongs to no task is visible only to callers that see all projects.
    pub(crate) async fn trace(&self, id: String) -> StoreResult<TraceNode> {
        if !self.sees_trace(&id).await? {
            return Err(StoreError::not_found("trace", id));
        }
        self.store.trace(id).await
    }

    /// Returns the ids of the newest traces.
    pub(crate) async fn traces(
        &self,
        task: Option<TaskId>,
        limit: u32,
    ) -> StoreResult<Vec<String>> {
        if self.projects.is_none() {
            return self.store.traces(task, limit).await;
        }
        if let Some(task) = task {
            self.task(task).await?;
            return self.store.traces(Some(task), limit).await;
        }
        let mut visible = Vec::new();
        for id in self.store.traces(None, MAX_PAGE).await? {
            if visible.len() < limit as usize && self.sees_trace(&id).await? {
                visible.push(id);
            }
        }
        Ok(visible)
    }

    async fn sees_trace(&self, id: &str) -> StoreResult<bool> {
        match task_of_trace(id) {
            Some(task) => self.sees_task(task).await,
            None => Ok(self.projects.is_none()),
        }
    }
}

/// Returns the task in the id of an attempt's trace.
pub fn task_of_trace(id: &str) -> Option<TaskId> {
    id.strip_prefix("task-")?.split('-').next()?.parse().ok()
}

fn page_size(limit: u32) -> usize {
    let limit = if limit == 0 { MAX_PAGE } else { limit };
    usize::try_from(limit.min(MAX_PAGE)).unwrap_or(usize::MAX)
}
