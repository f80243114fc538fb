//! Runs the tasks of an evaluation that are not done yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::try_join_all;
use tokio_util::sync::CancellationToken;
use windlass_core::escape_line;
use windlass_runner::{AgentPoolManager, Worker};
use windlass_tasks::{Broadcast, EventFilter, TaskId, TaskStatus};
use windlass_workspace::TestSettings;

use super::plan::{EvalCell, EvalPlan};
use super::saved;
use crate::agent_catalog::AgentCatalog;
use crate::cli::app::App;
use crate::cli::console::QUIET;
use crate::cli::exit::{CliError, Exit};
use crate::cli::interrupt::Interrupts;
use crate::cli::task_runtime::{TaskRuntime, runner_settings, test_settings};

/// How long the progress waits for the next event.
const EVENT_WAIT: Duration = Duration::from_secs(5);
/// How long to wait before tasks are tried again that another process holds.
const HELD_WAIT: Duration = Duration::from_secs(1);

/// Runs what is not done, until everything is or the user stops it.
pub(super) async fn run(
    app: &App<'_>,
    plan: &EvalPlan,
    agents: AgentCatalog,
    concurrency: u32,
) -> Result<Exit, CliError> {
    let stop = CancellationToken::new();
    let workers = workers(app, plan, agents, concurrency).await?;
    let mut interrupts = Interrupts::listen()?;
    let work = run_workers(app, plan, &workers, &stop);
    let progress = print_progress(app, plan);
    tokio::pin!(work, progress);
    let mut interrupted = false;
    loop {
        tokio::select! {
            done = &mut work => {
                done?;
                return Ok(if interrupted { Exit::Interrupted } else { Exit::Done });
            }
            failed = &mut progress => return Err(failed),
            () = interrupts.next() => {
                if interrupted {
                    return Ok(Exit::Interrupted);
                }
                interrupted = true;
                app.console.progress(QUIET, "stopping; run the command again to continue, press Ctrl-C again to exit now");
                stop.cancel();
            }
        }
    }
}

/// Returns a worker for each repository, because each has its own tests. They share the slots.
async fn workers(
    app: &App<'_>,
    plan: &EvalPlan,
    agents: AgentCatalog,
    concurrency: u32,
) -> Result<Vec<Worker>, CliError> {
    let config = app.config()?;
    let pool = AgentPoolManager::new(usize::try_from(concurrency).unwrap_or(usize::MAX));
    let agents = Arc::new(agents);
    let mut workers = Vec::new();
    for repository in &plan.repositories {
        let configured = test_settings(config);
        let tests = match &repository.task.tests {
            Some(command) => TestSettings {
                command: Some(command.clone()),
                none: false,
                ..configured
            },
            None => configured,
        };
        let clones = plan.dir.join("clones").join(&repository.task.name);
        let runtime = TaskRuntime::in_dir(app, clones, tests).await?;
        let settings = runner_settings(config);
        let runner = runtime.runner(Arc::clone(&plan.store), agents.clone(), None, settings);
        workers.push(Worker {
            pool: pool.clone(),
            project: Some(repository.project),
            once: true,
            ..Worker::new(Arc::new(runner))
        });
    }
    Ok(workers)
}

/// Runs the workers until every task is done. Tasks of a killed run continue when their leases expire.
async fn run_workers(
    app: &App<'_>,
    plan: &EvalPlan,
    workers: &[Worker],
    stop: &CancellationToken,
) -> Result<(), CliError> {
    let mut told = false;
    loop {
        try_join_all(workers.iter().map(|worker| worker.run(stop.clone()))).await?;
        let mut held = 0;
        for cell in &plan.cells {
            let status = plan.store.task(cell.id).await?.status;
            if matches!(status, TaskStatus::Pending | TaskStatus::InProgress) {
                held += 1;
            }
        }
        if held == 0 || stop.is_cancelled() {
            return Ok(());
        }
        if !told {
            told = true;
            let lease = app.config()?.worker.lease_secs.as_secs();
            app.console.notice(&format!(
                "{held} of the tasks belong to a run that was killed, and continue at most {lease} s after it"
            ));
        }
        tokio::select! {
            () = tokio::time::sleep(HELD_WAIT) => {}
            () = stop.cancelled() => return Ok(()),
        }
    }
}

/// Prints a line for each task that ends. Returns only with an error.
async fn print_progress(app: &App<'_>, plan: &EvalPlan) -> CliError {
    let cells: BTreeMap<TaskId, &EvalCell> =
        plan.cells.iter().map(|cell| (cell.id, cell)).collect();
    let follow = async {
        let mut after = plan.store.wait_for_events(0, Duration::ZERO).await?;
        loop {
            plan.store.wait_for_events(after, EVENT_WAIT).await?;
            let filter = EventFilter {
                after,
                ..EventFilter::default()
            };
            for event in plan.store.events(filter).await? {
                after = event.seq;
                let Broadcast::TaskStatus {
                    task_id, status, ..
                } = event.message
                else {
                    continue;
                };
                let Some(cell) = cells.get(&task_id) else {
                    continue;
                };
                if status.is_final() || status == TaskStatus::Blocked {
                    let line =
                        format!("{} · {} · {}: {status}", cell.agent, cell.task, cell.repeat);
                    app.console.progress(QUIET, &escape_line(&line));
                    saved::save(plan).await?;
                }
            }
        }
    };
    let followed: Result<std::convert::Infallible, CliError> = follow.await;
    match followed {
        Err(error) => error,
        Ok(never) => match never {},
    }
}
