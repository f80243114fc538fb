//! `windlass scenario`: runs scenario tests against an agent, and makes scenarios of recorded tasks.

mod from_task;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use windlass_agents::model::ModelKind;
use windlass_agents::{AgentContext, acp, cli};
use windlass_core::Error;
use windlass_scripted::{Script, ScriptedModel};
use windlass_testkit::scenario::{
    CassetteDir, PreparedAgent, ScenarioContext, ScenarioReport, ScenarioSubject, ScriptedSubject,
    WithScript, run_scenarios_on,
};

use super::app::App;
use super::exit::{CliError, Exit};
use super::scripted;
use crate::config::AgentConfig;
use from_task::FromTask;

#[derive(Debug, Args)]
pub(super) struct Scenarios {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every scenario of a directory and report the results
    Run(Run),
    /// Make a scenario of a recorded attempt at a task, which repeats it offline
    FromTask(FromTask),
}

#[derive(Debug, Args)]
struct Run {
    /// Directory of scenarios, or one scenario file
    dir: PathBuf,
    /// Agent to test (default: the configured agent)
    #[arg(short, long, value_name = "NAME")]
    agent: Option<String>,
    /// Record a cassette for each scenario in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "cassettes")]
    record: Option<PathBuf>,
    /// Replay from the cassettes in this directory; no agent is started
    #[arg(long, alias = "tapes", value_name = "DIR", conflicts_with = "agent")]
    cassettes: Option<PathBuf>,
    /// Script for scenarios that have none of their own
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cassettes", "own_model"])]
    script: Option<PathBuf>,
    /// Use the agent's own model instead of the scenario's scripted model
    #[arg(long)]
    own_model: bool,
    /// Also write a JUnit XML report to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Scenarios {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let run = match self.command {
            Command::Run(run) => run,
            Command::FromTask(from_task) => return from_task.run(app).await,
        };
        let mut subject = run.subject(app)?;
        if let Some(file) = &run.script {
            let script = Script::read(file).map_err(|error| CliError::usage(error.to_string()))?;
            subject = Box::new(WithScript::new(script, subject));
        }
        let report = match &run.record {
            None => run_scenarios_on(&*subject, &run.dir).await,
            Some(dir) => {
                let cassettes = CassetteDir::in_dir(dir);
                run_scenarios_on(&cassettes.recording(&*subject), &run.dir).await
            }
        };
        let report = report.map_err(|error| CliError::usage(error.to_string()))?;
        run.show(app, &report)
    }
}

impl Run {
    /// Returns the agent under test.
    fn subject(&self, app: &App<'_>) -> Result<Box<dyn ScenarioSubject>, CliError> {
        if let Some(dir) = &self.cassettes {
            return Ok(Box::new(CassetteDir::in_dir(dir)));
        }
        let agent = app.find_agent(self.agent.as_deref())?;
        // A mock without configured expectations plays each scenario's script.
        if agent.backend == "mock" && agent.settings.expectations.is_none() {
            return Ok(Box::new(ScriptedSubject));
        }
        if self.own_model || !calls_model(&agent) {
            return Ok(Box::new(app.open_agent(&agent)?));
        }
        let subject = ScriptedModelSubject {
            machine: app.machine.clone(),
            agent,
        };
        subject.check()?;
        Ok(Box::new(subject))
    }

    fn show(&self, app: &App<'_>, report: &ScenarioReport) -> Result<Exit, CliError> {
        if let Some(path) = &self.junit {
            std::fs::write(path, report.junit())
                .map_err(|error| CliError::failed(format!("{}: {error}", path.display())))?;
        }
        if self.json {
            app.console.pretty_json(&with_old_names(report))?;
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

/// Returns the report as JSON. A skipped scenario also has the old name `left_out` for one more release.
fn with_old_names(report: &impl Serialize) -> Value {
    let mut report = serde_json::to_value(report).unwrap_or_default();
    let results = report["results"].as_array_mut();
    for result in results.into_iter().flatten() {
        if result["outcome"] == "skipped" {
            result["left_out"] = result["problem"].clone();
        }
    }
    report
}

/// Returns `true` if the agent calls a model, which a scenario replaces by its script.
fn calls_model(agent: &AgentConfig) -> bool {
    let backend = agent.backend.as_str();
    agent.composite.is_some()
        || backend == "acp"
        || acp::preset(backend).is_some()
        || cli::profile(backend).is_some()
        || ModelKind::ALL.iter().any(|kind| kind.name() == backend)
}

/// A real agent. Each scenario scripts its model.
struct ScriptedModelSubject {
    machine: Result<AgentContext, String>,
    agent: AgentConfig,
}

impl ScriptedModelSubject {
    /// Rejects an agent that would ask its own model, because the scenario does not expect those answers and they may
    /// cost money.
    fn check(&self) -> Result<(), CliError> {
        let name = &self.agent.name;
        let problem = if self.agent.composite.is_some() {
            "the models of a composite's nodes cannot be scripted".to_owned()
        } else {
            match scripted::agent(&self.machine, &self.agent, "http://127.0.0.1:9") {
                Err(Error::Config { key, problem }) if key == "endpoint" => problem,
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(()),
            }
        };
        Err(CliError::usage(format!(
            "{name}: its model cannot be replaced by the scenario's script: {problem}; or pass --own-model to ask the \
             agent's own model"
        )))
    }
}

/// Additional time for a program to start on a busy machine.
const STARTUP_ALLOWANCE: Duration = Duration::from_secs(30);

impl ScenarioSubject for ScriptedModelSubject {
    fn name(&self) -> String {
        self.agent.backend.clone()
    }

    fn extra_time(&self) -> Duration {
        STARTUP_ALLOWANCE
    }

    fn prepare<'a>(
        &'a self,
        context: ScenarioContext<'a>,
    ) -> BoxFuture<'a, Result<PreparedAgent, Error>> {
        Box::pin(async move {
            let script = context.scenario.script.clone().unwrap_or_default();
            let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
            let model = ScriptedModel::start(script, loopback).await;
            let model = model.map_err(|error| Error::InvalidInput(error.to_string()))?;
            let handle = scripted::agent(&self.machine, &self.agent, &model.url())?;
            Ok(PreparedAgent {
                handle,
                end: None,
                stage: Box::new(model),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use serde_json::json;

    use crate::cli::Cli;

    #[test]
    fn skipped_scenario_has_its_old_name() {
        let report = json!({ "results": [
            { "outcome": "passed" },
            { "outcome": "skipped", "problem": "not for codex" },
        ] });
        let printed = super::with_old_names(&report);
        assert_eq!(printed["results"][0], json!({ "outcome": "passed" }));
        assert_eq!(printed["results"][1]["left_out"], "not for codex");
    }

    #[test]
    fn tapes_is_an_alias_of_cassettes() {
        let args = [
            "windlass",
            "scenario",
            "run",
            "scenarios",
            "--tapes",
            "recorded",
        ];
        let parsed = format!("{:?}", Cli::try_parse_from(args).unwrap());
        assert!(
            parsed.contains(r#"cassettes: Some("recorded")"#),
            "{parsed}"
        );
    }
}
