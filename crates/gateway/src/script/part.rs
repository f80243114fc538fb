//! The pieces of a scripted answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Intent;
use super::part_format::PartFormat;

/// A piece of a scripted answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "PartFormat", into = "PartFormat")]
#[non_exhaustive]
pub enum ScriptPart {
    /// Words.
    Text(String),
    /// A thought.
    Reasoning(String),
    /// An object, for whoever asked for one: as words, or through the tool that the agent offers for it.
    Json(Value),
    /// Silence.
    Wait(Duration),
    /// Something to do.
    Call(Intent),
}

impl ScriptPart {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Something to do.
    pub fn call(&self) -> Option<&Intent> {
        match self {
            Self::Call(intent) => Some(intent),
            _ => None,
        }
    }
}
