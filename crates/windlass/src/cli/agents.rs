//! `windlass agents`: who is there.

use clap::Args;
use serde::Serialize;

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
struct Row {
    name: String,
    backend: String,
    default: bool,
    configured: bool,
    capabilities: Vec<&'static str>,
    health: String,
}

impl Agents {
    pub(super) fn run(self, app: &App<'_>) -> Result<Exit, Failure> {
        let config = app.config()?;
        let rows = rows(app, &config)?;
        if self.json {
            app.console.pretty_json(&rows)?;
            return Ok(Exit::Done);
        }
        let cells: Vec<[String; 4]> = rows
            .into_iter()
            .map(|row| {
                let name = if row.default {
                    format!("{} (default)", row.name)
                } else {
                    row.name
                };
                [name, row.backend, row.health, row.capabilities.join(" ")]
            })
            .collect();
        app.console
            .table(["agent", "backend", "health", "can"], &cells)?;
        Ok(Exit::Done)
    }
}

/// The configured agents, then the backends that are agents without being configured.
fn rows(app: &App<'_>, config: &Config) -> Result<Vec<Row>, Failure> {
    let mut rows: Vec<Row> = config
        .agents()
        .iter()
        .map(|agent| row(app, config, agent, true))
        .collect();
    for backend in app.registry.available() {
        if config.agent(backend).is_none() {
            let agent = config.resolve_agent(backend, &[backend])?;
            rows.push(row(app, config, &agent, false));
        }
    }
    Ok(rows)
}

fn row(app: &App<'_>, config: &Config, agent: &AgentConfig, configured: bool) -> Row {
    let (capabilities, health) = match app.open(config, agent) {
        Ok(handle) => (handle.capabilities().names(), "ok".to_owned()),
        Err(failure) => (Vec::new(), failure.to_string()),
    };
    Row {
        name: agent.name.clone(),
        backend: agent.backend.clone(),
        default: config.default_agent() == Some(&agent.name),
        configured,
        capabilities,
        health,
    }
}
