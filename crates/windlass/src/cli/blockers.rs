//! `windlass blockers` and `windlass answer`: open questions from blocked tasks.

use clap::Args;
use windlass_core::escape_control;
use windlass_tasks::{Blocker, BlockerId};

use super::app::App;
use super::console::{QUIET, STRONG};
use super::exit::{CliError, Exit};
use super::queue::ProjectQueue;

#[derive(Debug, Args)]
pub(super) struct Blockers {
    /// Include answered questions
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct Answer {
    /// Number of the question, as printed by `windlass blockers`
    id: BlockerId,
    /// Answer, included in the prompt of the next attempt
    text: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Blockers {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let found = queue
            .store
            .blockers(Some(queue.project.id), !self.all)
            .await?;
        if self.json {
            app.console.pretty_json(&found)?;
        } else if found.is_empty() {
            app.console.line("no questions")?;
        } else {
            for blocker in &found {
                show(app, blocker)?;
            }
        }
        Ok(Exit::Done)
    }
}

impl Answer {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let queue = ProjectQueue::open(app).await?;
        let task = queue.store.answer_blocker(self.id, self.text).await?;
        if self.json {
            app.console.pretty_json(&task)?;
        } else {
            app.console
                .line(&format!("task {} is {} again", task.id, task.status))?;
        }
        Ok(Exit::Done)
    }
}

fn show(app: &App<'_>, blocker: &Blocker) -> Result<(), CliError> {
    app.console.line(&format!(
        "{STRONG}question {} (task {}, attempt {}){STRONG:#}",
        blocker.id, blocker.task_id, blocker.attempt
    ))?;
    app.console.line(&escape_control(&blocker.question))?;
    match &blocker.answer {
        Some(answer) => app
            .console
            .line(&format!("answered: {}", escape_control(&answer.text)))?,
        None => app.console.line(&format!(
            "{QUIET}windlass answer {} TEXT{QUIET:#}",
            blocker.id
        ))?,
    }
    Ok(())
}
