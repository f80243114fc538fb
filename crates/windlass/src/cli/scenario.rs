//! `windlass scenario`: what an agent should be able to do, tried out.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use windlass_testkit::scenario::{Players, ScenarioReport, Subject, Tapes, run_scenarios_on};

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
    /// Keep what the agent does, a cassette for each scenario in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "tapes")]
    record: Option<PathBuf>,
    /// Play from the cassettes in this folder; no agent is asked
    #[arg(long, value_name = "DIR", conflicts_with = "agent")]
    tapes: Option<PathBuf>,
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
        let subject = run.subject(app)?;
        let played = match &run.record {
            None => run_scenarios_on(&*subject, &run.dir).await,
            Some(folder) => {
                let tapes = Tapes::in_dir(folder);
                run_scenarios_on(&tapes.of(&*subject), &run.dir).await
            }
        };
        let report = played.map_err(|error| Failure::usage(error.to_string()))?;
        run.show(app, &report)
    }
}

impl Run {
    /// Who plays.
    fn subject(&self, app: &App<'_>) -> Result<Box<dyn Subject>, Failure> {
        if let Some(folder) = &self.tapes {
            return Ok(Box::new(Tapes::in_dir(folder)));
        }
        let config = app.config()?;
        let agent = app.choose(&config, self.agent.as_deref())?;
        Ok(match agent.backend.as_str() {
            // A mock without expectations of its own plays each scenario's script.
            "mock" if agent.table.get("expectations").is_none() => Box::new(Players),
            _ => Box::new(app.open(&config, &agent)?),
        })
    }

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
