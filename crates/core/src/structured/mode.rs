//! Who enforces a schema: the agent, the prompt, or nobody but us.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Capabilities;

/// How a schema reaches the agent. We validate the answer in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// The agent or its model API is told the schema and enforces it.
    Native,
    /// The schema is put into the prompt.
    Prompt,
    /// The agent is not told.
    None,
}

impl SchemaMode {
    /// The name as it appears in configuration.
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

/// The mode as a person sets it: one of the modes, or the one that suits the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaSetting {
    /// Native where the agent can, else in the prompt.
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
    /// The mode that was set, unless the choice was left to us.
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

/// The model API that an agent is reached through, where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApiSpec {
    /// OpenAI's chat completions, which many servers speak and few hold to a schema.
    ChatCompletions,
    /// OpenAI's responses, which enforce a schema.
    Responses,
}

/// The mode in force behind a model API: what is set, else what the API is good at.
pub fn resolve_schema_mode(configured: SchemaSetting, api_spec: ApiSpec) -> SchemaMode {
    configured.fixed().unwrap_or(match api_spec {
        ApiSpec::ChatCompletions => SchemaMode::Prompt,
        ApiSpec::Responses => SchemaMode::Native,
    })
}

/// The mode in force with an agent that has no API spec: what is set, else what the agent can do.
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
    fn what_is_set_holds_and_auto_follows_the_agent() {
        use SchemaMode as Mode;
        use SchemaSetting as Set;
        // set, chat completions, responses, an agent without, an agent with a schema of its own
        let table = [
            (
                Set::Auto,
                [Mode::Prompt, Mode::Native, Mode::Prompt, Mode::Native],
            ),
            (Set::Native, [Mode::Native; 4]),
            (Set::Prompt, [Mode::Prompt; 4]),
            (Set::None, [Mode::None; 4]),
        ];
        let agent = |native_schema| Capabilities {
            native_schema,
            ..Capabilities::default()
        };
        for (set, modes) in table {
            let resolved = [
                resolve_schema_mode(set, ApiSpec::ChatCompletions),
                resolve_schema_mode(set, ApiSpec::Responses),
                schema_mode_for(set, agent(false)),
                schema_mode_for(set, agent(true)),
            ];
            assert_eq!(resolved, modes, "{set:?}");
        }
    }

    #[test]
    fn the_words_are_the_same_in_configuration() {
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
