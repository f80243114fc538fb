//! `windlass land`: lands proved changes on their target branch.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_core::escape_control;
use windlass_runner::{Lander, LandingReport, LandingResult};
use windlass_tasks::{
    Landing, LandingFilter, LandingState, MergeRequest, MergeResult, NewLanding, Project, Task,
    TaskId, TaskStatus, TaskStore,
};

use super::app::App;
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::queue::ProjectQueue;
use super::task::{of_task, person, result_line, waiting_line};
use super::task_runtime::{TaskRuntime, runner_settings, test_settings};

/// How long to wait for another worker that lands a change, before checking again.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(super) struct Land {
    /// Task numbers (default: every task that is to land)
    tasks: Vec<TaskId>,
    /// Accept the warnings in the proofs, and changes that were not tested
    #[arg(long)]
    accept: bool,
    /// Branch to land on (default: the branch that is checked out)
    #[arg(long, value_name = "BRANCH")]
    target: Option<String>,
    /// Only add the changes to the queue; a worker lands them
    #[arg(long)]
    queue: bool,
    /// Take the changes out of the queue
    #[arg(long, requires = "tasks", conflicts_with_all = ["accept", "target", "queue"])]
    remove: bool,
    /// List what waits to land
    #[arg(long, conflicts_with_all = ["tasks", "accept", "target", "queue"])]
    list: bool,
    /// Dry run: print what would land, without tests
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Land {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        if self.list {
            return self.print_list(app, &queue).await;
        }
        let store = &*queue.store;
        if self.remove {
            for task in &self.tasks {
                store.set_land(*task, false).await?;
                app.console.line(&format!("task {task} does not land"))?;
            }
            return Ok(Exit::Done);
        }
        let task_runtime =
            TaskRuntime::for_store(app, &queue, test_settings(&queue.config)).await?;
        let lander = lander(app, &queue, &task_runtime)?;
        let tasks = with_dependencies(store, &self.tasks).await?;
        if self.dry_run {
            return self.preview(app, &queue, &lander, &tasks).await;
        }
        let by = person(app).await;
        for task in &tasks {
            self.enqueue(&queue, &lander, task, &by).await?;
        }
        let only: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
        if self.queue {
            return self.print_list(app, &queue).await;
        }
        if self.tasks.is_empty() {
            lander.enqueue_due().await?;
        }
        let reports = land(&lander, &only).await?;
        print(app, &reports, self.json)
    }

    /// Adds a completed task to the queue of its branch.
    async fn enqueue(
        &self,
        queue: &ProjectQueue,
        lander: &Lander,
        task: &Task,
        by: &str,
    ) -> Result<(), CliError> {
        let (store, id) = (&queue.store, task.id);
        if task.landed.is_some() {
            return Ok(());
        }
        if task.unverified && !self.accept {
            return Err(CliError::blocked(format!(
                "task {id} was not tested: look at its change, then run windlass land {id} --accept"
            )));
        }
        if task.needs_review {
            if !self.accept {
                return Err(CliError::blocked(format!(
                    "the proof of task {id} has warnings: read them with windlass proof {id}, then run windlass land {id} --accept"
                )));
            }
            store.accept(id).await?;
        }
        let project = store.project(task.project_id).await?;
        let target = self.target_of(lander, &project, task).await?;
        let by = by.to_owned();
        let new = NewLanding {
            task: id,
            target,
            by,
        };
        store.enqueue_landing(new).await?;
        Ok(())
    }

    async fn target_of(
        &self,
        lander: &Lander,
        project: &Project,
        task: &Task,
    ) -> Result<String, CliError> {
        if let Some(target) = &self.target {
            return Ok(target.clone());
        }
        lander.target(project, task).await?.ok_or_else(|| {
            CliError::usage("no branch is checked out: name one with --target BRANCH")
        })
    }

    async fn preview(
        &self,
        app: &App<'_>,
        queue: &ProjectQueue,
        lander: &Lander,
        tasks: &[Task],
    ) -> Result<Exit, CliError> {
        let due = queue.store.due_landings(Some(queue.project.id)).await?;
        let tasks = if self.tasks.is_empty() { &due } else { tasks };
        for task in tasks.iter().filter(|task| task.landed.is_none()) {
            let project = queue.store.project(task.project_id).await?;
            let target = self.target_of(lander, &project, task).await?;
            let proof = queue.store.proof(task.id).await?;
            let Some(commit) = proof.map(|proof| proof.commit) else {
                app.console
                    .line(&format!("task {} was not tested", task.id))?;
                continue;
            };
            let request = MergeRequest {
                branch: &target,
                commits: &[commit],
                strategy: lander.settings.strategy,
                message: "",
            };
            let id = task.id;
            let line = match lander.site.merge(&project, request).await? {
                MergeResult::Ready(copy) => {
                    let change = copy.working_copy().change_of(copy.commit()).await?;
                    let files = change.files.join(", ");
                    format!("would land task {id} on {target}, if the tests pass: {files}")
                }
                MergeResult::Contained => format!("task {id} is on {target} already"),
                MergeResult::Conflict { files, .. } => format!(
                    "would not land task {id}: it conflicts with {target} in {}",
                    files.join(", ")
                ),
                MergeResult::NotNow(why) => format!("task {id} would wait: {why}"),
            };
            app.console.line(&escape_control(&line))?;
        }
        Ok(Exit::Done)
    }

    async fn print_list(&self, app: &App<'_>, queue: &ProjectQueue) -> Result<Exit, CliError> {
        let filter = LandingFilter {
            project_id: Some(queue.project.id),
            open: true,
            ..LandingFilter::default()
        };
        let open = queue.store.landings(filter).await?;
        if self.json {
            app.console.pretty_json(&open)?;
            return Ok(Exit::Done);
        }
        if open.is_empty() {
            app.console.line("nothing waits to land")?;
        }
        for landing in &open {
            let line = format!("{:>4}  {}", landing.task, waiting_line(landing));
            app.console.line(&escape_control(&line))?;
        }
        Ok(Exit::Done)
    }
}

/// Returns the tasks, each after the dependencies that have not landed.
async fn with_dependencies(store: &dyn TaskStore, tasks: &[TaskId]) -> Result<Vec<Task>, CliError> {
    let mut found: Vec<Task> = Vec::new();
    let mut seen: BTreeSet<TaskId> = BTreeSet::new();
    let mut open: Vec<(TaskId, bool)> = tasks.iter().rev().map(|id| (*id, false)).collect();
    while let Some((id, is_done)) = open.pop() {
        if is_done {
            found.push(store.task(id).await?);
        } else if seen.insert(id) {
            let task = store.task(id).await?;
            if task.status != TaskStatus::Completed {
                return Err(CliError::usage(format!(
                    "task {id} is {}: only the change of a completed task can land",
                    task.status
                )));
            }
            open.push((id, true));
            if task.landed.is_none() {
                open.extend(task.dependencies.iter().map(|on| (*on, false)));
            }
        }
    }
    Ok(found)
}

fn lander(
    app: &App<'_>,
    queue: &ProjectQueue,
    task_runtime: &TaskRuntime,
) -> Result<Lander, CliError> {
    let config = &queue.config;
    let runner = task_runtime.runner(
        Arc::clone(&queue.store),
        Arc::new(app.catalog()?),
        None,
        runner_settings(config),
    );
    Ok(task_runtime.lander(Arc::new(runner), config, Some(queue.project.id)))
}

/// Lands tasks that are proved, in the foreground.
pub(super) async fn land_tasks(
    app: &App<'_>,
    queue: &ProjectQueue,
    task_runtime: &TaskRuntime,
    tasks: &[TaskId],
) -> Result<Exit, CliError> {
    let lander = lander(app, queue, task_runtime)?;
    lander.enqueue_due().await?;
    let reports = land(&lander, tasks).await?;
    print(app, &reports, false)
}

/// Lands entries until nothing more can land. If a worker has them, waits for it.
async fn land(lander: &Lander, only: &[TaskId]) -> Result<Vec<LandingReport>, CliError> {
    let stop = CancellationToken::new();
    let mut interrupts = Interrupts::listen()?;
    let work = async {
        let mut reports: Vec<LandingReport> = Vec::new();
        loop {
            let next = lander.land_next(only, &stop).await?;
            let is_waiting =
                |report: &LandingReport| matches!(report.result, LandingResult::Waits(_));
            let made_progress = next.iter().any(|report| !is_waiting(report));
            reports.extend(next);
            if made_progress {
                continue;
            }
            if !is_landing_elsewhere(lander, only).await? {
                break;
            }
            lander.runner.clock.sleep(POLL_INTERVAL).await;
        }
        for task in only {
            if !reports.iter().any(|report| report.task == *task) {
                reports.extend(last_report(lander, *task).await?);
            }
        }
        Ok(reports)
    };
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = interrupts.next() => {
                if stop.is_cancelled() {
                    return Err(CliError::usage("interrupted: what has not landed stays in the queue"));
                }
                stop.cancel();
            }
        }
    }
}

/// Returns `true` if another worker lands one of these tasks now.
async fn is_landing_elsewhere(lander: &Lander, only: &[TaskId]) -> Result<bool, CliError> {
    let filter = LandingFilter {
        project_id: lander.project,
        open: true,
        ..LandingFilter::default()
    };
    let open = lander.runner.store.landings(filter).await?;
    let is_ours = |landing: &Landing| only.contains(&landing.task);
    Ok(open
        .iter()
        .any(|one| one.state == LandingState::Landing && is_ours(one)))
}

/// Returns the outcome for a task that this process did not land.
async fn last_report(lander: &Lander, task: TaskId) -> Result<Option<LandingReport>, CliError> {
    let landings = lander.runner.store.landings(of_task(task)).await?;
    let Some(last) = landings.last() else {
        return Ok(None);
    };
    let result = match (last.state, &last.commit) {
        (LandingState::Landed, Some(commit)) => LandingResult::Landed {
            commit: commit.clone(),
            is_merge: lander.is_merge(task, commit).await?,
        },
        (LandingState::Returned, _) => LandingResult::Returned {
            reason: last.reason.clone().unwrap_or_default(),
            cases: last.cases.clone(),
        },
        _ => LandingResult::Waits(waiting_line(last)),
    };
    let target = last.target.clone();
    Ok(Some(LandingReport {
        task,
        target,
        result,
    }))
}

/// Prints what landed, with the commands that undo it, and what did not.
fn print(app: &App<'_>, reports: &[LandingReport], json: bool) -> Result<Exit, CliError> {
    if json {
        let rows: Vec<_> = reports.iter().map(as_json).collect();
        app.console.pretty_json(&rows)?;
    } else {
        if reports.is_empty() {
            app.console.line("nothing to land")?;
        }
        for report in reports {
            let line = result_line(report.task, &report.target, &report.result);
            app.console.line(&escape_control(&line))?;
            if let Some(undo) = report.result.undo() {
                app.console.line(&format!("to undo it: {undo}"))?;
            }
        }
    }
    let any =
        |matches: fn(&LandingResult) -> bool| reports.iter().any(|report| matches(&report.result));
    Ok(
        if any(|result| matches!(result, LandingResult::Returned { .. })) {
            Exit::Failed
        } else if any(|result| matches!(result, LandingResult::Waits(_))) {
            Exit::Blocked
        } else {
            Exit::Done
        },
    )
}

fn as_json(report: &LandingReport) -> serde_json::Value {
    let (task, target) = (report.task, &report.target);
    match &report.result {
        LandingResult::Landed { commit, .. } => json!({
            "task": task, "target": target, "status": "landed", "commit": commit, "undo": report.result.undo(),
        }),
        LandingResult::Returned { reason, cases } => json!({
            "task": task, "target": target, "status": "returned", "reason": reason, "cases": cases,
        }),
        LandingResult::Waits(why) => json!({
            "task": task, "target": target, "status": "waits", "reason": why,
        }),
        _ => json!({ "task": task, "target": target, "status": "withdrawn" }),
    }
}
