//! How a schema is enforced: by the agent, by the prompt, or only by Windlass.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Capabilities;

/// How a schema is passed to the agent. Windlass validates the answer in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// The agent or its model API receives the schema and enforces it.
    Native,
    /// The schema is part of the prompt.
    Prompt,
    /// The agent does not receive the schema.
    None,
}

impl SchemaMode {
    /// Returns the name used in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Prompt => "prompt",
            Self::None => "none",
        }
    }
}

impl fmt::Display for SchemaMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The configured mode: a fixed mode, or the best one for the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaSetting {
    /// Native if the agent supports it, otherwise in the prompt.
    #[default]
    Auto,
    /// Always [`SchemaMode::Native`].
    Native,
    /// Always [`SchemaMode::Prompt`].
    Prompt,
    /// Always [`SchemaMode::None`].
    None,
}

impl SchemaSetting {
    /// Returns the configured mode, or `None` for [`SchemaSetting::Auto`].
    fn fixed(self) -> Option<SchemaMode> {
        match self {
            Self::Auto => None,
            Self::Native => Some(SchemaMode::Native),
            Self::Prompt => Some(SchemaMode::Prompt),
            Self::None => Some(SchemaMode::None),
        }
    }
}

impl From<SchemaMode> for SchemaSetting {
    fn from(mode: SchemaMode) -> Self {
        match mode {
            SchemaMode::Native => Self::Native,
            SchemaMode::Prompt => Self::Prompt,
            SchemaMode::None => Self::None,
        }
    }
}

/// The model API that an agent uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApiSpec {
    /// OpenAI's chat completions API. Many servers implement it, but few of them enforce a schema.
    ChatCompletions,
    /// OpenAI's responses API, which enforces a schema.
    Responses,
}

/// Returns the mode for a model API: the configured one, otherwise the best one for the API.
pub fn resolve_schema_mode(configured: SchemaSetting, api_spec: ApiSpec) -> SchemaMode {
    configured.fixed().unwrap_or(match api_spec {
        ApiSpec::ChatCompletions => SchemaMode::Prompt,
        ApiSpec::Responses => SchemaMode::Native,
    })
}

/// Returns the mode for an agent without an API spec: the configured one, otherwise the best supported one.
pub fn schema_mode_for(configured: SchemaSetting, agent: Capabilities) -> SchemaMode {
    configured.fixed().unwrap_or(if agent.native_schema {
        SchemaMode::Native
    } else {
        SchemaMode::Prompt
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_setting_wins_and_auto_depends_on_the_agent() {
        // setting, chat completions, responses, agent without native schema, agent with native schema
        let table = [
            (
                SchemaSetting::Auto,
                [
                    SchemaMode::Prompt,
                    SchemaMode::Native,
                    SchemaMode::Prompt,
                    SchemaMode::Native,
                ],
            ),
            (SchemaSetting::Native, [SchemaMode::Native; 4]),
            (SchemaSetting::Prompt, [SchemaMode::Prompt; 4]),
            (SchemaSetting::None, [SchemaMode::None; 4]),
        ];
        let agent = |native_schema| Capabilities {
            native_schema,
            ..Capabilities::default()
        };
        for (setting, modes) in table {
            let resolved = [
                resolve_schema_mode(setting, ApiSpec::ChatCompletions),
                resolve_schema_mode(setting, ApiSpec::Responses),
                schema_mode_for(setting, agent(false)),
                schema_mode_for(setting, agent(true)),
            ];
            assert_eq!(resolved, modes, "{setting:?}");
        }
    }

    #[test]
    fn mode_and_setting_have_the_same_names_in_configuration() {
        for mode in [SchemaMode::Native, SchemaMode::Prompt, SchemaMode::None] {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
            let setting = SchemaSetting::from(mode);
            assert_eq!(serde_json::to_value(setting).unwrap(), mode.as_str());
            assert_eq!(setting.fixed(), Some(mode));
        }
        assert_eq!(
            serde_json::to_value(ApiSpec::ChatCompletions).unwrap(),
            "chat_completions"
        );
        assert_eq!(
            serde_json::to_value(ApiSpec::Responses).unwrap(),
            "responses"
        );
    }
}
