//! `windlass store`: shows where tasks are stored, backs the store up, restores, checks, migrates, prunes and moves it.

mod location;
mod maintenance;
mod migrate;
mod prune;
mod repository_file;

use clap::{Args, Subcommand};
use windlass_core::escape_line;

use super::app::App;
use super::exit::{CliError, Exit};
use super::repository::repository;
pub(super) use location::locate;
use repository_file::RepositoryFile;

#[derive(Debug, Args)]
pub(super) struct Stores {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print where the tasks of this project are stored
    Path,
    /// Write the whole store to a file, while others use it
    Backup(maintenance::Backup),
    /// Write a backup into an empty store
    Restore(maintenance::Restore),
    /// Check that the records of the store are consistent
    Check(maintenance::Check),
    /// Bring the store to the schema of this version, after workers that could not go on have ended
    Migrate(migrate::Migrate),
    /// Remove old events, traces, entries of the audit log, refs of ended tasks, and unused mirrors
    Prune(prune::Prune),
    /// Move the store to another database, or the one of an earlier version from the repository to the state directory
    Move(Move),
}

#[derive(Debug, Args)]
struct Move {
    /// Empty store to move to: sqlite:FILE or postgres://…; no process may use the old one
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Print JSON (with --to)
    #[arg(long, requires = "to")]
    json: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

impl Stores {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        match self.command {
            Command::Path => {
                let config = app.config()?;
                let root = repository(&app.inputs.cwd)?;
                let shown = match config.shown_store_url() {
                    Some(url) => url,
                    None => location::default_path(&app.inputs, &root)?
                        .display()
                        .to_string(),
                };
                app.console.line(&escape_line(&shown))?;
                Ok(Exit::Done)
            }
            Command::Backup(command) => command.run(app).await,
            Command::Restore(command) => command.run(app).await,
            Command::Check(command) => command.run(app).await,
            Command::Migrate(command) => command.run(app).await,
            Command::Prune(command) => command.run(app).await,
            Command::Move(command) => command.run(app).await,
        }
    }
}

impl Move {
    async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        if let Some(target) = self.to {
            return maintenance::move_to(app, target, self.json).await;
        }
        let config = app.config()?;
        let root = repository(&app.inputs.cwd)?;
        let target = location::default_path(&app.inputs, &root)?;
        let Some(file) = RepositoryFile::find(config, &root) else {
            return Err(CliError::usage(format!(
                "{} contains no store of an earlier version: there is nothing to move",
                root.display()
            )));
        };
        if let Some(why) = file.rejection(app, &target).await {
            return Err(CliError::usage(format!("{file} is not moved: {why}")));
        }
        if !self.yes && app.console.confirm(&file.question(&target))? == Some(false) {
            return Err(CliError::usage(format!("{file} was not moved")));
        }
        file.move_to(app, &target).await?;
        Ok(Exit::Done)
    }
}
