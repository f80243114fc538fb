//! `windlass eval`: compares agents. Each agent does each task several times, in its own clone, and the proof decides.
//!
//! The results are tasks in a store of their own, so an interrupted evaluation continues where it stopped.

mod history;
mod plan;
mod report;
mod repository;
mod run;
mod saved;
mod suite;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::app::App;
use super::exit::{CliError, Exit};
use plan::{EvalAccess, EvalDir};
use report::EvalReport;
pub(super) use saved::saved_reports;
use suite::{AgentChoice, Suite};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Eval {
    #[command(subcommand)]
    command: Option<EvalCommand>,
    /// The file with the agents and tasks (default: five small tasks in shell)
    file: Option<PathBuf>,
    /// Evaluate this agent instead of those in the file; NAME or NAME:MODEL (repeatable)
    #[arg(short, long, value_name = "NAME")]
    agent: Vec<AgentChoice>,
    /// How often each agent does each task (default: as in the file, else 3)
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: Option<u32>,
    /// Maximum number of concurrent tasks (default: worker.concurrency)
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    concurrency: Option<u16>,
    /// Discard the results of earlier runs of this file
    #[arg(long)]
    restart: bool,
    /// Print the results so far and run nothing
    #[arg(long, conflicts_with = "restart")]
    report: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum EvalCommand {
    /// Make tasks of past commits of this repository that changed code and tests
    FromHistory(history::FromHistory),
}

impl Eval {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        if let Some(EvalCommand::FromHistory(command)) = self.command {
            return command.run(app).await;
        }
        let mut suite = Suite::read(self.file.as_deref())?;
        if !self.agent.is_empty() {
            suite.agents = self.agent.clone();
        }
        if let Some(repeats) = self.repeats {
            suite.repeats = repeats;
        }
        suite.check()?;
        let catalog = app.catalog()?;
        for agent in &suite.agents {
            catalog.find(Some(&agent.name))?;
        }
        let access = match (self.report, self.restart) {
            (true, _) => EvalAccess::Read,
            (_, true) => EvalAccess::Restart,
            _ => EvalAccess::Continue,
        };
        let dir = EvalDir::open(app, self.file.as_deref(), access)?;
        let plan = dir.plan(app, &suite).await?;
        let exit = if self.report {
            Exit::Done
        } else {
            let config = app.config()?.worker.concurrency;
            let concurrency = self.concurrency.map_or(config, u32::from);
            run::run(app, &plan, catalog, concurrency).await?
        };
        let report = if self.report {
            EvalReport::read(&plan).await?
        } else {
            saved::save(&plan).await?
        };
        if self.json {
            app.console.value(&report)?;
        } else {
            report.print(app.console)?;
        }
        Ok(exit)
    }
}
