//! Which requests a turn answers.

use serde::{Deserialize, Serialize};

use super::IntentKind;

/// What a request must be like. What is left out does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Matcher {
    /// A text in what is new since the model's last answer: the prompt, or the results of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// A tool that is offered, by its own name or by an intent (`shell`, `write_file`, `edit_file`, `read_file`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Which answer of the conversation this is, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<usize>,
}

/// What a request is like, as far as a matcher looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestFeatures {
    /// What is new since the model's last answer.
    pub news: String,
    /// The names of the tools on offer.
    pub tools: Vec<String>,
    /// The intents that these tools can fulfil.
    pub intents: Vec<IntentKind>,
    /// Which answer of the conversation is wanted, counted from 1.
    pub turn: usize,
}

impl Matcher {
    /// Whether it fits every request.
    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it fits this request.
    pub fn matches(&self, asked: &RequestFeatures) -> bool {
        self.mismatch(asked).is_none()
    }

    /// Why it does not fit, in a few words.
    pub fn mismatch(&self, asked: &RequestFeatures) -> Option<String> {
        if let Some(text) = self
            .contains
            .as_ref()
            .filter(|text| !asked.news.contains(*text))
        {
            return Some(format!("it does not contain {text:?}"));
        }
        if let Some(tool) = self.tool.as_ref().filter(|tool| !asked.offers(tool)) {
            return Some(format!("no tool {tool:?} is offered"));
        }
        if let Some(turn) = self.turn.filter(|turn| *turn != asked.turn) {
            return Some(format!("it asks for answer {}, not {turn}", asked.turn));
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
