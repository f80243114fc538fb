//! `windlass task list`: lists tasks.

use clap::Args;
use windlass_tasks::{Task, TaskFilter, TaskStatus};

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::queue::TaskQueue;

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
        let queue = TaskQueue::open(app).await?;
        let filter = TaskFilter {
            project_id: (!self.all).then_some(queue.project.id),
            status: self.status,
            ..TaskFilter::default()
        };
        let tasks = queue.store.tasks(filter).await?;
        if self.json {
            app.console.pretty_json(&tasks)?;
        } else if tasks.is_empty() {
            app.console
                .line("no tasks; add one with: windlass task add TITLE")?;
        } else {
            let rows: Vec<[String; 5]> = tasks.iter().map(row).collect();
            let heading = ["task", "status", "priority", "attempt", "title"];
            app.console.table(heading, &rows)?;
        }
        Ok(Exit::Done)
    }
}

fn row(task: &Task) -> [String; 5] {
    [
        task.id.to_string(),
        super::status_label(task),
        format!("{}.{}", task.priority, task.workflow_step),
        super::show::attempt_label(task, "/"),
        task.title.clone(),
    ]
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
