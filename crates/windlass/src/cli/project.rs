//! `windlass project`: the projects of the store, where their files are, and the note that every agent receives.

mod add;
mod list;
mod note;

use clap::{Args, Subcommand};
use windlass_tasks::{Project, ProjectId};

use super::app::App;
use super::exit::{CliError, Exit};
use super::queue::OpenQueue;

#[derive(Debug, Args)]
pub(super) struct Projects {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add the project of this directory, or change its name or remote
    Add(add::Add),
    /// List the projects of the store
    List(list::List),
    /// Show a project: its root commit, its remote, and where machines have its files
    Show(list::Show),
    /// Remove this machine's checkout or mirror from a project, or the project itself
    Remove(list::Remove),
    /// Show or set the note that is part of every agent's prompt in this project
    Note(note::Note),
}

impl Projects {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        match self.command {
            Command::Add(add) => add.run(app).await,
            Command::List(list) => list.run(app).await,
            Command::Show(show) => show.run(app).await,
            Command::Remove(remove) => remove.run(app).await,
            Command::Note(note) => note.run(app).await,
        }
    }
}

/// Finds a project by its number or its name. Of several with the same name, the one with a checkout here counts.
async fn find(queue: &OpenQueue, text: &str) -> Result<Project, CliError> {
    let projects = queue.store.projects().await?;
    let id: Option<ProjectId> = text.parse().ok();
    if let Some(found) = projects.iter().find(|project| Some(project.id) == id) {
        return Ok(found.clone());
    }
    let mut named: Vec<Project> = projects
        .into_iter()
        .filter(|project| project.name == text)
        .collect();
    if named.len() > 1 {
        named.retain(|project| project.here);
    }
    match (named.pop(), named.is_empty()) {
        (Some(found), true) => Ok(found),
        (Some(_), false) => Err(CliError::usage(format!(
            "several projects are named {text}: use a number of windlass project list"
        ))),
        (None, _) => Err(CliError::usage(format!(
            "no project is named {text}: see windlass project list"
        ))),
    }
}
