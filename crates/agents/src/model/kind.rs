//! The kinds of model APIs that can be used as an agent.

use std::fmt;

use windlass_core::ApiSpec;
use windlass_wire::Dialect;

/// A kind of model provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelKind {
    /// Ollama, on this machine or its cloud.
    Ollama,
    /// OpenAI, and every server that implements chat completions or responses.
    OpenAi,
    /// Anthropic, and every server that implements messages.
    Anthropic,
}

impl ModelKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Ollama, Self::OpenAi, Self::Anthropic];

    /// Returns the name of the backend.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// Returns the default endpoint.
    pub fn endpoint(self) -> &'static str {
        match self {
            Self::Ollama => "http://127.0.0.1:11434",
            Self::OpenAi => "https://api.openai.com",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }

    /// Returns the environment variable of the key for the default endpoint. The key is never sent to another server.
    pub(super) fn default_key_var(self) -> Option<&'static str> {
        match self {
            Self::Ollama => None,
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
        }
    }

    /// Returns the default model, if there is one.
    pub(super) fn default_model(self) -> Option<&'static str> {
        match self {
            Self::Ollama => Some("qwen2.5-coder"),
            // Its models have no other provider. Servers with OpenAI's API have models of many.
            Self::Anthropic => Some("claude-sonnet-5"),
            Self::OpenAi => None,
        }
    }

    /// Returns the dialect of its API.
    pub(super) fn dialect(self, api_spec: ApiSpec) -> Dialect {
        match (self, api_spec) {
            (Self::Ollama, _) => Dialect::Ollama,
            (Self::Anthropic, _) => Dialect::Messages,
            (Self::OpenAi, ApiSpec::Responses) => Dialect::Responses,
            (Self::OpenAi, _) => Dialect::Chat,
        }
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
