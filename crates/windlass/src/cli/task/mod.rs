//! `windlass task`: manages the task queue.

mod accept_setup;
mod add;
mod attach;
mod best_of;
mod candidates;
mod change;
mod edit;
mod hand_back;
mod import;
mod landed;
mod list;
mod log;
mod open;
mod pause;
mod plan;
mod program_session;
mod push;
mod show;

use clap::{Args, Subcommand};
use windlass_tasks::TaskId;

use super::app::App;
use super::exit::{CliError, Exit};
pub(super) use add::{TaskTests, kind, label};
pub(super) use change::{
    diff, is_merged, kept_commit, merge, merge_json, preview_merge, print_warnings, report,
    review_needed, version_diff,
};
pub(super) use landed::{of_task, person, result_line, waiting_line};
pub(super) use push::push;
pub(super) use show::status_label;
pub(super) use windlass_server::event_line;

#[derive(Debug, Args)]
pub(super) struct Tasks {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add a task; it is durable once the command returns
    Add(Box<add::Add>),
    /// List the tasks of this project
    List(list::List),
    /// Show a task with its attempts, tests, corrections, questions and proof
    Show(show::Show),
    /// Print the event log of a task, oldest first
    Log(log::Log),
    /// Print the diff of a task's change, also of an attempt that failed
    Diff(change::Diff),
    /// Merge a task's branch into the current branch
    Merge(change::Merge),
    /// Push a task's branch to a git remote with your own credentials, and open its pull request
    Push(push::PushArgs),
    /// Accept the set-up that a blocked task proposes, and resume the task
    AcceptSetup(accept_setup::AcceptSetup),
    /// Retry a task with a fresh attempt limit
    Retry(Retry),
    /// Cancel tasks
    Cancel(pause::Cancel),
    /// Edit a task that is not running
    Edit(edit::Edit),
    /// Pause tasks: no worker claims them; a running attempt continues
    Pause(pause::Several),
    /// Resume paused tasks
    Resume(pause::Several),
    /// Plan a goal as dependent tasks
    Plan(plan::Plan),
    /// Add the tasks of a file: a Markdown check list, JSON lines, or issues of gh
    Import(import::Import),
    /// Take over a task: work on its files in a shell, and hand the result back
    Open(open::Open),
    /// Follow a running task, and send its agent messages
    Attach(attach::Attach),
}

/// Arguments of a command that takes one task.
#[derive(Debug, Args)]
struct TaskArgs {
    /// Task number
    id: TaskId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Retry {
    #[command(flatten)]
    one: TaskArgs,
    /// Start from the current commit, not from the change of the last attempt
    #[arg(long)]
    fresh: bool,
    /// Retry the task although its change has landed
    #[arg(long)]
    yes: bool,
}

impl Tasks {
    /// Returns `true` if the command needs the agents of this machine.
    pub(super) fn needs_agents(&self) -> bool {
        match &self.command {
            Command::Open(open) => open.needs_agents(),
            command => matches!(command, Command::Plan(_)),
        }
    }

    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        match self.command {
            Command::Add(add) => add.run(app).await,
            Command::List(list) => list.run(app).await,
            Command::Show(show) => show.run(app).await,
            Command::Log(log) => log.run(app).await,
            Command::Diff(diff) => diff.run(app).await,
            Command::Merge(merge) => merge.run(app).await,
            Command::Push(push) => push.run(app).await,
            Command::AcceptSetup(accept) => accept.run(app).await,
            Command::Retry(Retry { one, fresh, yes }) => {
                let queue = super::queue::ProjectQueue::open(app).await?;
                landed::check_retry(&*queue.store, one.id, yes).await?;
                list::show_one(app, &queue.store.retry(one.id, fresh).await?, one.json)
            }
            Command::Cancel(cancel) => cancel.run(app).await,
            Command::Edit(edit) => edit.run(app).await,
            Command::Pause(several) => several.pause(app).await,
            Command::Resume(several) => several.resume(app).await,
            Command::Plan(plan) => plan.run(app).await,
            Command::Import(import) => import.run(app).await,
            Command::Open(open) => open.run(app).await,
            Command::Attach(attach) => attach.run(app).await,
        }
    }
}
