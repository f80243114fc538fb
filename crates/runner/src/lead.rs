//! Turns a goal into tasks, and runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{FuturesUnordered, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use windlass_core::{AgentHandle, ErrorCode};
use windlass_tasks::{
    Dependency, IssueId, NewTask, ProjectId, Task, TaskId, TaskStatus, WorkerKind,
};

use crate::attempt::{call, note_section, retry_transient};
use crate::plan::structured_call;
use crate::template::render;
use crate::{AgentPoolManager, Error, PlanError, PlanOptions, Runner, StopSignals, TaskResult};

/// Maximum number of tasks per goal.
pub const MAX_TASKS: usize = 50;

/// Plans with one agent, and runs the tasks with the agents they are for.
#[derive(Debug, Clone)]
pub struct LeadAgent {
    /// Runs each task.
    pub runner: Arc<Runner>,
    /// Limits the number of concurrent attempts.
    pub pool: AgentPoolManager,
    /// The agent that plans.
    pub planner: AgentHandle,
    /// Options of the plan request.
    pub options: PlanOptions,
}

/// The project and issue that the tasks of a goal belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoalParent {
    /// The project.
    pub project_id: ProjectId,
    /// The issue, if any.
    pub issue_id: Option<IssueId>,
}

impl LeadAgent {
    /// Turns a goal into tasks with priorities, steps and dependencies. Nothing is stored yet.
    pub async fn plan(&self, goal: &str, parent: GoalParent) -> Result<Vec<NewTask>, PlanError> {
        let note = self.note(parent).await?;
        let prompt = render(
            include_str!("prompts/lead.md"),
            &[("goal", goal), ("note", &note)],
        );
        let options = self.options.clone().for_plan();
        let task = call(&self.planner, "lead", prompt, schema());
        let value = structured_call(&self.planner, task, options).await?;
        let invalid = |problem: String| PlanError::Invalid {
            problem,
            answer: crate::template::truncate_end(&value.to_string(), 2000),
        };
        let planned: Planned =
            serde_json::from_value(value.clone()).map_err(|error| invalid(error.to_string()))?;
        tasks(planned.tasks, parent).map_err(invalid)
    }

    /// Returns the note of the project, as a section of the prompt.
    async fn note(&self, parent: GoalParent) -> Result<String, PlanError> {
        let runner = &self.runner;
        let read = || runner.store.project_note(parent.project_id);
        match retry_transient(&*runner.clock, read).await {
            Ok(note) => Ok(note_section(&note)),
            Err(error) => {
                let error = error.to_string();
                Err(windlass_core::Error::agent(ErrorCode::BackendError, error).into())
            }
        }
    }

    /// Stores the tasks, all or none, and runs them as their dependencies allow, several concurrently, until
    /// no task is left that could run. Returns the final state of each task.
    ///
    /// Other workers may claim some of the tasks in the meantime. Once `stop` is cancelled, no further task
    /// is started, and running tasks get the grace period of the settings.
    pub async fn run(
        &self,
        tasks: Vec<NewTask>,
        stop: CancellationToken,
    ) -> Result<Vec<Task>, Error> {
        let added = self.runner.store.enqueue(tasks).await?;
        let ids: Vec<TaskId> = added.iter().map(|added| added.task.id).collect();
        self.run_stored(&ids, stop).await
    }

    /// Like [`run`](Self::run), for tasks that are already in the store.
    pub async fn run_stored(
        &self,
        ids: &[TaskId],
        stop: CancellationToken,
    ) -> Result<Vec<Task>, Error> {
        let mut running = FuturesUnordered::new();
        let mut started = BTreeSet::new();
        let mut seen = 0;
        loop {
            let tasks = self.reload(ids).await?;
            if !stop.is_cancelled() {
                for task in ready(&tasks) {
                    if started.insert(task.id) {
                        running.push(self.run_one(task.clone(), stop.clone()));
                    }
                }
            }
            let others_running = tasks
                .iter()
                .any(|task| task.status == TaskStatus::InProgress && !started.contains(&task.id));
            if running.is_empty() && (!others_running || stop.is_cancelled()) {
                return Ok(tasks);
            }
            let interval = self.runner.settings.sweep;
            tokio::select! {
                biased;
                Some((id, result)) = running.next() => {
                    started.remove(&id);
                    if let Some(Err(error)) = result {
                        tracing::debug!(task = id.get(), %error, "not claimed");
                    }
                }
                last = self.runner.store.wait_for_events(seen, interval) => {
                    seen = last.unwrap_or(seen);
                    // Reclaims tasks of other workers after their leases expired.
                    let _ = self.runner.store.reclaim_expired().await;
                    self.runner.clock.sleep(interval / 100).await;
                }
            }
        }
    }

    async fn run_one(
        &self,
        task: Task,
        stop: CancellationToken,
    ) -> (TaskId, Option<Result<TaskResult, Error>>) {
        let _slot = self.pool.acquire().await;
        if stop.is_cancelled() {
            return (task.id, None);
        }
        let signals = StopSignals {
            stop,
            ..StopSignals::default()
        };
        let result = self.runner.execute_task(&task, signals).await;
        if result.is_err() {
            // Another worker has the task, or the store has a problem: an immediate retry helps in neither
            // case.
            let pause = self.runner.settings.sweep / 5;
            self.runner.clock.sleep(pause).await;
        }
        (task.id, Some(result))
    }

    async fn reload(&self, ids: &[TaskId]) -> Result<Vec<Task>, Error> {
        let runner = &self.runner;
        let mut tasks = Vec::with_capacity(ids.len());
        for id in ids {
            tasks.push(retry_transient(&*runner.clock, || runner.store.task(*id)).await?);
        }
        Ok(tasks)
    }
}

/// Returns the tasks without unmet dependencies, in claim order.
fn ready(tasks: &[Task]) -> Vec<&Task> {
    let status: BTreeMap<TaskId, TaskStatus> =
        tasks.iter().map(|task| (task.id, task.status)).collect();
    let is_met = |on: &TaskId| {
        status
            .get(on)
            .is_none_or(|status| *status == TaskStatus::Completed)
    };
    let mut ready: Vec<&Task> = tasks
        .iter()
        .filter(|task| task.status == TaskStatus::Pending && !task.paused)
        .filter(|task| task.dependencies.iter().all(is_met))
        .collect();
    ready.sort_by_key(|task| (task.priority, task.workflow_step, task.id));
    ready
}

#[derive(Deserialize)]
struct Planned {
    tasks: Vec<PlannedTask>,
}

#[derive(Deserialize)]
struct PlannedTask {
    title: String,
    description: String,
    #[serde(default = "default_priority")]
    priority: u8,
    #[serde(default = "default_step")]
    workflow_step: u8,
    #[serde(default)]
    kind: WorkerKind,
    #[serde(default)]
    depends_on: Vec<usize>,
}

fn default_priority() -> u8 {
    2
}

fn default_step() -> u8 {
    1
}

/// Converts the planned tasks. Each may depend only on earlier tasks, so there are no cycles.
fn tasks(planned: Vec<PlannedTask>, parent: GoalParent) -> Result<Vec<NewTask>, String> {
    if planned.is_empty() || planned.len() > MAX_TASKS {
        return Err(format!(
            "it has {} tasks; it must have 1 to {MAX_TASKS}",
            planned.len()
        ));
    }
    let mut tasks = Vec::with_capacity(planned.len());
    for (at, task) in planned.into_iter().enumerate() {
        if task.title.trim().is_empty() {
            return Err(format!("task {} has no title", at + 1));
        }
        if let Some(on) = task.depends_on.iter().find(|on| **on == 0 || **on > at) {
            return Err(format!(
                "task {} depends on task {on}: a task can depend only on earlier tasks",
                at + 1
            ));
        }
        let mut dependencies = task.depends_on;
        dependencies.sort_unstable();
        dependencies.dedup();
        tasks.push(NewTask {
            issue_id: parent.issue_id,
            title: task.title,
            description: task.description,
            priority: task.priority.min(4),
            workflow_step: task.workflow_step.clamp(1, 15),
            dependencies: dependencies
                .into_iter()
                .map(|on| Dependency::Sibling(on - 1))
                .collect(),
            kind: task.kind,
            ..NewTask::new(parent.project_id, String::new())
        });
    }
    Ok(tasks)
}

fn schema() -> Value {
    let kinds: Vec<&str> = WorkerKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let task = json!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "description": "a short title" },
            "description": { "type": "string", "description": "everything that the engineer must know" },
            "priority": { "type": "integer", "minimum": 0, "maximum": 4, "description": "0 is the highest" },
            "workflow_step": { "type": "integer", "minimum": 1, "maximum": 15 },
            "kind": { "type": "string", "enum": kinds },
            "depends_on": {
                "type": "array",
                "items": { "type": "integer", "minimum": 1 },
                "description": "the numbers of earlier tasks in this list, counted from 1",
            },
        },
        "required": ["title", "description", "priority", "workflow_step", "kind", "depends_on"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": { "tasks": { "type": "array", "items": task } },
        "required": ["tasks"],
        "additionalProperties": false,
    })
}
