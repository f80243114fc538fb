//! `windlass agents`: lists agents with version, capabilities and health.

use clap::Args;
use futures::future::join_all;
use serde::Serialize;
use windlass_agents::composite::CompositeKind;
use windlass_agents::model::{self, ModelFit, ModelKind};
use windlass_agents::program::{Installation, Login};
use windlass_agents::{AgentContext, acp, cli};
use windlass_core::{Capabilities, Error};
use windlass_server::{AgentCard, AgentHealth};

use super::app::App;
use super::console::{Console, GOOD, WARNING};
use super::exit::{CliError, Exit};
use super::table::{self, Cell};
use crate::config::{AgentConfig, Config};
use crate::model_catalog::NOT_SERVED;

/// Maximum number of agents that are probed concurrently.
const MAX_PARALLEL: usize = 4;

#[derive(Debug, Args)]
pub(super) struct Agents {
    /// Also list agents that are neither configured nor ready, and what each is missing
    #[arg(long)]
    all: bool,
    /// Print JSON: all agents
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct AgentRow {
    pub(super) name: String,
    pub(super) backend: String,
    default: bool,
    pub(super) configured: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    pub(super) capabilities: Vec<&'static str>,
    /// Its login, or how to log in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) login: Option<String>,
    /// How to log in, if no login was found.
    #[serde(skip)]
    pub(super) login_hint: Option<&'static str>,
    /// The settings for a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fit: Option<ModelFit>,
    pub(super) health: Health,
}

/// Health of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Health {
    Ok,
    /// The problem, and what to do about it.
    Problem(String),
}

impl Agents {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let rows = rows(app).await?;
        if self.json {
            app.console.pretty_json(&rows)?;
            return Ok(Exit::Done);
        }
        let (shown, other): (Vec<_>, Vec<_>) =
            rows.iter().partition(|row| self.all || !row.is_unused());
        let cells: Vec<[Cell; 6]> = shown.into_iter().map(AgentRow::cells).collect();
        let heading = [
            "agent",
            "backend",
            "version",
            "transport",
            "health",
            "capabilities",
        ];
        table::print(app.console, heading, &cells)?;
        if !other.is_empty() {
            let names = other.iter().map(|row| row.name.as_str());
            print_unused(app.console, &names.collect::<Vec<_>>())?;
        }
        Ok(Exit::Done)
    }
}

impl AgentRow {
    /// Returns `true` if the agent can be asked: it is installed, and no login is known to be missing.
    pub(super) fn is_usable(&self) -> bool {
        self.health == Health::Ok && self.login_hint.is_none()
    }

    /// Returns `true` if the agent is neither configured nor ready: the user probably does not have it.
    pub(super) fn is_unused(&self) -> bool {
        !self.configured && self.health != Health::Ok
    }

    /// Converts the row for the server's API.
    pub(super) fn into_card(self) -> AgentCard {
        let (health, detail) = match self.health {
            Health::Ok => (AgentHealth::Ok, None),
            Health::Problem(problem) => (AgentHealth::Problem, Some(problem)),
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

    /// Returns the capabilities, and how a model is used.
    fn details(&self) -> String {
        let capabilities = self.capabilities.join(" ");
        match &self.fit {
            Some(fit) => format!("{capabilities}; {fit}"),
            None => capabilities,
        }
    }

    /// Returns the table cells. The last one is long: the capabilities, or the problem.
    fn cells(&self) -> [Cell; 6] {
        let (health, rest) = match &self.health {
            Health::Ok => match self.login_hint {
                Some(hint) => (
                    Cell::styled("no login", WARNING),
                    format!("no login found: {hint}"),
                ),
                None => (Cell::styled("ok", GOOD), self.details()),
            },
            Health::Problem(problem) => (Cell::styled("problem", WARNING), problem.clone()),
        };
        let mark = if self.default { " (default)" } else { "" };
        [
            format!("{}{mark}", self.name).into(),
            self.backend.clone().into(),
            self.version.clone().unwrap_or_default().into(),
            self.transport.unwrap_or_default().to_owned().into(),
            health,
            rest.into(),
        ]
    }
}

/// Names the agents that are neither configured nor ready.
pub(super) fn print_unused(console: &Console, names: &[&str]) -> Result<(), CliError> {
    let text = format!(
        "not installed or not set up: {}; `windlass agents --all` says what each is missing",
        names.join(", ")
    );
    let lines = match console.width() {
        Some(width) => table::wrap(&text, width),
        None => vec![text],
    };
    lines.iter().try_for_each(|line| console.line(line))?;
    Ok(())
}

/// Probes the configured agents, the composites, and the backends that work without configuration.
pub(super) async fn rows(app: &App<'_>) -> Result<Vec<AgentRow>, CliError> {
    let config = app.config()?;
    let mut agents: Vec<(AgentConfig, bool)> =
        config.all_agents().map(|agent| (agent, true)).collect();
    for backend in app.registry.available() {
        if !config.agents.contains_key(backend) && !NOT_SERVED.contains(&backend) {
            agents.push((config.resolve_agent(backend, &[backend])?, false));
        }
    }
    let mut rows = Vec::new();
    // Some agents take seconds to report their version, so several are probed concurrently.
    for chunk in agents.chunks(MAX_PARALLEL) {
        let probes = chunk
            .iter()
            .map(|(agent, configured)| row(app, config, agent, *configured));
        rows.extend(join_all(probes).await);
    }
    Ok(rows)
}

/// Probes one agent.
pub(super) async fn row_of(app: &App<'_>, name: &str) -> Result<AgentRow, CliError> {
    let agent = app.find_agent(Some(name))?;
    let config = app.config()?;
    let is_configured = config.agents.contains_key(name);
    Ok(row(app, config, &agent, is_configured).await)
}

/// Returns an error if the program of an agent is not installed, or if nothing answers for its model.
pub(super) async fn check_installed(app: &App<'_>, agent: &AgentConfig) -> Result<(), CliError> {
    let Ok(context) = &app.machine else {
        return Ok(());
    };
    let capabilities = app.open_agent(agent)?.capabilities();
    probe(context, agent, capabilities).await?;
    Ok(())
}

/// Returns `true` if the program of an agent is found, without starting it. Agents without a program always are.
pub(super) fn is_installed(app: &App<'_>, agent: &AgentConfig) -> bool {
    let Ok(context) = &app.machine else {
        return true;
    };
    let is_acp = agent.settings.transport.as_deref() == Some("acp");
    if let Some(profile) = cli::profile(&agent.backend).filter(|_| !is_acp) {
        return cli::find_program(profile, context, &agent.table()).is_ok();
    }
    match (acp::preset(&agent.backend), agent.backend.as_str()) {
        (None, backend) if backend != "acp" => true,
        (preset, _) => acp::find_program(preset, context, &agent.table()).is_ok(),
    }
}

/// Returns the kind of a composite.
fn kind(agent: &AgentConfig) -> Option<&'static str> {
    match agent.composite.as_ref()?.kind? {
        CompositeKind::Single => Some("single"),
        CompositeKind::Fallback => Some("fallback"),
        CompositeKind::PlanExecute => Some("plan_execute"),
        _ => None,
    }
}

async fn row(app: &App<'_>, config: &Config, agent: &AgentConfig, configured: bool) -> AgentRow {
    let mut row = AgentRow {
        name: agent.name.clone(),
        backend: agent.backend.clone(),
        default: config.default_agent.as_ref() == Some(&agent.name),
        configured,
        version: None,
        transport: kind(agent),
        capabilities: Vec::new(),
        login: None,
        login_hint: None,
        fit: None,
        health: Health::Ok,
    };
    let capabilities = match app.open_agent(agent) {
        Ok(handle) => handle.capabilities(),
        Err(error) => {
            row.health = Health::Problem(error.to_string());
            return row;
        }
    };
    row.capabilities = capabilities.names();
    if let Ok(context) = &app.machine {
        match probe(context, agent, capabilities).await {
            Ok(Some(found)) => {
                row.version = found.version;
                row.transport = Some(found.transport);
                row.capabilities = found.capabilities.names();
                row.login_hint = found.login.as_ref().and_then(Login::hint);
                row.login = found.login.map(|login| login.to_string());
                row.fit = found.fit;
            }
            Ok(None) => {}
            Err(error) => {
                row.capabilities = Vec::new();
                row.health = Health::Problem(match error {
                    // The row already names the agent.
                    Error::Unavailable { problem, .. } => problem,
                    error => error.to_string(),
                });
            }
        }
    }
    row
}

/// Result of a successful probe.
struct ProbeResult {
    version: Option<String>,
    transport: &'static str,
    capabilities: Capabilities,
    login: Option<Login>,
    fit: Option<ModelFit>,
}

impl From<Installation> for ProbeResult {
    fn from(found: Installation) -> Self {
        Self {
            version: found.version.map(|version| version.to_string()),
            transport: found.transport,
            capabilities: found.capabilities,
            login: Some(found.login).filter(|login| *login != Login::Unknown),
            fit: None,
        }
    }
}

/// Probes the agent's program or the model's server; returns `None` if it has neither.
async fn probe(
    context: &AgentContext,
    agent: &AgentConfig,
    capabilities: Capabilities,
) -> Result<Option<ProbeResult>, Error> {
    let mut kinds = ModelKind::ALL.into_iter();
    if let Some(kind) = kinds.find(|kind| kind.name() == agent.backend) {
        let fit = model::probe(kind, context, &agent.table()).await?;
        return Ok(Some(ProbeResult {
            version: None,
            transport: "http",
            capabilities,
            login: None,
            fit: Some(fit),
        }));
    }
    let is_acp = agent.settings.transport.as_deref() == Some("acp");
    if let Some(profile) = cli::profile(&agent.backend).filter(|_| !is_acp) {
        let found = cli::probe(profile, context, &agent.table()).await?;
        return Ok(Some(found.into()));
    }
    let preset = acp::preset(&agent.backend);
    if preset.is_none() && agent.backend != "acp" {
        return Ok(None);
    }
    let found = acp::probe(preset, context, &agent.table()).await?;
    Ok(Some(found.into()))
}
