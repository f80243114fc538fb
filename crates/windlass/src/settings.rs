//! What planning and carrying out a task go by: eight values, from the environment, `.env` or `windlass.toml`.

use std::time::Duration;

use serde::Serialize;
use windlass_core::SecretString;

use crate::config::{Config, Inputs, Result};

/// How a task is planned and carried out where no agent is named.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server whose model plans.
    pub turbo_host: String,
    /// The server whose model carries plans out.
    pub local_host: String,
    /// The model that plans.
    pub planner_model: String,
    /// The model that carries plans out.
    pub coder_model: String,
    /// The key for the planner's server. Only a planner that needs it misses it.
    pub api_key: Option<SecretString>,
    /// How many times a model may be asked while it carries out one plan.
    pub max_steps: u32,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// Whether nothing is to be changed, whatever else is asked.
    pub dry_run: bool,
}

/// The settings of this process.
pub fn load_settings() -> Result<Settings> {
    let inputs = Inputs::of_process().unwrap_or_default();
    Ok(Settings::of(&Config::load(&inputs)?))
}

impl Settings {
    /// What a configuration says about them.
    pub fn of(config: &Config) -> Self {
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
}

/// A value as JSON without any space, for a log.
pub fn compact_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"unprintable\":\"{error}\"}}"))
}
