//! `windlass scenario`: what an agent should be able to do, tried out.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use futures::future::BoxFuture;
use serde_json::Value;
use windlass_agents::AgentContext;
use windlass_agents::cli::{self, CliProfile};
use windlass_core::Error;
use windlass_gateway::ScriptedModel;
use windlass_testkit::scenario::{
    CassetteDir, PreparedAgent, ScenarioContext, ScenarioReport, ScenarioSubject, ScriptedSubject,
    run_scenarios_on,
};

use super::app::App;
use super::exit::{CliError, Exit};

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
    /// Let a real agent ask its own model, and not the one that each scenario scripts
    #[arg(long)]
    own_model: bool,
    /// Also write a report for a build server
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Scenarios {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let Command::Run(run) = self.command;
        let subject = run.subject(app)?;
        let played = match &run.record {
            None => run_scenarios_on(&*subject, &run.dir).await,
            Some(folder) => {
                let tapes = CassetteDir::in_dir(folder);
                run_scenarios_on(&tapes.recording(&*subject), &run.dir).await
            }
        };
        let report = played.map_err(|error| CliError::usage(error.to_string()))?;
        run.show(app, &report)
    }
}

impl Run {
    /// Who plays.
    fn subject(&self, app: &App<'_>) -> Result<Box<dyn ScenarioSubject>, CliError> {
        if let Some(folder) = &self.tapes {
            return Ok(Box::new(CassetteDir::in_dir(folder)));
        }
        let config = app.config()?;
        let agent = app.find_agent(&config, self.agent.as_deref())?;
        // A mock without expectations of its own plays each scenario's script.
        if agent.backend == "mock" && agent.table.get("expectations").is_none() {
            return Ok(Box::new(ScriptedSubject));
        }
        let profile = cli::PROFILES
            .iter()
            .find(|profile| profile.name == agent.backend);
        Ok(match (profile, &app.machine) {
            (Some(profile), Ok(context)) if !self.own_model => Box::new(ScriptedModelSubject {
                profile,
                context: context.clone(),
                table: agent.table,
            }),
            _ => Box::new(app.open_agent(&config, &agent)?),
        })
    }

    fn show(&self, app: &App<'_>, report: &ScenarioReport) -> Result<Exit, CliError> {
        if let Some(path) = &self.junit {
            std::fs::write(path, report.junit())
                .map_err(|error| CliError::failed(format!("{}: {error}", path.display())))?;
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

/// A real agent, whose model says what each scenario's script says.
struct ScriptedModelSubject {
    profile: &'static CliProfile,
    context: AgentContext,
    table: Value,
}

/// The variable that stands for the key of a model that needs none.
const NO_KEY: &str = "WINDLASS_SCRIPTED_KEY";

/// How long a program may take to start, on a machine that has other things to do.
const STARTUP_ALLOWANCE: Duration = Duration::from_secs(30);

impl ScenarioSubject for ScriptedModelSubject {
    fn name(&self) -> String {
        self.profile.name.to_owned()
    }

    fn extra_time(&self) -> Duration {
        STARTUP_ALLOWANCE
    }

    fn prepare<'a>(
        &'a self,
        cast: ScenarioContext<'a>,
    ) -> BoxFuture<'a, Result<PreparedAgent, Error>> {
        Box::pin(async move {
            let script = cast.scenario.script.clone().unwrap_or_default();
            let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
            let model = ScriptedModel::start(script, loopback).await;
            let model = model.map_err(|error| Error::InvalidInput(error.to_string()))?;
            let mut table = self.table.clone();
            table["endpoint"] = format!("{}/v1", model.url()).into();
            table["api_key_env"] = NO_KEY.into();
            let context = self
                .context
                .clone()
                .with_secrets(|_| Some("scripted".into()));
            let handle = cli::factory(self.profile, context)(&table)?;
            Ok(PreparedAgent {
                handle,
                end: None,
                stage: Box::new(model),
            })
        })
    }
}
