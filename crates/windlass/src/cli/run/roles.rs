//! Who plans and who carries the plan out.

use std::fmt;

use serde_json::Value;
use windlass_agents::model::ModelKind;
use windlass_core::{AgentHandle, Error};

use super::Run;
use crate::agent_catalog::AgentCatalog;
use crate::cli::app::App;
use crate::cli::exit::CliError;
use crate::config::{AgentConfig, Config};
use crate::settings::Settings;

/// The two who do the work.
pub(super) struct Roles {
    pub(super) roster: AgentCatalog,
    pub(super) planner: RoleAgent,
    pub(super) coder: RoleAgent,
}

/// One of the two.
pub(super) struct RoleAgent {
    /// The agent's name.
    pub(super) name: String,
    /// The model, where one is asked for.
    pub(super) model: Option<String>,
    /// Whether it is made of the settings, rather than a named agent.
    pub(super) is_default: bool,
    /// The agent with what is set for this run.
    agent: AgentConfig,
}

impl Roles {
    /// Named agents where some are named, else the default one, else the two models of the settings.
    pub(super) fn resolve(
        app: &App<'_>,
        config: &Config,
        settings: &Settings,
        run: &Run,
    ) -> Result<Self, CliError> {
        let roster = app.catalog(config);
        let named = |flag: &Option<String>, key: &str| {
            let name = flag
                .as_deref()
                .or(config.text(key))
                .or(config.default_agent());
            name.map(str::to_owned)
        };
        let mut planner = match named(&run.planner, "run.planner") {
            Some(name) => RoleAgent::from_agent(&roster, name)?,
            None => RoleAgent::default_model(planner_table(config, settings)?),
        };
        planner.choose_model(run.planner_model.as_ref());
        let mut coder = match named(&run.coder, "run.coder") {
            Some(name) => RoleAgent::from_agent(&roster, name)?,
            None => RoleAgent::default_model(settings.coder()),
        };
        coder.choose_model(run.coder_model.as_ref());
        if coder.counts_steps() && (run.max_steps.is_some() || coder.steps().is_none()) {
            coder.set("max_steps", settings.max_steps.into());
        } else if run.max_steps.is_some() && !coder.counts_steps() {
            let name = &coder.name;
            app.console.notice(&format!(
                "--max-steps is left out: {name} does not count its steps, only models do"
            ));
        }
        Ok(Self {
            roster,
            planner,
            coder,
        })
    }
}

impl RoleAgent {
    /// The agent of this name.
    fn from_agent(roster: &AgentCatalog, name: String) -> Result<Self, Error> {
        let agent = roster.find(Some(&name))?;
        Ok(Self {
            name,
            model: None,
            is_default: false,
            agent,
        })
    }

    /// The model that the settings make of this table.
    fn default_model(table: Value) -> Self {
        let agent = AgentConfig::from_table(ModelKind::Ollama.name(), table);
        Self {
            name: agent.name.clone(),
            model: agent.model().map(str::to_owned),
            is_default: true,
            agent,
        }
    }

    fn choose_model(&mut self, model: Option<&String>) {
        self.model = model.cloned().or(self.model.take());
    }

    /// Sets a key for this run. What a composite is made of keeps what is set for it.
    fn set(&mut self, key: &str, value: Value) {
        if self.agent.composite_name().is_none() {
            self.agent.table[key] = value;
        }
    }

    fn counts_steps(&self) -> bool {
        let kinds = ModelKind::ALL;
        kinds.iter().any(|kind| kind.name() == self.agent.backend)
    }

    fn steps(&self) -> Option<u64> {
        self.agent.table.get("max_steps")?.as_u64()
    }

    /// The agent, ready to be asked.
    pub(super) fn open(&self, roster: &AgentCatalog) -> Result<AgentHandle, Error> {
        roster.open(&self.agent)
    }
}

impl fmt::Display for RoleAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(model) = self.model.as_deref().or(self.agent.model()) {
            write!(f, " {model}")?;
        }
        let endpoint = self.agent.table.get("endpoint").and_then(Value::as_str);
        // Somebody may have put a key into the query.
        match endpoint.and_then(|endpoint| endpoint.split('?').next()) {
            Some(host) => write!(f, " at {host}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "planner {}, coder {}", self.planner, self.coder)?;
        match self.coder.steps().filter(|_| self.coder.counts_steps()) {
            Some(1) => f.write_str(", at most 1 step"),
            Some(steps) => write!(f, ", at most {steps} steps"),
            None => Ok(()),
        }
    }
}

/// The planner of the settings, with its key.
fn planner_table(config: &Config, settings: &Settings) -> Result<Value, CliError> {
    let variable = config.text("run.api_key_env").unwrap_or_default();
    settings.check_key(variable).map_err(CliError::usage)?;
    let mut table = settings.planner();
    if settings.api_key.is_some() {
        table["api_key_env"] = variable.into();
    }
    Ok(table)
}
