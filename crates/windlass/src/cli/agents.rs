//! `windlass agents`: who is there.

use clap::Args;
use serde::Serialize;
use windlass_agents::cli;

use super::app::App;
use super::exit::{Exit, Failure};
use crate::config::{AgentConfig, Config};

#[derive(Debug, Args)]
pub(super) struct Agents {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) backend: String,
    default: bool,
    pub(super) configured: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    capabilities: Vec<&'static str>,
    pub(super) health: Health,
}

/// How an agent is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Health {
    Ok,
    /// What is wrong, and what to do.
    Problem(String),
}

impl Agents {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, Failure> {
        let config = app.config()?;
        let rows = rows(app, &config).await?;
        if self.json {
            app.console.pretty_json(&rows)?;
            return Ok(Exit::Done);
        }
        let cells: Vec<[String; 6]> = rows.iter().map(Row::cells).collect();
        let heading = ["agent", "backend", "version", "transport", "can", "health"];
        app.console.table(heading, &cells)?;
        Ok(Exit::Done)
    }
}

impl Row {
    fn cells(&self) -> [String; 6] {
        let health = match &self.health {
            Health::Ok => "ok".to_owned(),
            Health::Problem(problem) => problem.clone(),
        };
        let mark = if self.default { " (default)" } else { "" };
        [
            format!("{}{mark}", self.name),
            self.backend.clone(),
            self.version.clone().unwrap_or_default(),
            self.transport.unwrap_or_default().to_owned(),
            self.capabilities.join(" "),
            health,
        ]
    }
}

/// The configured agents, then the backends that are agents without being configured.
pub(super) async fn rows(app: &App<'_>, config: &Config) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for agent in config.agents() {
        rows.push(row(app, config, &agent, true).await);
    }
    for backend in app.registry.available() {
        // `direct` is the older name of `claude`, and a replay without a cassette is nothing.
        if config.agent(backend).is_none() && !["direct", "replay"].contains(&backend) {
            let agent = config.resolve_agent(backend, &[backend])?;
            rows.push(row(app, config, &agent, false).await);
        }
    }
    Ok(rows)
}

async fn row(app: &App<'_>, config: &Config, agent: &AgentConfig, configured: bool) -> Row {
    let mut row = Row {
        name: agent.name.clone(),
        backend: agent.backend.clone(),
        default: config.default_agent() == Some(&agent.name),
        configured,
        version: None,
        transport: None,
        capabilities: Vec::new(),
        health: Health::Ok,
    };
    let opened = app
        .open(config, agent)
        .map(|handle| handle.capabilities().names());
    match opened {
        Ok(capabilities) => row.capabilities = capabilities,
        Err(failure) => row.health = Health::Problem(failure.to_string()),
    }
    let profile = cli::PROFILES
        .iter()
        .find(|profile| profile.name == agent.backend);
    if let (Some(profile), Ok(context), Health::Ok) = (profile, &app.machine, &row.health) {
        match cli::probe(profile, context, &agent.table).await {
            Ok(found) => {
                row.version = Some(found.version.to_string());
                row.transport = Some(found.transport.name);
                row.capabilities = found.capabilities().names();
            }
            Err(error) => {
                row.capabilities = Vec::new();
                row.health = Health::Problem(error.to_string());
            }
        }
    }
    row
}
