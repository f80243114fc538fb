//! Hands a person's edits back: they become the next version of the task's change and are tested as an agent's.

use std::sync::Arc;

use windlass_core::escape_control;
use windlass_runner::{ClaimedTask, ResultStatus, RunnerSettings, StopSignals, TaskResult};
use windlass_tasks::{Claim, Task};

use super::super::app::App;
use super::super::console::{QUIET, STRONG};
use super::super::exit::{CliError, Exit};
use super::super::interrupt::Interrupts;
use super::super::progress::ProgressPrinter;
use super::super::queue::ProjectQueue;
use super::super::task_runtime::{TaskRuntime, runner_settings};
use super::landed::person;
use crate::person_agent::PersonResolver;

/// Runs an attempt without an agent on the kept change of a person.
pub(super) async fn hand_back(
    app: &App<'_>,
    queue: &ProjectQueue,
    runtime: &TaskRuntime,
    task: &Task,
    commit: String,
) -> Result<Exit, CliError> {
    let name = person(app).await;
    let runner = runtime.runner(
        Arc::clone(&queue.store),
        Arc::new(PersonResolver {
            description: format!("Edited by hand by {name}."),
        }),
        Some(Arc::new(ProgressPrinter::new(app.console))),
        RunnerSettings {
            worker: name,
            // There is no agent to correct it: the person is asked.
            rounds: 0,
            ..runner_settings(&queue.config)
        },
    );
    let claim = Claim {
        task: Some(task.id),
        ..runner.next_claim()
    };
    let mut interrupts = Interrupts::listen()?;
    let since = runner.clock.elapsed();
    let claimed = queue.store.take_over(claim).await?;
    queue.store.record_change(claimed.attempt, commit).await?;
    let claimed = ClaimedTask {
        project: queue.store.project(task.project_id).await?,
        claimed,
        since,
    };
    let signals = StopSignals::default();
    let work = runner.run_attempt(claimed, signals.clone());
    tokio::pin!(work);
    let result = loop {
        tokio::select! {
            result = &mut work => break result,
            () = interrupts.next() => {
                app.console.progress(QUIET, "cancelling");
                signals.cancel.cancel();
            }
        }
    };
    report(app, task, &result)
}

fn report(app: &App<'_>, task: &Task, result: &TaskResult) -> Result<Exit, CliError> {
    app.console.line(&format!(
        "{STRONG}task {} {}{STRONG:#}",
        task.id, result.status
    ))?;
    let message = result.error.as_deref().unwrap_or(&result.output);
    app.console.line(escape_control(message.trim()).as_ref())?;
    Ok(match result.status {
        ResultStatus::Completed => Exit::Done,
        ResultStatus::Blocked => Exit::Blocked,
        ResultStatus::Cancelled | ResultStatus::Released => Exit::Interrupted,
        _ => Exit::Failed,
    })
}
