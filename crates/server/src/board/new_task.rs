//! Adding tasks.

use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::ToSchema;
use windlass_tasks::{
    ATTEMPT_LIMIT, BestOf, Dependency, Enqueued, IssueId, MAX_ATTEMPTS, NewTask, ProjectId, TaskId,
    WorkerKind,
};

use super::Board;
use crate::error::ApiError;

/// The maximum length of an idempotency key.
const KEY_BYTES: usize = 255;

/// A task to add, as clients describe it.
#[derive(Deserialize, ToSchema, JsonSchema)]
#[schema(as = NewTask)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTaskBody {
    /// Default: the project of the directory in which the server was started.
    #[schema(nullable = false, value_type = Option<i64>)]
    #[schemars(with = "Option<i64>")]
    project_id: Option<ProjectId>,
    /// The issue of the project that the task belongs to: its goal is part of the prompt.
    #[schema(nullable = false, value_type = Option<i64>)]
    #[schemars(with = "Option<i64>")]
    issue_id: Option<IssueId>,
    /// What to do, in one line.
    title: String,
    /// Everything that the worker's agent must know.
    #[serde(default)]
    description: String,
    /// 0 is the highest priority, 4 the lowest; default 2.
    #[schema(nullable = false, maximum = 4)]
    #[schemars(range(max = 4))]
    priority: Option<u8>,
    /// The agent to use. Default: the configured one.
    #[schema(nullable = false)]
    agent: Option<String>,
    /// Labels that a worker must have to claim the task.
    #[serde(default)]
    needs: Vec<String>,
    /// The kind of worker: backend, frontend or test. Default: backend.
    #[schema(nullable = false, value_type = Option<KindName>)]
    #[schemars(with = "Option<KindName>")]
    kind: Option<WorkerKind>,
    /// Among tasks of equal priority, lower steps run first.
    #[schema(nullable = false, minimum = 1, maximum = 15)]
    #[schemars(range(min = 1, max = 15))]
    workflow_step: Option<u8>,
    /// Tasks that must be completed first.
    #[serde(default)]
    #[schema(value_type = Vec<i64>)]
    #[schemars(with = "Vec<i64>")]
    dependencies: Vec<TaskId>,
    /// How often the task is attempted before it fails; default 3.
    #[schema(nullable = false, minimum = 1, maximum = 100)]
    #[schemars(range(min = 1, max = 100))]
    max_attempts: Option<u32>,
    /// Adding again with the same key returns the existing task.
    #[schema(nullable = false, max_length = 255)]
    #[schemars(length(max = 255))]
    idempotency_key: Option<String>,
    /// Tests that the task is about: each of them must pass.
    #[serde(default)]
    tests: Vec<String>,
    /// The task is about the tests: it is not tested with the tests of the base.
    #[serde(default)]
    edits_tests: bool,
    /// Land the change on its target branch when it is proved.
    #[serde(default)]
    land: bool,
    /// The branch that the work is for. Default: the one that is checked out when an attempt starts.
    #[schema(nullable = false, min_length = 1, max_length = 200)]
    #[schemars(length(min = 1, max = 200))]
    target: Option<String>,
    /// Several agents do the task side by side, and the best change wins.
    #[schema(nullable = false)]
    best_of: Option<BestOfBody>,
}

/// Candidates of a task.
#[derive(Debug, Deserialize, ToSchema, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BestOfBody {
    /// The agents of the candidates: 2 to 8.
    agents: Vec<String>,
    /// Take the first change with a proof without warnings, and stop the others.
    #[serde(default)]
    first: bool,
    /// The agent that chooses among the changes with a proof.
    #[schema(nullable = false)]
    judge: Option<String>,
    /// What the judge should look at.
    #[schema(nullable = false)]
    rubric: Option<String>,
}

impl BestOfBody {
    fn best_of(self) -> BestOf {
        BestOf {
            agents: self.agents.into_iter().map(Some).collect(),
            first: self.first,
            judge: self.judge,
            rubric: self.rubric,
        }
    }
}

/// The names of [`WorkerKind`], for schemas.
#[derive(ToSchema, JsonSchema)]
#[schema(as = WorkerKind, rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum KindName {
    Backend,
    Frontend,
    Test,
}

impl NewTaskBody {
    /// Sets the idempotency key, unless the body has one.
    #[must_use]
    pub(crate) fn with_key(mut self, key: Option<String>) -> Self {
        self.idempotency_key = self.idempotency_key.or(key);
        self
    }

    fn task(self, project: Option<ProjectId>) -> Result<NewTask, ApiError> {
        let project = self.project_id.or(project);
        let project = project.ok_or_else(|| ApiError::bad_request("project_id is missing"))?;
        if self.title.trim().is_empty() {
            return Err(ApiError::bad_request("title must not be empty"));
        }
        let max_attempts = self.max_attempts.unwrap_or(MAX_ATTEMPTS);
        if !(1..=ATTEMPT_LIMIT).contains(&max_attempts) {
            return Err(ApiError::bad_request(format!(
                "max_attempts is {max_attempts}; it must be 1 to {ATTEMPT_LIMIT}"
            )));
        }
        if let Some(key) = &self.idempotency_key
            && (key.is_empty() || key.len() > KEY_BYTES)
        {
            return Err(ApiError::bad_request(format!(
                "the idempotency key must have 1 to {KEY_BYTES} bytes"
            )));
        }
        let defaults = NewTask::new(project, self.title.trim());
        Ok(NewTask {
            issue_id: self.issue_id,
            description: self.description,
            priority: self.priority.unwrap_or(defaults.priority),
            workflow_step: self.workflow_step.unwrap_or(defaults.workflow_step),
            dependencies: self
                .dependencies
                .into_iter()
                .map(Dependency::Task)
                .collect(),
            kind: self.kind.unwrap_or_default(),
            agent: self.agent.filter(|agent| !agent.is_empty()),
            needs: self.needs,
            idempotency_key: self.idempotency_key,
            max_attempts,
            tests: self.tests,
            edits_tests: self.edits_tests,
            land: self.land,
            best_of: self.best_of.map(BestOfBody::best_of),
            target: self.target.filter(|target| !target.is_empty()),
            ..defaults
        })
    }
}

impl Board {
    /// Adds a task; it is durable when this returns.
    pub(crate) async fn add(&self, body: NewTaskBody) -> Result<Enqueued, ApiError> {
        let task = body.task(self.project)?;
        let added = self.store.enqueue(task).await;
        added.map_err(ApiError::from_input_error)
    }
}
