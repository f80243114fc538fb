//! `windlass task`: the queue.

mod add;
mod change;
mod list;
mod log;
mod plan;
mod show;

use clap::{Args, Subcommand};
use windlass_core::task::{TaskId, TaskStatus};

use super::app::App;
use super::exit::{CliError, Exit};
pub(super) use add::kind;
pub(super) use change::{diff, merge, report};
pub(super) use log::line as event_line;
pub(super) use show::{proof_lines, status_label};

#[derive(Debug, Args)]
pub(super) struct Tasks {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add a task; it is safe once this returns
    Add(add::Add),
    /// List the tasks of this project
    List(list::List),
    /// Show a task with its attempts, tests, corrections, questions and proof
    Show(show::Show),
    /// Print what happened, oldest first
    Log(log::Log),
    /// Print the change that a task made
    Diff(change::Diff),
    /// Bring a task's change into what is checked out
    Merge(change::Merge),
    /// Have a task done again, with its attempts given anew
    Retry(One),
    /// Stop a task
    Cancel(One),
    /// Turn a goal into tasks that depend on each other
    Plan(plan::Plan),
}

/// A task, by its number.
#[derive(Debug, Args)]
struct One {
    /// The task's number
    id: TaskId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Tasks {
    /// Whether it needs to know which agents this machine has.
    pub(super) fn reaches_agents(&self) -> bool {
        matches!(self.command, Command::Plan(_))
    }

    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        match self.command {
            Command::Add(add) => add.run(app).await,
            Command::List(list) => list.run(app).await,
            Command::Show(show) => show.run(app).await,
            Command::Log(log) => log.run(app).await,
            Command::Diff(diff) => diff.run(app).await,
            Command::Merge(merge) => merge.run(app).await,
            Command::Retry(one) => {
                let queue = super::queue::TaskQueue::open(app).await?;
                list::show_one(app, &queue.store.retry(one.id).await?, one.json)
            }
            Command::Cancel(one) => {
                let queue = super::queue::TaskQueue::open(app).await?;
                let task = queue.store.cancel(one.id).await?;
                let exit = list::show_one(app, &task, one.json)?;
                if task.status == TaskStatus::InProgress && !one.json {
                    app.console
                        .line("its worker is asked to stop, and will with its next heartbeat")?;
                }
                Ok(exit)
            }
            Command::Plan(plan) => plan.run(app).await,
        }
    }
}
