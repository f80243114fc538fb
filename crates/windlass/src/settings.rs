//! Settings for planning and executing a task: eight values from the environment, `.env` or `windlass.toml`.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use windlass_agents::AgentContext;
use windlass_agents::http::BaseUrl;
use windlass_agents::model::{ExecSummary, ModelAgent, ModelKind, ModelSettings, NoTools};
use windlass_core::{AgentHandle, Error, PermissionPolicy, SecretString, SessionOptions, Toolbox};
use windlass_runner::{Plan, PlanError, PlanOptions};
use windlass_tools::LocalTools;

use crate::config::{Config, Inputs, Result};
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
    let settings = or_load(settings)?;
    settings.check_key(KEY).map_err(Error::InvalidInput)?;
    let (inputs, context) = process_context(&settings).await?;
    let mut table = settings.planner();
    if settings.api_key.is_some() {
        table["api_key_env"] = KEY.into();
    }
    let planner = model(&table, context, Arc::new(NoTools))?;
    let options = PlanOptions {
        session: SessionOptions::in_dir(inputs.cwd),
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
    let settings = or_load(settings)?;
    let (inputs, context) = process_context(&settings).await?;
    let tools = Arc::new(LocalTools::new(context.sandbox().clone()));
    let coder = model(&settings.coder(), context, tools)?;
    let options = SessionOptions {
        permissions: PermissionPolicy::Allow,
        ..SessionOptions::in_dir(inputs.cwd)
    };
    windlass_agents::model::execute(&coder, coder_prompt, options).await
}

impl Settings {
    /// Reads the settings from a configuration.
    pub fn from_config(config: &Config) -> Self {
        let text = |key: &str| config.value(key).and_then(|value| value.as_str());
        let number = |key: &str| config.value(key).and_then(serde_json::Value::as_u64);
        let owned = |key: &str| text(key).unwrap_or_default().to_owned();
        Self {
            turbo_host: owned("run.turbo_host"),
            local_host: owned("run.local_host"),
            planner_model: owned("run.planner_model"),
            coder_model: owned("run.coder_model"),
            api_key: text("run.api_key_env").and_then(|name| config.secret(name)),
            max_steps: number("run.max_steps")
                .and_then(|steps| steps.try_into().ok())
                .unwrap_or(25),
            request_timeout: Duration::from_secs(number("run.request_timeout_secs").unwrap_or(120)),
            dry_run: config
                .value("run.dry_run")
                .and_then(serde_json::Value::as_bool)
                .unwrap_or_default(),
        }
    }

    /// Returns the planner as an agent's table: a model without streaming and without tools. The table does not
    /// contain the key.
    pub(crate) fn planner(&self) -> Value {
        json!({
            "endpoint": self.turbo_host,
            "model": self.planner_model,
            "request_timeout_secs": self.request_timeout.as_secs(),
            "instructions": Plan::instructions(),
            "stream": false,
            "tools": false,
        })
    }

    /// Returns the coder as an agent's table: a model with tools.
    pub(crate) fn coder(&self) -> Value {
        json!({
            "endpoint": self.local_host,
            "model": self.coder_model,
            "request_timeout_secs": self.request_timeout.as_secs(),
            "max_steps": self.max_steps,
        })
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

fn or_load(settings: Option<Settings>) -> windlass_core::Result<Settings> {
    let loaded = settings.map_or_else(load_settings, Ok);
    loaded.map_err(|error| Error::InvalidInput(error.to_string()))
}

/// Returns the inputs and the agent context of this process, with no key except that of the settings.
async fn process_context(settings: &Settings) -> windlass_core::Result<(Inputs, AgentContext)> {
    let inputs = Inputs::from_process()
        .map_err(|error| Error::InvalidInput(format!("no working directory: {error}")))?;
    let key = settings.api_key.clone();
    let machine = registry::agent_context(&inputs).await;
    let context = machine.map_err(|problem| Error::Unavailable {
        backend: ModelKind::Ollama.name().to_owned(),
        problem,
    })?;
    Ok((inputs, context.with_secrets(move |_| key.clone())))
}

fn model(
    table: &Value,
    context: AgentContext,
    tools: Arc<dyn Toolbox>,
) -> windlass_core::Result<AgentHandle> {
    let settings = ModelSettings::from_value(table)?;
    Ok(ModelAgent::new(ModelKind::Ollama, settings, context, tools)?.handle())
}

/// Formats a value as JSON without whitespace, for a log.
pub fn compact_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"unprintable\":\"{error}\"}}"))
}
