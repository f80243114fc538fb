//! `windlass scenario`: what an agent should be able to do, tried out.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use windlass_testkit::scenario::{Players, ScenarioReport, Subject, run_scenarios_on};

use super::app::App;
use super::exit::{Exit, Failure};

#[derive(Debug, Args)]
pub(super) struct Scenarios {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Play every scenario of a folder and say how it went
    Run(Run),
}

#[derive(Debug, Args)]
struct Run {
    /// A folder of scenarios, or one file
    dir: PathBuf,
    /// Who plays; without it the configured default
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Also write a report for a build server
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Scenarios {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, Failure> {
        let Command::Run(run) = self.command;
        let config = app.config()?;
        let agent = app.choose(&config, run.agent.as_deref())?;
        // A mock without expectations of its own plays each scenario's script.
        let subject: Box<dyn Subject> = match agent.backend.as_str() {
            "mock" if agent.table.get("expectations").is_none() => Box::new(Players),
            _ => Box::new(app.open(&config, &agent)?),
        };
        let report = run_scenarios_on(&*subject, &run.dir)
            .await
            .map_err(|error| Failure::usage(error.to_string()))?;
        run.show(app, &report)
    }
}

impl Run {
    fn show(&self, app: &App<'_>, report: &ScenarioReport) -> Result<Exit, Failure> {
        if let Some(path) = &self.junit {
            std::fs::write(path, report.junit())
                .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
        }
        if self.json {
            app.console.pretty_json(report)?;
        } else {
            app.console.line(&report.to_string())?;
        }
        Ok(if report.failed() == 0 {
            Exit::Done
        } else {
            Exit::Failed
        })
    }
}
