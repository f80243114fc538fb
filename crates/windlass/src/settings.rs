//! Settings for planning and executing a task: eight values from the environment, `.env` or `windlass.toml`.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use windlass_agents::AgentContext;
use windlass_agents::http::BaseUrl;
use windlass_agents::model::{ExecSummary, ModelAgent, ModelKind, ModelSettings, NoTools};
use windlass_core::{AgentHandle, Error, PermissionPolicy, SecretString, SessionOptions, Toolbox};
use windlass_runner::{Plan, PlanError, PlanOptions};
use windlass_tools::LocalTools;

use crate::config::{AgentKeys, Config, Inputs, Result};
use crate::registry;

/// The variable that holds the planner's key, unless the configuration names another.
const KEY: &str = "OLLAMA_API_KEY";

/// Settings for planning and executing a task if no agent is named.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server of the planner model.
    pub turbo_host: String,
    /// The server of the coder model, which executes plans.
    pub local_host: String,
    /// The planner model.
    pub planner_model: String,
    /// The coder model, which executes plans.
    pub coder_model: String,
    /// The key for the planner's server. It may be absent if the server needs no key.
    pub api_key: Option<SecretString>,
    /// Maximum number of model calls while executing one plan.
    pub max_steps: u32,
    /// Timeout of one request.
    pub request_timeout: Duration,
    /// If `true`, nothing is changed, even with `--apply`.
    pub dry_run: bool,
}

/// Loads the settings of this process.
pub fn load_settings() -> Result<Settings> {
    let inputs = Inputs::from_process().unwrap_or_default();
    Ok(Settings::from_config(&Config::load(&inputs)?))
}

/// Makes a plan with the planner of these settings, or of this process. It changes no files.
///
/// Sends a non-streaming request with the key to `{turbo_host}/api/chat`. The planning prompt is the system message,
/// the task is the user message.
pub async fn get_plan(
    task: &str,
    settings: Option<Settings>,
) -> std::result::Result<Plan, PlanError> {
    let process = ProcessConfig::new(settings)?;
    let settings = &process.settings;
    settings.check_key(KEY).map_err(Error::InvalidInput)?;
    let context = process.context().await?;
    let planner = model(settings.planner(KEY), context, Arc::new(NoTools))?;
    let options = PlanOptions {
        session: SessionOptions::in_dir(process.inputs.cwd),
        is_instructed: true,
        ..PlanOptions::default()
    };
    windlass_runner::get_plan(task, &planner, options).await
}

/// Executes a plan with the coder of these settings, or of this process, using tools in the working directory of this
/// process.
///
/// The files there are changed directly. To use a clone, run the tests and be able to undo, use `windlass run
/// --apply`.
pub async fn execute(
    coder_prompt: &str,
    settings: Option<Settings>,
) -> windlass_core::Result<ExecSummary> {
    let process = ProcessConfig::new(settings)?;
    let context = process.context().await?;
    let tools = Arc::new(LocalTools::new(context.sandbox().clone()));
    let coder = model(process.settings.coder(), context, tools)?;
    let options = SessionOptions {
        permissions: PermissionPolicy::Allow,
        ..SessionOptions::in_dir(process.inputs.cwd)
    };
    windlass_agents::model::execute(&coder, coder_prompt, options).await
}

impl Settings {
    /// Reads the settings from a configuration.
    pub fn from_config(config: &Config) -> Self {
        let run = config.run.clone();
        Self {
            turbo_host: run.turbo_host,
            local_host: run.local_host,
            planner_model: run.planner_model,
            coder_model: run.coder_model,
            api_key: config.secret(&run.api_key_env),
            max_steps: run.max_steps,
            request_timeout: run.request_timeout_secs,
            dry_run: run.dry_run,
        }
    }

    /// Returns the planner as an agent: a model without streaming and without tools. If it has a key, this variable
    /// holds it.
    pub(crate) fn planner(&self, key_variable: &str) -> AgentKeys {
        AgentKeys {
            endpoint: Some(self.turbo_host.clone()),
            model: Some(self.planner_model.clone()),
            request_timeout_secs: Some(self.request_timeout),
            instructions: Some(Plan::instructions().to_owned()),
            stream: Some(false),
            tools: Some(false),
            api_key_env: self.api_key.as_ref().map(|_| key_variable.to_owned()),
            ..AgentKeys::default()
        }
    }

    /// Returns the coder as an agent: a model with tools.
    pub(crate) fn coder(&self) -> AgentKeys {
        AgentKeys {
            endpoint: Some(self.local_host.clone()),
            model: Some(self.coder_model.clone()),
            request_timeout_secs: Some(self.request_timeout),
            max_steps: Some(self.max_steps),
            ..AgentKeys::default()
        }
    }

    /// Returns an error if the planner's server needs the key of this variable and it is not set. Only a server on
    /// this machine needs no key.
    pub(crate) fn check_key(&self, variable: &str) -> std::result::Result<(), String> {
        let host = &self.turbo_host;
        let is_local = || BaseUrl::parse(host).is_ok_and(|address| address.is_local());
        if self.api_key.is_some() || is_local() {
            return Ok(());
        }
        Err(format!(
            "{variable} is not set, and the planner at {host} needs it: set it, or name another planner with --planner"
        ))
    }
}

/// The inputs of this process and its configuration, which is read once.
struct ProcessConfig {
    inputs: Inputs,
    config: Arc<Config>,
    settings: Settings,
}

impl ProcessConfig {
    /// Reads the configuration, and from it the settings unless the caller has its own.
    fn new(settings: Option<Settings>) -> windlass_core::Result<Self> {
        let inputs = Inputs::from_process()
            .map_err(|error| Error::InvalidInput(format!("no working directory: {error}")))?;
        let config =
            Config::load(&inputs).map_err(|error| Error::InvalidInput(error.to_string()))?;
        Ok(Self {
            inputs,
            settings: settings.unwrap_or_else(|| Settings::from_config(&config)),
            config: Arc::new(config),
        })
    }

    /// Returns the agent context, with no key except that of the settings.
    async fn context(&self) -> windlass_core::Result<AgentContext> {
        let key = self.settings.api_key.clone();
        let machine = registry::agent_context(&self.config, &self.inputs).await;
        let context = machine.map_err(|problem| Error::Unavailable {
            backend: ModelKind::Ollama.name().to_owned(),
            problem,
        })?;
        Ok(context.with_secrets(move |_| key.clone()))
    }
}

fn model(
    settings: AgentKeys,
    context: AgentContext,
    tools: Arc<dyn Toolbox>,
) -> windlass_core::Result<AgentHandle> {
    let settings = ModelSettings::from_value(&settings.to_table())?;
    Ok(ModelAgent::new(ModelKind::Ollama, settings, context, tools)?.handle())
}

/// Formats a value as JSON without whitespace, for a log.
pub fn compact_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"unprintable\":\"{error}\"}}"))
}
