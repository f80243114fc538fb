//! `windlass task list`: lists tasks.

use anstyle::Style;
use clap::Args;
use windlass_core::{Clock, SystemClock, Timestamp};
use windlass_tasks::{Task, TaskFilter, TaskStatus};

use super::super::app::App;
use super::super::console::{BAD, GOOD, QUIET, STRONG, WARNING};
use super::super::exit::{CliError, Exit};
use super::super::queue::ProjectQueue;
use super::super::table::{self, Cell};

#[derive(Debug, Args)]
pub(super) struct List {
    /// Show only tasks with this status
    #[arg(short, long, value_name = "STATUS", value_parser = status)]
    status: Option<TaskStatus>,
    /// List the tasks of all projects in the store
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let filter = TaskFilter {
            project_id: (!self.all).then_some(queue.project.id),
            status: self.status,
            ..TaskFilter::default()
        };
        let tasks = queue.store.tasks(filter).await?;
        if self.json {
            app.console.pretty_json(&tasks)?;
        } else if let Some(status) = self.status.filter(|_| tasks.is_empty()) {
            app.console.line(&format!("no tasks are {status}"))?;
        } else if tasks.is_empty() {
            app.console
                .line("no tasks; add one with: windlass task add TITLE")?;
        } else {
            let now = SystemClock::new().now();
            let rows: Vec<[Cell; 8]> = tasks.iter().map(|task| row(task, now)).collect();
            let heading = [
                "task", "status", "agent", "age", "cost", "after", "waiting", "title",
            ];
            table::print(app.console, heading, &rows)?;
        }
        Ok(Exit::Done)
    }
}

fn row(task: &Task, now: Timestamp) -> [Cell; 8] {
    let after: Vec<String> = task.dependencies.iter().map(ToString::to_string).collect();
    let cost = task.usage.cost_usd.map(|cost| format!("${cost:.2}"));
    [
        task.id.to_string().into(),
        Cell::styled(super::status_label(task), state_style(task)),
        task.agent.clone().unwrap_or_default().into(),
        age(now, task.created_at).into(),
        cost.unwrap_or_default().into(),
        after.join(",").into(),
        Cell::styled(task.waiting.clone().unwrap_or_default(), WARNING),
        task.title.clone().into(),
    ]
}

/// Returns the color of a task's state.
fn state_style(task: &Task) -> Style {
    match task.status {
        TaskStatus::Completed if task.needs_review => WARNING,
        TaskStatus::Completed => GOOD,
        TaskStatus::Failed => BAD,
        TaskStatus::Blocked => WARNING,
        TaskStatus::InProgress => STRONG,
        TaskStatus::Pending | TaskStatus::Cancelled => QUIET,
    }
}

/// Formats how long ago something was, in its largest unit.
fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.0.saturating_sub(then.0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Prints one task, as the output of a command that changed it.
pub(super) fn show_one(app: &App<'_>, task: &Task, json: bool) -> Result<Exit, CliError> {
    if json {
        app.console.pretty_json(task)?;
    } else {
        let title = windlass_core::escape_line(&task.title);
        app.console.line(&format!(
            "task {} {}: {title}",
            task.id,
            super::status_label(task)
        ))?;
    }
    Ok(Exit::Done)
}

fn status(text: &str) -> Result<TaskStatus, String> {
    TaskStatus::from_name(text).ok_or_else(|| {
        let names = TaskStatus::ALL.map(TaskStatus::as_str);
        format!("expected one of {}", names.join(", "))
    })
}
