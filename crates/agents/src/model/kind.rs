//! The model APIs that can be an agent.

use std::fmt;

use windlass_core::ApiSpec;
use windlass_wire::Dialect;

/// A provider's way to serve models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelKind {
    /// Ollama, on this machine or its cloud.
    Ollama,
    /// OpenAI, and every server that speaks chat completions or responses.
    OpenAi,
    /// Anthropic, and every server that speaks messages.
    Anthropic,
}

impl ModelKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ollama, Self::OpenAi, Self::Anthropic];

    /// The name of the backend.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// Where it is unless the configuration says otherwise.
    pub fn endpoint(self) -> &'static str {
        match self {
            Self::Ollama => "http://127.0.0.1:11434",
            Self::OpenAi => "https://api.openai.com",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }

    /// The variable with the key, for the usual endpoint only: no other server is ever handed it.
    pub(super) fn default_key_var(self) -> Option<&'static str> {
        match self {
            Self::Ollama => None,
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
        }
    }

    /// The model, where there is a usual one.
    pub(super) fn default_model(self) -> Option<&'static str> {
        (self == Self::Ollama).then_some("qwen2.5-coder")
    }

    /// The words it is spoken to in.
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
