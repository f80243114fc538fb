//! Who plans and who carries the plan out.

use std::fmt;

use serde_json::{Value, json};
use windlass_core::task::WorkerKind;
use windlass_core::{AgentHandle, Error};
use windlass_runner::Agents;

use super::Run;
use crate::cli::app::App;
use crate::cli::exit::Failure;
use crate::config::{AgentConfig, Config};
use crate::roster::Roster;
use crate::settings::Settings;

/// The two who do the work.
pub(super) struct Cast {
    pub(super) roster: Roster,
    pub(super) planner: Player,
    pub(super) coder: Player,
    max_steps: u32,
}

/// One of the two.
pub(super) struct Player {
    /// The agent's name.
    pub(super) name: String,
    /// The model, where one is asked for.
    pub(super) model: Option<String>,
    /// The agent's settings, where they do not stand in the configuration.
    settings: Option<Value>,
    /// Where it is, for a model at an address.
    host: Option<String>,
}

impl Cast {
    /// Named agents where some are named, else the default one, else the two models of the settings.
    pub(super) fn choose(
        app: &App<'_>,
        config: &Config,
        settings: &Settings,
        run: &Run,
    ) -> Result<Self, Failure> {
        let named = |flag: &Option<String>, key: &str| {
            let name = flag
                .as_deref()
                .or(config.text(key))
                .or(config.default_agent());
            name.map(str::to_owned)
        };
        let planner = match named(&run.planner, "run.planner") {
            Some(name) => Player::named(name, run.planner_model.clone()),
            None => remote(config, settings, run.planner_model.clone())?,
        };
        let coder = match named(&run.coder, "run.coder") {
            Some(name) => Player::named(name, run.coder_model.clone()),
            None => local(settings, run.coder_model.clone()),
        };
        Ok(Self {
            roster: app.roster(config),
            planner,
            coder,
            max_steps: settings.max_steps,
        })
    }
}

impl Player {
    fn named(name: String, model: Option<String>) -> Self {
        Self {
            name,
            model,
            settings: None,
            host: None,
        }
    }

    /// The agent, ready to be asked.
    pub(super) fn open(&self, roster: &Roster) -> Result<AgentHandle, Error> {
        let Some(settings) = &self.settings else {
            return roster.agent(Some(&self.name), WorkerKind::default());
        };
        let agent = AgentConfig::made("ollama", settings.clone());
        let handle = roster.open(&agent)?;
        roster.seat(&self.name, handle.clone());
        Ok(handle)
    }
}

impl fmt::Display for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(model) = &self.model {
            write!(f, " {model}")?;
        }
        match &self.host {
            Some(host) => write!(f, " at {host}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Cast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { planner, coder, .. } = self;
        write!(
            f,
            "planner {planner}, coder {coder}, at most {} steps",
            self.max_steps
        )
    }
}

/// The planner of the settings: an Ollama server elsewhere, asked for whole answers.
fn remote(config: &Config, settings: &Settings, model: Option<String>) -> Result<Player, Failure> {
    let variable = config.text("run.api_key_env").unwrap_or("OLLAMA_API_KEY");
    let mut table = table(&settings.turbo_host, settings);
    if settings.api_key.is_some() {
        table["api_key_env"] = variable.into();
    } else if !is_here(&settings.turbo_host) {
        return Err(Failure::usage(format!(
            "{variable} is not set, and the planner at {} needs it: set it, or name another planner with --planner",
            settings.turbo_host
        )));
    }
    table["stream"] = false.into();
    table["tools"] = false.into();
    Ok(Player {
        name: "ollama".to_owned(),
        model: Some(model.unwrap_or_else(|| settings.planner_model.clone())),
        settings: Some(table),
        host: Some(settings.turbo_host.clone()),
    })
}

/// The coder of the settings: an Ollama server on this machine, with tools.
fn local(settings: &Settings, model: Option<String>) -> Player {
    let mut table = table(&settings.local_host, settings);
    table["max_steps"] = settings.max_steps.into();
    Player {
        name: "ollama".to_owned(),
        model: Some(model.unwrap_or_else(|| settings.coder_model.clone())),
        settings: Some(table),
        host: Some(settings.local_host.clone()),
    }
}

fn table(host: &str, settings: &Settings) -> Value {
    json!({
        "endpoint": host,
        "request_timeout_secs": settings.request_timeout.as_secs(),
    })
}

/// Whether an address is on this machine.
fn is_here(host: &str) -> bool {
    let rest = host.split_once("://").map_or(host, |(_, rest)| rest);
    let name = rest.split(['/', '?', '#']).next().unwrap_or_default();
    ["127.", "localhost", "[::1]"]
        .iter()
        .any(|here| name.starts_with(here))
}
