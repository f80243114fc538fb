//! `windlass worker pause` and `resume`: pauses the workers of the store.

use clap::{Args, Subcommand};
use windlass_core::{Clock, SystemClock, Timestamp};
use windlass_tasks::{ProjectId, TaskStore, WorkerPause};

use super::app::App;
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;

#[derive(Debug, Subcommand)]
pub(super) enum PauseCommand {
    /// Pause the workers of this project: they claim no task until they are resumed; running attempts continue
    Pause(Pause),
    /// Resume the workers of this project
    Resume(Resume),
}

#[derive(Debug, Args)]
pub(super) struct Pause {
    /// Pause the workers of all projects in the store
    #[arg(long)]
    all: bool,
    /// Why, for display
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Resume {
    /// End the pause of all projects in the store
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl PauseCommand {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let (json, line) = match self {
            Self::Pause(Pause { all, reason, json }) => {
                let project = (!all).then_some(queue.project.id);
                queue.store.pause_workers(project, reason).await?;
                let flag = if all { " --all" } else { "" };
                let line = format!("paused; resume with: windlass worker resume{flag}");
                (json, line)
            }
            Self::Resume(Resume { all, json }) => {
                let project = (!all).then_some(queue.project.id);
                let was_paused = queue.store.resume_workers(project).await?;
                let line = if was_paused { "resumed" } else { "not paused" };
                (json, line.to_owned())
            }
        };
        let pauses = pauses(&*queue.store, queue.project.id).await?;
        if json {
            app.console.pretty_json(&pauses)?;
            return Ok(Exit::Done);
        }
        app.console.line(&line)?;
        if line == "resumed" || line == "not paused" {
            for pause in &pauses {
                app.console.notice(&describe(pause));
            }
        }
        Ok(Exit::Done)
    }
}

/// Returns the pauses that concern a project.
pub(super) async fn pauses(
    store: &dyn TaskStore,
    project: ProjectId,
) -> Result<Vec<WorkerPause>, CliError> {
    let mut pauses = store.worker_pauses().await?;
    pauses.retain(|pause| pause.project_id.is_none_or(|paused| paused == project));
    Ok(pauses)
}

/// Describes a pause in one sentence, with the command that ends it.
pub(super) fn describe(pause: &WorkerPause) -> String {
    let (what, flag) = match pause.project_id {
        Some(_) => ("the workers of this project are paused", ""),
        None => ("the workers of all projects are paused", " --all"),
    };
    let reason = match pause.reason.as_str() {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    let since = ago(pause.since);
    format!(
        "{what} for {since}{reason}: no task is claimed; resume with: windlass worker resume{flag}"
    )
}

/// Formats the time that has passed since.
fn ago(at: Timestamp) -> String {
    let secs = SystemClock::new().now().0.saturating_sub(at.0) / 1000;
    match secs {
        0..60 => "less than a minute".to_owned(),
        60..3_600 => format!("{} min", secs / 60),
        3_600..172_800 => format!("{} h", secs / 3_600),
        _ => format!("{} days", secs / 86_400),
    }
}
