//! Turns a goal into tasks, and sees them through.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{FuturesUnordered, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use windlass_core::AgentHandle;
use windlass_core::task::{
    Dependency, IssueId, MAX_ATTEMPTS, NewTask, ProjectId, Task, TaskId, TaskStatus, WorkerKind,
};

use crate::attempt::{call, retry_transient};
use crate::plan::structured_call;
use crate::template::render;
use crate::{AgentPoolManager, Error, PlanError, PlanOptions, Runner, StopSignals, TaskResult};

/// The most tasks that one goal may become.
pub const MAX_TASKS: usize = 50;

/// Plans with one agent, and has the tasks done by whichever agents they are for.
#[derive(Debug, Clone)]
pub struct LeadAgent {
    /// Works on each task.
    pub runner: Arc<Runner>,
    /// Room for so many at once.
    pub pool: AgentPoolManager,
    /// The agent that plans.
    pub planner: AgentHandle,
    /// How the plan is asked for.
    pub options: PlanOptions,
}

/// What the tasks of a goal belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoalParent {
    /// The project.
    pub project_id: ProjectId,
    /// The issue, where there is one.
    pub issue_id: Option<IssueId>,
}

impl LeadAgent {
    /// Turns a goal into tasks with priorities, steps and dependencies. Nothing is stored yet.
    pub async fn plan(&self, goal: &str, parent: GoalParent) -> Result<Vec<NewTask>, PlanError> {
        let prompt = render(include_str!("prompts/lead.md"), &[("goal", goal)]);
        let options = self.options.clone();
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

    /// Stores the tasks, all or none, and works on them as their dependencies allow, several at a time, until none is
    /// left that could be worked on. Gives each task as it stands then.
    ///
    /// Other workers may take some of them meanwhile; that is no matter. Once told to stop, no further task is begun, and
    /// those under way get the grace of the settings.
    pub async fn run(
        &self,
        tasks: Vec<NewTask>,
        stop: CancellationToken,
    ) -> Result<Vec<Task>, Error> {
        let added = self.runner.store.enqueue(tasks).await?;
        let ids: Vec<TaskId> = added.iter().map(|added| added.task.id).collect();
        self.run_stored(&ids, stop).await
    }

    /// The same for tasks that are in the store.
    pub async fn run_stored(
        &self,
        ids: &[TaskId],
        stop: CancellationToken,
    ) -> Result<Vec<Task>, Error> {
        let mut running = FuturesUnordered::new();
        let mut begun = BTreeSet::new();
        let mut seen = 0;
        loop {
            let tasks = self.reload(ids).await?;
            if !stop.is_cancelled() {
                for task in ready(&tasks) {
                    if begun.insert(task.id) {
                        running.push(self.run_one(task.clone(), stop.clone()));
                    }
                }
            }
            let elsewhere = tasks
                .iter()
                .any(|task| task.status == TaskStatus::InProgress && !begun.contains(&task.id));
            if running.is_empty() && (!elsewhere || stop.is_cancelled()) {
                return Ok(tasks);
            }
            let patience = self.runner.settings.sweep;
            tokio::select! {
                biased;
                Some((id, result)) = running.next() => {
                    begun.remove(&id);
                    if let Some(Err(error)) = result {
                        tracing::debug!(task = id, %error, "not taken");
                    }
                }
                last = self.runner.store.wait_for_events(seen, patience) => {
                    seen = last.unwrap_or(seen);
                    // Takes back what other workers have lost.
                    let _ = self.runner.store.reclaim_expired().await;
                    self.runner.clock.sleep(patience / 100).await;
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
            // Somebody else has it, or the store is in trouble: neither is helped by asking again at once.
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

/// Those that wait for nothing more, in the order in which they would be claimed.
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
        .filter(|task| task.status == TaskStatus::Pending)
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

/// The planned tasks, each waiting only for earlier ones: so there is no cycle.
fn tasks(planned: Vec<PlannedTask>, parent: GoalParent) -> Result<Vec<NewTask>, String> {
    if planned.is_empty() || planned.len() > MAX_TASKS {
        return Err(format!(
            "it has {} tasks: one to {MAX_TASKS} are asked for",
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
                "task {} depends on task {on}: only tasks before it can be waited for",
                at + 1
            ));
        }
        let mut dependencies = task.depends_on;
        dependencies.sort_unstable();
        dependencies.dedup();
        tasks.push(NewTask {
            project_id: parent.project_id,
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
            agent: None,
            idempotency_key: None,
            max_attempts: MAX_ATTEMPTS,
        });
    }
    Ok(tasks)
}

fn schema() -> Value {
    let kinds: Vec<&str> = WorkerKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let task = json!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "description": "in a few words" },
            "description": { "type": "string", "description": "all that whoever does it must know" },
            "priority": { "type": "integer", "minimum": 0, "maximum": 4, "description": "0 comes first" },
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
