//! What is asked of a model, whichever API carries it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Dialect, Message, Part, Role, Text, ToolChoice, ToolDefinition};

/// Fields that no common word covers, kept as they came so that they can go out again.
pub type Extra = Map<String, Value>;

/// A question to a model: the conversation so far, what it may call, and how it should answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelRequest {
    /// The API this came in, which alone understands the `extra` fields in it.
    pub origin: Option<Dialect>,
    /// The model asked for.
    pub model: String,
    /// What stands apart from the conversation and above it.
    pub instructions: Vec<Text>,
    /// The conversation, oldest message first.
    pub messages: Vec<Message>,
    /// What the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Whether it must call something; `None` leaves it to the provider.
    pub tool_choice: Option<ToolChoice>,
    /// Whether it may call several tools at once; `None` leaves it to the provider.
    pub parallel_tools: Option<bool>,
    /// The form of the answer.
    pub output: OutputFormat,
    /// How the next token is chosen.
    pub sampling: Sampling,
    /// The most tokens the answer may take.
    pub max_tokens: Option<u64>,
    /// Whether the answer is wanted piece by piece.
    pub stream: bool,
    /// Whether a streamed answer should end with its usage; only chat completions leaves it out.
    pub stream_usage: bool,
    /// The other fields of the request.
    pub extra: Extra,
}

impl ModelRequest {
    /// An empty request to a model.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            ..Self::default()
        }
    }

    /// The text of the last message of the user, without the tool results that may follow it.
    pub fn last_user_text(&self) -> String {
        let last = self.messages.iter().rev().find(|m| m.role == Role::User);
        last.map(Message::text).unwrap_or_default()
    }

    /// The offered tool of this name.
    pub fn tool(&self, name: &str) -> Option<&ToolDefinition> {
        self.tools.iter().find(|tool| tool.name() == Some(name))
    }

    /// Every part of every message, in order.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.messages.iter().flat_map(|message| &message.parts)
    }
}

/// The form an answer must take.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputFormat {
    /// Prose.
    #[default]
    Text,
    /// Any JSON object.
    Json,
    /// JSON that fits a schema.
    JsonSchema(JsonSchema),
}

/// A schema for an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JsonSchema {
    /// What to call it; OpenAI wants a name, the others have none.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The schema itself.
    pub schema: Value,
    /// Whether the provider must enforce it.
    pub strict: Option<bool>,
}

/// How the next token is chosen; what is `None` or empty is left to the provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// Flattens or sharpens the distribution.
    pub temperature: Option<f64>,
    /// Keeps the likeliest tokens up to this sum of probability.
    pub top_p: Option<f64>,
    /// Keeps this many of the likeliest tokens.
    pub top_k: Option<u64>,
    /// Makes the choice repeatable where the provider can.
    pub seed: Option<i64>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// Lowers the chance of tokens that have appeared.
    pub presence_penalty: Option<f64>,
    /// Lowers the chance of tokens the more they have appeared.
    pub frequency_penalty: Option<f64>,
}
