//! The planner and the coder of a run.

use std::fmt;

use windlass_agents::model::ModelKind;
use windlass_core::{AgentHandle, Error};

use super::Run;
use crate::agent_catalog::AgentCatalog;
use crate::cli::app::App;
use crate::cli::default_agent;
use crate::cli::exit::CliError;
use crate::config::{AgentConfig, AgentKeys, Config, Layer};
use crate::settings::Settings;

/// The two agents of a run.
pub(super) struct Roles {
    pub(super) agents: AgentCatalog,
    pub(super) planner: RoleAgent,
    pub(super) coder: RoleAgent,
}

/// The planner or the coder.
pub(super) struct RoleAgent {
    /// The agent's name.
    pub(super) name: String,
    /// The requested model, if any.
    pub(super) model: Option<String>,
    /// `true` if it is the default model from the settings, not a named agent.
    pub(super) is_default: bool,
    /// The agent's configuration for this run.
    pub(super) agent: AgentConfig,
}

impl Roles {
    /// Selects the planner and the coder: the named agent, else the default agent, else the model from the settings.
    pub(super) async fn resolve(
        app: &App<'_>,
        config: &Config,
        settings: &Settings,
        run: &Run,
    ) -> Result<Self, CliError> {
        let agents = app.catalog()?;
        let named = |flag: &Option<String>, configured: &Option<String>| {
            let name = flag.as_ref().or(configured.as_ref());
            name.or(config.default_agent.as_ref()).cloned()
        };
        let mut installed = None;
        let mut planner = match named(&run.planner, &config.run.planner) {
            Some(name) => RoleAgent::from_agent(&agents, name)?,
            None => match planner_settings(config, settings) {
                Ok(settings) => RoleAgent::default_model(settings),
                // The model cannot be used without a key.
                Err(error) => {
                    installed = default_agent::choose(app, None).await?;
                    RoleAgent::from_agent(&agents, installed.clone().ok_or(error)?)?
                }
            },
        };
        planner.choose_model(run.planner_model.as_ref());
        let mut coder = match named(&run.coder, &config.run.coder).or(installed) {
            Some(name) => RoleAgent::from_agent(&agents, name)?,
            None => RoleAgent::default_model(settings.coder()),
        };
        coder.choose_model(run.coder_model.as_ref());
        if coder.counts_steps() && (run.max_steps.is_some() || coder.steps().is_none()) {
            coder.agent.settings.max_steps = Some(settings.max_steps);
        } else if run.max_steps.is_some() && !coder.counts_steps() {
            let name = &coder.name;
            app.console.notice(&format!(
                "--max-steps is ignored: {name} does not report its steps, only models do"
            ));
        }
        for (role, keys) in [
            (&planner, ["run.turbo_host", "run.planner_model"]),
            (&coder, ["run.local_host", "run.coder_model"]),
        ] {
            notice_ignored(app, config, role, keys);
        }
        Ok(Self {
            agents,
            planner,
            coder,
        })
    }
}

/// Names the settings that have no effect because a named agent has the role.
fn notice_ignored(app: &App<'_>, config: &Config, role: &RoleAgent, keys: [&str; 2]) {
    if role.is_default {
        return;
    }
    for entry in config.entries() {
        if keys.contains(&entry.key.as_str()) && entry.origin.layer != Layer::Default {
            app.console.notice(&format!(
                "{} ({}) is ignored: {} is used",
                entry.key, entry.origin, role.name
            ));
        }
    }
}

impl RoleAgent {
    /// Uses the agent of this name.
    fn from_agent(agents: &AgentCatalog, name: String) -> Result<Self, Error> {
        let agent = agents.find(Some(&name))?;
        Ok(Self {
            name,
            model: None,
            is_default: false,
            agent,
        })
    }

    /// Uses the model that these settings describe.
    fn default_model(settings: AgentKeys) -> Self {
        let agent = AgentConfig::new(ModelKind::Ollama.name(), settings);
        Self {
            name: agent.name.clone(),
            model: agent.model.clone(),
            is_default: true,
            agent,
        }
    }

    fn choose_model(&mut self, model: Option<&String>) {
        self.model = model.cloned().or(self.model.take());
    }

    fn counts_steps(&self) -> bool {
        let kinds = ModelKind::ALL;
        kinds.iter().any(|kind| kind.name() == self.agent.backend)
    }

    fn steps(&self) -> Option<u32> {
        self.agent.settings.max_steps
    }

    /// Returns the settings that every attempt at the task needs, also in another process.
    pub(super) fn task_settings(&self) -> Option<windlass_tasks::AgentSettings> {
        let agent = &self.agent.settings;
        let mut settings = windlass_tasks::AgentSettings {
            model: self.model.clone(),
            max_steps: agent.max_steps.filter(|_| self.counts_steps()),
            ..windlass_tasks::AgentSettings::default()
        };
        if self.is_default {
            settings.endpoint.clone_from(&agent.endpoint);
            let timeout = agent.request_timeout_secs;
            settings.request_timeout_secs = timeout.map(|timeout| timeout.as_secs());
        }
        (!settings.is_empty()).then_some(settings)
    }

    /// Creates the agent.
    pub(super) fn open(&self, agents: &AgentCatalog) -> Result<AgentHandle, Error> {
        agents.open(&self.agent)
    }
}

impl fmt::Display for RoleAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(model) = self.model.as_ref().or(self.agent.model.as_ref()) {
            write!(f, " {model}")?;
        }
        let endpoint = self.agent.settings.endpoint.as_ref();
        // The query may contain a key.
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

/// Returns the planner from the settings, with its key.
fn planner_settings(config: &Config, settings: &Settings) -> Result<AgentKeys, CliError> {
    let variable = &config.run.api_key_env;
    settings.check_key(variable).map_err(CliError::usage)?;
    Ok(settings.planner(variable))
}
