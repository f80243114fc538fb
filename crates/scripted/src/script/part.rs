//! The parts of a scripted response, and their file format.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Intent;

/// A part of a scripted response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "PartFormat", into = "PartFormat")]
#[non_exhaustive]
pub enum ScriptPart {
    /// Text.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// An object, for a request that asks for one: as text, or through the tool that the agent offers for it.
    Json(Value),
    /// A wait.
    Wait(Duration),
    /// A tool call.
    Call(Intent),
}

impl ScriptPart {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Returns the intent of a tool call.
    pub fn call(&self) -> Option<&Intent> {
        match self {
            Self::Call(intent) => Some(intent),
            _ => None,
        }
    }
}

/// The file format of a part: one key and its value. It is separate from [`ScriptPart`], so that the file stays
/// flat (`{"shell": {…}}`) while the code distinguishes text from tool calls.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum PartFormat {
    Text(String),
    Reasoning(String),
    Json(Value),
    WaitMs(u64),
    Shell {
        command: String,
    },
    WriteFile {
        path: String,
        content: String,
    },
    EditFile {
        path: String,
        old: String,
        new: String,
    },
    ReadFile {
        path: String,
    },
    Mcp {
        server: String,
        tool: String,
        #[serde(default)]
        arguments: Map<String, Value>,
    },
    McpResources {
        server: String,
    },
    McpResource {
        server: String,
        uri: String,
    },
    Call {
        name: String,
        #[serde(default)]
        arguments: Value,
    },
}

impl From<PartFormat> for ScriptPart {
    fn from(format: PartFormat) -> Self {
        Self::Call(match format {
            PartFormat::Text(text) => return Self::Text(text),
            PartFormat::Reasoning(text) => return Self::Reasoning(text),
            PartFormat::Json(value) => return Self::Json(value),
            PartFormat::WaitMs(ms) => return Self::Wait(Duration::from_millis(ms)),
            PartFormat::Shell { command } => Intent::Shell { command },
            PartFormat::WriteFile { path, content } => Intent::WriteFile { path, content },
            PartFormat::EditFile { path, old, new } => Intent::EditFile { path, old, new },
            PartFormat::ReadFile { path } => Intent::ReadFile { path },
            PartFormat::Mcp {
                server,
                tool,
                arguments,
            } => Intent::Mcp {
                server,
                tool,
                arguments,
            },
            PartFormat::McpResources { server } => Intent::McpResources { server },
            PartFormat::McpResource { server, uri } => Intent::McpResource { server, uri },
            PartFormat::Call { name, arguments } => Intent::Raw { name, arguments },
        })
    }
}

impl From<ScriptPart> for PartFormat {
    fn from(part: ScriptPart) -> Self {
        let intent = match part {
            ScriptPart::Text(text) => return Self::Text(text),
            ScriptPart::Reasoning(text) => return Self::Reasoning(text),
            ScriptPart::Json(value) => return Self::Json(value),
            ScriptPart::Wait(time) => {
                return Self::WaitMs(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
            }
            ScriptPart::Call(intent) => intent,
        };
        match intent {
            Intent::Shell { command } => Self::Shell { command },
            Intent::WriteFile { path, content } => Self::WriteFile { path, content },
            Intent::EditFile { path, old, new } => Self::EditFile { path, old, new },
            Intent::ReadFile { path } => Self::ReadFile { path },
            Intent::Mcp {
                server,
                tool,
                arguments,
            } => Self::Mcp {
                server,
                tool,
                arguments,
            },
            Intent::McpResources { server } => Self::McpResources { server },
            Intent::McpResource { server, uri } => Self::McpResource { server, uri },
            Intent::Raw { name, arguments } => Self::Call { name, arguments },
        }
    }
}
