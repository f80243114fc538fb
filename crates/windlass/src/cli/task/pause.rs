//! `windlass task pause`, `resume` and `cancel`: one, several or all tasks.

use clap::Args;
use windlass_tasks::{Task, TaskId, TaskStatus};

use super::super::app::App;
use super::super::exit::{CliError, Exit};
use super::super::queue::ProjectQueue;
use super::{landed, list};

/// Arguments of a command that takes several tasks.
#[derive(Debug, Args)]
pub(super) struct Several {
    /// Task numbers
    #[arg(required = true)]
    ids: Vec<TaskId>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Several {
    /// Pauses the tasks: no worker claims them.
    pub(super) async fn pause(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let mut tasks = Vec::new();
        for id in &self.ids {
            tasks.push(queue.store.pause_task(*id).await?);
        }
        let is_running = tasks.iter().any(is_running);
        let exit = show(app, &tasks, self.json)?;
        if is_running && !self.json {
            app.console
                .line("a running attempt continues; then the task is not claimed again")?;
        }
        Ok(exit)
    }

    /// Ends the pause of the tasks.
    pub(super) async fn resume(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let mut tasks = Vec::new();
        for id in &self.ids {
            let task = queue.store.task(*id).await?;
            if !task.paused {
                return Err(CliError::usage(format!(
                    "task {id} is not paused; to continue its agent's session, run: windlass task open {id} --agent"
                )));
            }
            tasks.push(queue.store.resume_task(*id).await?);
        }
        show(app, &tasks, self.json)
    }
}

#[derive(Debug, Args)]
pub(super) struct Cancel {
    /// Task numbers
    #[arg(required_unless_present = "all")]
    ids: Vec<TaskId>,
    /// Cancel every task of this project that has not ended
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// Do not ask before all tasks are cancelled; cancel a task although its change has landed
    #[arg(short, long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Cancel {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let tasks = if self.all {
            let question = "cancel every task of this project that has not ended? [y/N] ";
            if !self.yes && app.console.confirm(question)? == Some(false) {
                return Ok(Exit::Interrupted);
            }
            queue.store.cancel_all(Some(queue.project.id)).await?
        } else {
            let mut tasks = Vec::new();
            for id in &self.ids {
                if let Some(commit) = landed::before_cancel(&*queue.store, *id, self.yes).await? {
                    app.console.notice(&format!(
                        "the change of task {id} stays on its branch: it landed with commit {commit}; undo it with git revert"
                    ));
                }
                tasks.push(queue.store.cancel(*id).await?);
            }
            tasks
        };
        if tasks.is_empty() && !self.json {
            app.console.line("no task to cancel")?;
        }
        let exit = match &tasks[..] {
            [task] if !self.all => list::show_one(app, task, self.json)?,
            tasks => show_all(app, tasks, self.json)?,
        };
        if tasks.iter().any(is_running) && !self.json {
            app.console.line("its worker stops shortly")?;
        }
        Ok(exit)
    }
}

fn is_running(task: &Task) -> bool {
    task.status == TaskStatus::InProgress
}

/// Prints one task as such, and several as a list.
fn show(app: &App<'_>, tasks: &[Task], json: bool) -> Result<Exit, CliError> {
    match tasks {
        [task] => list::show_one(app, task, json),
        tasks => show_all(app, tasks, json),
    }
}

fn show_all(app: &App<'_>, tasks: &[Task], json: bool) -> Result<Exit, CliError> {
    if json {
        app.console.pretty_json(&tasks)?;
        return Ok(Exit::Done);
    }
    for task in tasks {
        list::show_one(app, task, false)?;
    }
    Ok(Exit::Done)
}
