//! What `[agents.NAME]` may say about an agent that is a model.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::registry::parse_config;
use windlass_core::structured::SchemaMode;
use windlass_core::{ApiSpec, Error, Permissions, Result, SchemaSetting, resolve_schema_mode};

use super::{ModelKind, Prices};
use crate::http::{BaseUrl, HttpLimits};

/// How a model calls tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolMode {
    /// By the API's own calls; where the answer holds none but one call stands in its text, by that.
    #[default]
    Auto,
    /// By the API's own calls only.
    Native,
    /// By an answer that a JSON schema holds to one of the tools, or to *done*.
    Schema,
    /// By a JSON object in a code fence, found in the text.
    Text,
}

impl ToolMode {
    /// The name as it appears in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Native => "native",
            Self::Schema => "schema",
            Self::Text => "text",
        }
    }
}

/// The settings of one model. Keys of other kinds of agents are accepted and mean nothing here.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelSettings {
    /// The address of the API, with or without the `/v1` at its end.
    #[serde(alias = "sdk_url")]
    pub endpoint: Option<String>,
    /// The model, by the name that the provider gives it.
    pub model: Option<String>,
    /// The variable that holds the key. Without it a key is sent to the provider's own endpoint only.
    pub api_key_env: Option<String>,
    /// For `openai`: which of its APIs. Chat completions unless this says responses.
    pub api_spec: Option<ApiSpec>,
    /// How the model calls tools.
    pub tool_mode: ToolMode,
    /// Who holds an answer to its schema.
    pub schema_mode: SchemaSetting,
    /// Whether the model gets tools at all.
    pub tools: bool,
    /// Whether answers come piece by piece.
    pub stream: bool,
    /// What the model is told before everything else, in place of our own words.
    pub instructions: Option<String>,
    /// How many answers one turn may take.
    pub max_steps: u32,
    /// The most tokens of one answer.
    pub max_tokens: Option<u64>,
    /// The most tokens of one turn, read and written together.
    pub token_budget: Option<u64>,
    /// The most money of one turn; needs both prices.
    pub cost_budget_usd: Option<f64>,
    /// What a million tokens cost to read.
    pub input_usd_per_mtok: Option<f64>,
    /// What a million tokens cost to write.
    pub output_usd_per_mtok: Option<f64>,
    /// How the next token is chosen: 0 is the likeliest.
    pub temperature: Option<f64>,
    /// How long one turn may take.
    #[serde(alias = "timeout_seconds")]
    pub timeout_secs: Option<u64>,
    /// The longest silence of the model, before its answer and between two pieces of it.
    pub request_timeout_secs: u64,
    /// How often a request that failed is sent again.
    pub max_retries: u32,
    /// Who answers when a tool wants to act; over what the session's options say.
    pub permissions: Option<Permissions>,
}

impl Default for ModelSettings {
    fn default() -> Self {
        let limits = HttpLimits::default();
        Self {
            endpoint: None,
            model: None,
            api_key_env: None,
            api_spec: None,
            tool_mode: ToolMode::Auto,
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
            request_timeout_secs: limits.silence.as_secs(),
            max_retries: limits.retries,
            permissions: None,
        }
    }
}

impl ModelSettings {
    /// Reads the settings, and refuses what cannot work.
    pub fn from_value(config: &Value) -> Result<Self> {
        let settings: Self = parse_config(config)?;
        if let Some(endpoint) = &settings.endpoint {
            BaseUrl::parse(endpoint).map_err(|problem| Error::config("endpoint", problem))?;
        }
        if settings.max_steps == 0 {
            return Err(Error::config(
                "max_steps",
                "0: a turn takes at least one step",
            ));
        }
        if settings.request_timeout_secs == 0 {
            let problem = "0: no model answers in no time";
            return Err(Error::config("request_timeout_secs", problem));
        }
        if settings.cost_budget_usd.is_some() && settings.prices().is_none() {
            let problem =
                "needs input_usd_per_mtok and output_usd_per_mtok: cost is not known without them";
            return Err(Error::config("cost_budget_usd", problem));
        }
        Ok(settings)
    }

    /// How long one turn may take, where that is set.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_secs.map(Duration::from_secs)
    }

    /// The API in use.
    pub(super) fn api(&self) -> ApiSpec {
        self.api_spec.unwrap_or(ApiSpec::ChatCompletions)
    }

    /// The prices, where both are set.
    pub(super) fn prices(&self) -> Option<Prices> {
        Some(Prices {
            input: self.input_usd_per_mtok?,
            output: self.output_usd_per_mtok?,
        })
    }

    /// Whether the API is asked to hold answers to a schema.
    pub(super) fn enforces_schema(&self, kind: ModelKind) -> bool {
        let mode = match (kind, self.schema_mode) {
            (ModelKind::OpenAi, setting) => resolve_schema_mode(setting, self.api()),
            (_, SchemaSetting::Auto | SchemaSetting::Native) => SchemaMode::Native,
            _ => SchemaMode::Prompt,
        };
        mode == SchemaMode::Native
    }

    /// The limits of the HTTP client.
    pub(super) fn limits(&self) -> HttpLimits {
        HttpLimits {
            silence: Duration::from_secs(self.request_timeout_secs),
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
    fn what_cannot_work_is_refused_with_its_key() {
        let check = |config: Value, said: &str| {
            let error = ModelSettings::from_value(&config).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
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
        check(
            json!({ "request_timeout_secs": 0 }),
            "request_timeout_secs: 0",
        );
    }

    #[test]
    fn defaults_are_those_of_the_contract() {
        let settings = ModelSettings::from_value(&json!({ "bin": "x" })).unwrap();
        assert_eq!(settings, ModelSettings::default());
        assert_eq!(
            (settings.max_steps, settings.request_timeout_secs),
            (25, 120)
        );
        assert_eq!(settings.tool_mode.as_str(), "auto");
        assert!(!settings.enforces_schema(ModelKind::OpenAi));
        assert!(settings.enforces_schema(ModelKind::Ollama));
        let responses = ModelSettings::from_value(&json!({ "api_spec": "responses" })).unwrap();
        assert!(responses.enforces_schema(ModelKind::OpenAi));
    }
}
