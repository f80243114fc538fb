//! The five APIs.

use serde::{Deserialize, Serialize};

use crate::Framing;

/// A model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// OpenAI chat completions, `/v1/chat/completions`, which most other servers support too.
    Chat,
    /// OpenAI responses, `/v1/responses`, the only API that Codex supports.
    Responses,
    /// Anthropic messages, `/v1/messages`.
    Messages,
    /// Gemini, `/v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.
    Gemini,
    /// Ollama's native API, `/api/chat`.
    Ollama,
}

impl Dialect {
    /// All five dialects.
    pub const ALL: [Self; 5] = [
        Self::Chat,
        Self::Responses,
        Self::Messages,
        Self::Gemini,
        Self::Ollama,
    ];

    /// Returns the name, as used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the default framing of its streams.
    pub fn framing(self) -> Framing {
        match self {
            Self::Ollama => Framing::Lines,
            _ => Framing::Sse,
        }
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
