//! `windlass agents`: who is there.

use clap::Args;
use serde::Serialize;
use windlass_agents::{AgentContext, acp, cli};
use windlass_core::{Capabilities, Error};
use windlass_server::AgentCard;

use super::app::App;
use super::exit::{Exit, Failure};
use crate::config::{AgentConfig, Config};
use crate::served::NOBODY;

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
    /// The same for those who ask the server.
    pub(super) fn card(self) -> AgentCard {
        let (health, detail) = match self.health {
            Health::Ok => ("ok", None),
            Health::Problem(problem) => ("problem", Some(problem)),
        };
        AgentCard {
            name: self.name,
            backend: self.backend,
            transport: self.transport.map(str::to_owned),
            version: self.version,
            capabilities: self.capabilities.into_iter().map(str::to_owned).collect(),
            default: self.default,
            configured: self.configured,
            health,
            detail,
        }
    }

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

/// The configured agents, what is made of them, then the backends that are agents without being configured.
pub(super) async fn rows(app: &App<'_>, config: &Config) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for agent in config.agents() {
        rows.push(row(app, config, &agent, true).await);
    }
    for composite in config.composites() {
        let mut row = row(app, config, &composite, true).await;
        row.transport = kind(&composite);
        rows.push(row);
    }
    for backend in app.registry.available() {
        if config.agent(backend).is_none() && !NOBODY.contains(&backend) {
            let agent = config.resolve_agent(backend, &[backend])?;
            rows.push(row(app, config, &agent, false).await);
        }
    }
    Ok(rows)
}

/// How a composite's nodes work together.
fn kind(composite: &AgentConfig) -> Option<&'static str> {
    let kind = composite.table.get("kind")?.as_str()?;
    let kinds = ["single", "fallback", "plan_execute"];
    kinds.into_iter().find(|known| *known == kind)
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
    if let (Ok(context), Health::Ok) = (&app.machine, &row.health) {
        match seen(context, agent).await {
            Ok(Some(seen)) => {
                row.version = seen.version;
                row.transport = Some(seen.transport);
                row.capabilities = seen.capabilities.names();
            }
            Ok(None) => {}
            Err(error) => {
                row.capabilities = Vec::new();
                row.health = Health::Problem(error.to_string());
            }
        }
    }
    row
}

/// A program that was looked for and is there.
struct Seen {
    version: Option<String>,
    transport: &'static str,
    capabilities: Capabilities,
}

/// Looks for the agent's program; `None` if it is none.
async fn seen(context: &AgentContext, agent: &AgentConfig) -> Result<Option<Seen>, Error> {
    let is_acp = agent.table.get("transport").is_some_and(|way| way == "acp");
    let mut profiles = cli::PROFILES.iter();
    if let Some(profile) = profiles.find(|profile| profile.name == agent.backend && !is_acp) {
        let found = cli::probe(profile, context, &agent.table).await?;
        return Ok(Some(Seen {
            version: Some(found.version.to_string()),
            transport: found.transport.name,
            capabilities: found.capabilities(),
        }));
    }
    let preset = acp::preset(&agent.backend);
    if preset.is_none() && agent.backend != "acp" {
        return Ok(None);
    }
    let found = acp::probe(preset, context, &agent.table).await?;
    Ok(Some(Seen {
        version: found.version.map(|version| version.to_string()),
        transport: found.transport,
        capabilities: found.capabilities(),
    }))
}
