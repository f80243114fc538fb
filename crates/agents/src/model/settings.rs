//! The `[agents.NAME]` settings of an agent that is a model.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::registry::parse_config;
use windlass_core::structured::SchemaMode;
use windlass_core::{
    ApiSpec, EditMode, Error, Permissions, Result, SchemaSetting, resolve_schema_mode,
};

use super::ModelKind;
use super::prices::Prices;
use crate::bridge::BridgeMode;
use crate::http::{BaseUrl, HttpLimits};

/// How a model calls tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolMode {
    /// The mode for the family of the model. By default, native tool calls; if the answer has none, a single call
    /// in its text is accepted.
    #[default]
    Auto,
    /// Native tool calls only.
    Native,
    /// A JSON schema restricts the answer to a call of one of the tools, or to *done*.
    Schema,
    /// A JSON object in a code fence in the text.
    Text,
}

impl ToolMode {
    /// Returns the name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Native => "native",
            Self::Schema => "schema",
            Self::Text => "text",
        }
    }
}

/// The settings of one model. Keys of other kinds of agents are accepted and ignored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelSettings {
    /// The base URL of the API, with or without a trailing `/v1`.
    #[serde(alias = "sdk_url")]
    pub endpoint: Option<String>,
    /// The provider's name of the model.
    pub model: Option<String>,
    /// The environment variable of the key. If it is not set, a key is sent to the provider's own endpoint only.
    pub api_key_env: Option<String>,
    /// The most calls of one account at the same time.
    pub max_calls: Option<u32>,
    /// For `openai`: the API to use; chat completions by default.
    pub api_spec: Option<ApiSpec>,
    /// How the model calls tools.
    pub tool_mode: ToolMode,
    /// How the model changes files in a task.
    pub edit_mode: EditMode,
    /// The most tokens of a prompt and its answer. By default the server is asked.
    pub context_window: Option<u64>,
    /// How an answer is made to match its schema.
    pub schema_mode: SchemaSetting,
    /// Whether the model gets tools.
    pub tools: bool,
    /// Whether answers are streamed.
    pub stream: bool,
    /// The system prompt, which replaces the built-in one.
    pub instructions: Option<String>,
    /// The most answers of the model in one turn.
    pub max_steps: u32,
    /// The most tokens of one answer.
    pub max_tokens: Option<u64>,
    /// The most input and output tokens of one turn.
    pub token_budget: Option<u64>,
    /// The highest cost of one turn; needs both prices.
    pub cost_budget_usd: Option<f64>,
    /// The price of a million input tokens.
    pub input_usd_per_mtok: Option<f64>,
    /// The price of a million output tokens.
    pub output_usd_per_mtok: Option<f64>,
    /// The sampling temperature; 0 always chooses the most likely token.
    pub temperature: Option<f64>,
    /// The timeout of one turn.
    #[serde(alias = "timeout_seconds")]
    pub timeout_secs: Option<u64>,
    /// The idle timeout of a request, before the first chunk and between chunks.
    pub request_timeout_secs: u64,
    /// How often a failed request is retried.
    pub max_retries: u32,
    /// The permissions of tools; they override the options of the session.
    pub permissions: Option<Permissions>,
    /// Whether the bridge counts the calls.
    pub bridge: BridgeMode,
    /// The configured name of the agent.
    pub name: Option<String>,
}

impl Default for ModelSettings {
    fn default() -> Self {
        let limits = HttpLimits::default();
        Self {
            endpoint: None,
            model: None,
            api_key_env: None,
            max_calls: None,
            api_spec: None,
            tool_mode: ToolMode::Auto,
            edit_mode: EditMode::Auto,
            context_window: None,
            schema_mode: SchemaSetting::Auto,
            tools: true,
            stream: true,
            instructions: None,
            max_steps: 25,
            max_tokens: None,
            token_budget: None,
            cost_budget_usd: None,
            input_usd_per_mtok: None,
            output_usd_per_mtok: None,
            temperature: None,
            timeout_secs: None,
            request_timeout_secs: limits.idle_timeout.as_secs(),
            max_retries: limits.retries,
            permissions: None,
            bridge: BridgeMode::On,
            name: None,
        }
    }
}

impl ModelSettings {
    /// Parses and validates the settings.
    pub fn from_value(config: &Value) -> Result<Self> {
        let settings: Self = parse_config(config)?;
        if let Some(endpoint) = &settings.endpoint {
            BaseUrl::parse(endpoint).map_err(|problem| Error::config("endpoint", problem))?;
        }
        if settings.max_steps == 0 {
            return Err(Error::config("max_steps", "0: must be at least 1"));
        }
        if let Some(window) = settings.context_window.filter(|window| *window < 512) {
            let problem = format!("{window}: must be at least 512");
            return Err(Error::config("context_window", problem));
        }
        if settings.request_timeout_secs == 0 {
            let problem = "0: must be at least 1";
            return Err(Error::config("request_timeout_secs", problem));
        }
        if settings.cost_budget_usd.is_some() && settings.prices().is_none() {
            let problem = "needs input_usd_per_mtok and output_usd_per_mtok: the cost is unknown without them";
            return Err(Error::config("cost_budget_usd", problem));
        }
        Ok(settings)
    }

    /// Returns the timeout of one turn, if it is set.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_secs.map(Duration::from_secs)
    }

    /// Returns the API in use.
    pub(super) fn api(&self) -> ApiSpec {
        self.api_spec.unwrap_or(ApiSpec::ChatCompletions)
    }

    /// Returns the prices, if both are set.
    pub(super) fn prices(&self) -> Option<Prices> {
        Some(Prices {
            input: self.input_usd_per_mtok?,
            output: self.output_usd_per_mtok?,
        })
    }

    /// Returns `true` if the API is asked to enforce the schema of an answer.
    pub(super) fn enforces_schema(&self, kind: ModelKind, setting: SchemaSetting) -> bool {
        let mode = match (kind, setting) {
            (ModelKind::OpenAi, setting) => resolve_schema_mode(setting, self.api()),
            (_, SchemaSetting::Auto | SchemaSetting::Native) => SchemaMode::Native,
            _ => SchemaMode::Prompt,
        };
        mode == SchemaMode::Native
    }

    /// Returns the limits of the HTTP client.
    pub(super) fn limits(&self) -> HttpLimits {
        HttpLimits {
            idle_timeout: Duration::from_secs(self.request_timeout_secs),
            retries: self.max_retries,
            ..HttpLimits::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn invalid_setting_is_rejected_with_its_key() {
        let check = |config: Value, expected: &str| {
            let error = ModelSettings::from_value(&config).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check(
            json!({ "endpoint": "gopher://h" }),
            "endpoint: expected an address",
        );
        check(json!({ "max_steps": 0 }), "max_steps: 0");
        check(json!({ "max_steps": -1 }), "max_steps: invalid value");
        check(
            json!({ "tool_mode": "magic" }),
            "tool_mode: unknown variant",
        );
        check(json!({ "api_spec": "soap" }), "api_spec: unknown variant");
        check(
            json!({ "cost_budget_usd": 1.0 }),
            "cost_budget_usd: needs input_usd",
        );
        check(json!({ "context_window": 100 }), "context_window: 100");
        check(
            json!({ "edit_mode": "magic" }),
            "edit_mode: unknown variant",
        );
        check(
            json!({ "request_timeout_secs": 0 }),
            "request_timeout_secs: 0",
        );
    }

    #[test]
    fn defaults_match_the_documentation() {
        let settings = ModelSettings::from_value(&json!({ "bin": "x" })).unwrap();
        assert_eq!(settings, ModelSettings::default());
        assert_eq!(
            (settings.max_steps, settings.request_timeout_secs),
            (25, 120)
        );
        assert_eq!(settings.tool_mode.as_str(), "auto");
        let enforces =
            |settings: &ModelSettings, kind| settings.enforces_schema(kind, settings.schema_mode);
        assert!(!enforces(&settings, ModelKind::OpenAi));
        assert!(enforces(&settings, ModelKind::Ollama));
        let responses = ModelSettings::from_value(&json!({ "api_spec": "responses" })).unwrap();
        assert!(enforces(&responses, ModelKind::OpenAi));
    }
}
