//! Matching of requests with turns.

use serde::{Deserialize, Serialize};

use super::IntentKind;

/// Conditions on a request. Absent fields match anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Matcher {
    /// A text in the new part of the request since the model's last answer: the prompt, or the results of
    /// tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// An offered tool, by its own name or by an intent (`shell`, `write_file`, `edit_file`, `read_file`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The number of the answer in the conversation, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
}

/// The features of a request that a matcher checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestFeatures {
    /// The new text since the model's last answer.
    pub new_text: String,
    /// The names of the offered tools.
    pub tools: Vec<String>,
    /// The intents that these tools can execute.
    pub intents: Vec<IntentKind>,
    /// The number of the requested answer in the conversation, counted from 1.
    pub turn: usize,
}

impl Matcher {
    /// Returns `true` if it matches every request.
    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }

    /// Returns `true` if it matches this request.
    pub fn matches(&self, features: &RequestFeatures) -> bool {
        self.mismatch(features).is_none()
    }

    /// Returns a short explanation if it does not match.
    pub fn mismatch(&self, features: &RequestFeatures) -> Option<String> {
        if let Some(text) = self
            .contains
            .as_ref()
            .filter(|text| !features.new_text.contains(*text))
        {
            return Some(format!("it does not contain {text:?}"));
        }
        if let Some(tool) = self.tool.as_ref().filter(|tool| !features.offers(tool)) {
            return Some(format!("no tool {tool:?} is offered"));
        }
        if let Some(turn) = self.turn.filter(|turn| *turn != features.turn) {
            return Some(format!(
                "it is turn {} of the conversation, not {turn}",
                features.turn
            ));
        }
        None
    }
}

impl RequestFeatures {
    fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
            || IntentKind::from_name(tool).is_some_and(|kind| self.intents.contains(&kind))
    }
}
