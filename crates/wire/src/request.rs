//! Requests to a model, independent of the API.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Dialect, Extra, Message, Part, Role, Text, ToolChoice, ToolDefinition};

/// A request to a model: the conversation so far, the tools, and the format of the response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelRequest {
    /// The API of the request. Only this API understands the `extra` fields.
    pub origin: Option<Dialect>,
    /// The requested model.
    pub model: String,
    /// The instructions, which are separate from the conversation and take precedence over it.
    pub instructions: Vec<Text>,
    /// The conversation, oldest message first.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Whether the model must call a tool; `None` leaves it to the provider.
    pub tool_choice: Option<ToolChoice>,
    /// Whether the model may make several calls in parallel; `None` leaves it to the provider.
    pub parallel_tools: Option<bool>,
    /// The format of the response.
    pub output: OutputFormat,
    /// The sampling parameters.
    pub sampling: Sampling,
    /// The maximum number of tokens in the response.
    pub max_tokens: Option<u64>,
    /// Whether the response is streamed.
    pub stream: bool,
    /// Whether a streamed response ends with its usage. Only chat completions may omit it.
    pub stream_usage: bool,
    /// The request's other fields.
    pub extra: Extra,
}

impl ModelRequest {
    /// Creates an empty request to a model.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            ..Self::default()
        }
    }

    /// Returns the text of the user's last message, without the tool results that may follow it.
    pub fn last_user_text(&self) -> String {
        let last = self.messages.iter().rev().find(|m| m.role == Role::User);
        last.map(Message::text).unwrap_or_default()
    }

    /// Returns the offered tool with the given name.
    pub fn tool(&self, name: &str) -> Option<&ToolDefinition> {
        self.tools.iter().find(|tool| tool.name() == Some(name))
    }

    /// Returns every part of every message, in order.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.messages.iter().flat_map(|message| &message.parts)
    }
}

/// The required format of a response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputFormat {
    /// Plain text.
    #[default]
    Text,
    /// Any JSON object.
    Json,
    /// JSON that matches a schema.
    JsonSchema(JsonSchema),
}

/// A schema for a response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JsonSchema {
    /// The schema's name. OpenAI requires one, the other APIs have none.
    pub name: Option<String>,
    /// The purpose of the schema.
    pub description: Option<String>,
    /// The JSON Schema.
    pub schema: Value,
    /// Whether the provider must enforce it.
    pub strict: Option<bool>,
}

/// Sampling parameters. Fields that are `None` or empty are left to the provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// Flattens or sharpens the probability distribution.
    pub temperature: Option<f64>,
    /// Samples from the most likely tokens up to this total probability.
    pub top_p: Option<f64>,
    /// Samples from this many of the most likely tokens.
    pub top_k: Option<u64>,
    /// Makes sampling repeatable if the provider supports it.
    pub seed: Option<i64>,
    /// Texts that end the response.
    pub stop: Vec<String>,
    /// Lowers the probability of tokens that have already occurred.
    pub presence_penalty: Option<f64>,
    /// Lowers the probability of tokens in proportion to how often they have occurred.
    pub frequency_penalty: Option<f64>,
}
