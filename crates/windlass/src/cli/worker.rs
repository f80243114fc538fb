//! `windlass worker`: claims tasks from the store and runs them.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_core::{Clock, SystemClock};
use windlass_runner::{LandingReport, LandingResult, ResultStatus, TaskResult, WorkerReport};
use windlass_tasks::{
    NewWorker, Project, ProjectId, Task, TaskFilter, TaskId, TaskStatus, TaskStore, WorkerId,
    waiting_reason,
};

use super::app::App;
use super::console::QUIET;
use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::outbox::Outbox;
use super::queue::{OpenQueue, ProjectQueue};
use super::repository::repository;
use super::task_runtime::{TaskRuntime, test_settings};
use super::worker_args::WorkerArgs;
use super::worker_list::WorkerCommand;
use super::worker_pause;

/// How long the store may take to answer what the last lines need, after the worker was asked to stop.
const REPORT_GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Worker {
    #[command(subcommand)]
    command: Option<WorkerCommand>,
    #[command(flatten)]
    worker_args: WorkerArgs,
    /// Exit when no task can be claimed
    #[arg(long)]
    once: bool,
    /// Print the final report as JSON
    #[arg(long)]
    json: bool,
}

impl Worker {
    /// Returns `true` if the command runs tasks until it is stopped.
    pub(super) fn is_service(&self) -> bool {
        self.command.is_none()
    }

    /// Runs until it is interrupted: the first signal shuts down gracefully, the second exits immediately.
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        if let Some(command) = self.command {
            return command.run(app).await;
        }
        let (queue, here) = self.open(app).await?;
        if let Some(here) = &here {
            for pause in worker_pause::pauses(&*queue.store, here.id).await? {
                app.console.notice(&worker_pause::describe(&pause));
            }
        }
        if self.worker_args.all {
            note_missing(app, &queue).await?;
        }
        let config = &queue.config;
        let task_runtime = TaskRuntime::for_store(app, &queue, test_settings(config)).await?;
        let only = here.as_ref().and_then(|here| self.worker_args.only(here));
        let checkout = here.filter(|here| only.is_some() && here.remote.is_none());
        if let Some(checkout) = checkout {
            // A repository without a commit is an error of the task that needs one.
            let root = &checkout.root;
            let _ = task_runtime.note_uncommitted_edits(app, root).await;
        }
        let agents = self.worker_args.catalog(app).await?;
        let scope = (&queue, only);
        self.worker_args.check_default(app, scope, &agents).await?;
        let worker = windlass_runner::Worker {
            once: self.once,
            ..self.worker_args.worker(app, scope, &task_runtime, agents)?
        };
        let entry = worker.entry.clone();
        let stop = CancellationToken::new();
        let outbox = Outbox::open(app, &queue, only).await?;
        let work = async {
            let report = outbox.run_with(worker.run(stop.clone()), &stop).await?;
            self.conclude(app, &queue, (only, entry), &report, &stop)
                .await
        };
        tokio::pin!(work);
        let mut interrupts = Interrupts::listen()?;
        let mut interrupted = false;
        loop {
            tokio::select! {
                exit = &mut work => return exit,
                () = interrupts.next() => {
                    if interrupted {
                        return Ok(Exit::Interrupted);
                    }
                    interrupted = true;
                    app.console.progress(QUIET, "shutting down: waiting up to 20 s for running tasks; press Ctrl-C again to exit now");
                    stop.cancel();
                }
            }
        }
    }

    /// Prints what the worker did, and returns the exit code. After `stop`, the store has little time to answer.
    async fn conclude(
        &self,
        app: &App<'_>,
        queue: &OpenQueue,
        (only, entry): (Option<ProjectId>, Option<NewWorker>),
        report: &WorkerReport,
        stop: &CancellationToken,
    ) -> Result<Exit, CliError> {
        if report.results.is_empty() && !self.json {
            let explain = async {
                explain_idle(app, queue, only).await?;
                match entry {
                    Some(entry) => name_waiting(app, queue, entry).await,
                    None => Ok(()),
                }
            };
            answered(explain, stop).await.unwrap_or(Ok(()))?;
        }
        self.report(app, report)?;
        let exit = async {
            if !self.json {
                name_reviews(app, &*queue.store, report).await?;
            }
            if report.drained {
                app.console
                    .progress(QUIET, "drained: this worker ended as it was asked to");
                return Ok(Exit::Done);
            }
            exit(&*queue.store, report).await
        };
        answered(exit, stop).await.unwrap_or_else(|| {
            Err(CliError::failed(
                "the store did not answer before the worker ended: run windlass task list to see its tasks",
            ))
        })
    }

    /// Opens the store, and the project unless the worker is for all of them and runs outside of a repository.
    async fn open(&self, app: &App<'_>) -> Result<(OpenQueue, Option<Project>), CliError> {
        if self.worker_args.all && repository(&app.inputs.cwd).is_err() {
            return Ok((OpenQueue::open(app).await?, None));
        }
        let ProjectQueue { queue, project } = ProjectQueue::open(app).await?;
        Ok((queue, Some(project)))
    }

    fn report(&self, app: &App<'_>, report: &WorkerReport) -> Result<(), CliError> {
        const STATUSES: [ResultStatus; 6] = [
            ResultStatus::Completed,
            ResultStatus::Failed,
            ResultStatus::Blocked,
            ResultStatus::Cancelled,
            ResultStatus::Released,
            ResultStatus::Superseded,
        ];
        let last = last_results(report);
        let count = |status| {
            last.values()
                .filter(|result| result.status == status)
                .count()
        };
        let counts = STATUSES.map(|status| (status, count(status)));
        let is_landed = |one: &&LandingReport| matches!(one.result, LandingResult::Landed { .. });
        let landed = report.landings.iter().filter(is_landed).count();
        if self.json {
            let mut totals: serde_json::Map<_, _> = counts
                .iter()
                .map(|(status, count)| (status.to_string(), json!(count)))
                .collect();
            let tasks = last
                .iter()
                .map(|(task, result)| json!({ "task_id": task, "result": result }));
            let attempts: u64 = STATUSES.iter().map(|status| report.count(*status)).sum();
            totals.insert("attempts".to_owned(), json!(attempts));
            totals.insert("landed".to_owned(), json!(landed));
            totals.insert("tasks".to_owned(), tasks.collect());
            app.console.json(&totals)?;
        } else {
            let mut parts: Vec<String> = counts
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(status, count)| format!("{count} {status}"))
                .collect();
            if landed > 0 {
                parts.push(format!("{landed} landed"));
            }
            let line = if parts.is_empty() {
                "nothing to do".to_owned()
            } else {
                parts.join(", ")
            };
            app.console.line(&line)?;
        }
        Ok(())
    }
}

/// Waits for answers of the store. Returns `None` if they do not come in time after `stop`.
async fn answered<T>(answers: impl Future<Output = T>, stop: &CancellationToken) -> Option<T> {
    tokio::select! {
        biased;
        answers = answers => Some(answers),
        () = async {
            stop.cancelled().await;
            tokio::time::sleep(REPORT_GRACE).await;
        } => None,
    }
}

/// Names the projects whose tasks this machine does not claim.
async fn note_missing(app: &App<'_>, queue: &OpenQueue) -> Result<(), CliError> {
    for project in queue.store.projects().await? {
        if !project.here && project.remote.is_none() {
            app.console.notice(&format!(
                "tasks of project {} are left to other machines: it has no checkout on this one and no remote; run windlass project add in one",
                project.name
            ));
        }
    }
    Ok(())
}

/// Returns the result of the last attempt at each task.
fn last_results(report: &WorkerReport) -> BTreeMap<TaskId, &TaskResult> {
    let results = report.results.iter();
    results.map(|(task, result)| (*task, result)).collect()
}

/// Names the completed tasks that a person must review.
async fn name_reviews(
    app: &App<'_>,
    store: &dyn TaskStore,
    report: &WorkerReport,
) -> Result<(), CliError> {
    for (id, result) in last_results(report) {
        if result.status != ResultStatus::Completed {
            continue;
        }
        let task = store.task(id).await?;
        if task.needs_review && task.candidate_of.is_none() {
            app.console.notice(&format!(
                "task {id} needs review: run windlass task show {id} for the warnings, then windlass review {id}"
            ));
        }
    }
    Ok(())
}

/// Says why there was nothing to do, if a task waits for the end of another worker's lease.
async fn explain_idle(
    app: &App<'_>,
    queue: &OpenQueue,
    project: Option<ProjectId>,
) -> Result<(), CliError> {
    let filter = TaskFilter {
        project_id: project,
        status: Some(TaskStatus::InProgress),
        ..TaskFilter::default()
    };
    let running = queue.store.tasks(filter).await?;
    let Some(first) = running.first() else {
        return Ok(());
    };
    let seconds = queue.config.worker.lease_secs.as_secs();
    app.console.notice(&format!(
        "{} by another worker, task {} for example; if that worker was killed, the task can be claimed at most {seconds} s later",
        match running.len() {
            1 => "1 task is claimed".to_owned(),
            many => format!("{many} tasks are claimed"),
        },
        first.id
    ));
    Ok(())
}

/// Names a task that this worker could not take, and why.
async fn name_waiting(app: &App<'_>, queue: &OpenQueue, entry: NewWorker) -> Result<(), CliError> {
    let filter = TaskFilter {
        project_id: entry.project_id,
        status: Some(TaskStatus::Pending),
        ..TaskFilter::default()
    };
    let projects = queue.store.projects().await?;
    let worker = entry.registered(WorkerId::from(0), SystemClock::new().now());
    let workers = std::slice::from_ref(&worker);
    let reason = |task: &Task| {
        let project = projects.iter().find(|known| known.id == task.project_id);
        let reaches = project.is_some_and(|known| known.here || known.remote.is_some());
        waiting_reason(task, workers, |_| reaches)
    };
    let pending = queue.store.tasks(filter).await?;
    let waiting = pending
        .iter()
        .filter_map(|task| Some((task.id, reason(task)?)));
    let waiting: Vec<(TaskId, String)> = waiting.collect();
    if let Some((task, reason)) = waiting.first() {
        let count = match waiting.len() {
            1 => "1 task waits".to_owned(),
            many => format!("{many} tasks wait"),
        };
        let text = format!("{count} for another worker, task {task} for example: {reason}");
        app.console.notice(&text);
    }
    Ok(())
}

/// Returns the exit code, by the last attempt at each task: a failed attempt is not a failure if its retry
/// succeeded, and neither is a candidate: its task has its own result.
async fn exit(store: &dyn TaskStore, report: &WorkerReport) -> Result<Exit, CliError> {
    let mut exit = Exit::Done;
    for (task, result) in last_results(report) {
        let found = match result.status {
            ResultStatus::Failed | ResultStatus::Superseded => Exit::Failed,
            ResultStatus::Blocked if exit == Exit::Done => Exit::Blocked,
            _ => continue,
        };
        if store.task(task).await?.candidate_of.is_none() {
            exit = found;
        }
    }
    Ok(exit)
}

impl From<windlass_runner::Error> for CliError {
    fn from(error: windlass_runner::Error) -> Self {
        match error {
            windlass_runner::Error::Agent(error) => error.into(),
            windlass_runner::Error::Store(error) => error.into(),
            windlass_runner::Error::Plan(error) => error.into(),
            error => Self::usage(error.to_string()),
        }
    }
}

impl From<windlass_runner::PlanError> for CliError {
    fn from(error: windlass_runner::PlanError) -> Self {
        match error {
            windlass_runner::PlanError::Agent(error) => error.into(),
            error => Self::failed(error.to_string()),
        }
    }
}
