//! The parts of a scripted response.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Intent;
use super::part_format::PartFormat;

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
