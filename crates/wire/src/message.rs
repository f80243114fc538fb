//! Messages and their parts, with the results of tool calls.

use serde::{Deserialize, Serialize};

use crate::{Extra, Opaque, ToolCall, ToolInputKind};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The operator, in the conversation rather than in the instructions.
    System,
    /// The operator, by OpenAI's newer name.
    Developer,
    /// The person or program that sends the request.
    User,
    /// The model.
    Assistant,
    /// The tools, with the results of one round of calls.
    Tool,
}

/// A message of one author.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The content, in order.
    pub parts: Vec<Part>,
    /// The message's other fields.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Message {
    /// Creates a message with the given parts.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            extra: Extra::new(),
        }
    }

    /// Returns all text of the message, with a blank line between parts.
    pub fn text(&self) -> String {
        join_text(&self.parts)
    }
}

/// Returns the text among the given parts, with a blank line between parts.
pub(crate) fn join_text(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) if !text.text.is_empty() => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text(Text),
    /// An image, passed through unchanged.
    Image(Image),
    /// Reasoning that precedes the model's response.
    Reasoning(Reasoning),
    /// A tool call made by the model.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// A value that only its own API understands.
    Opaque(Opaque),
}

impl Part {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text::new(text))
    }
}

/// A text part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Text {
    /// The text.
    pub text: String,
    /// Other fields of the part, such as a cache marker.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Text {
    /// Creates a text without extra fields.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            extra: Extra::new(),
        }
    }
}

/// An image. Its bytes are passed through without inspection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// The location of its bytes.
    pub source: ImageSource,
    /// Other fields of the part, such as the requested detail.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// The location of an image's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ImageSource {
    /// The provider fetches the image.
    Url {
        /// The image's URL.
        url: String,
    },
    /// The bytes are in the request.
    Inline {
        /// The media type, such as `image/png`.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
}

/// Reasoning that precedes the model's response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reasoning {
    /// The reasoning or its summary; empty if the provider hides it.
    pub text: String,
    /// The blob that the provider requires back unchanged: Anthropic's signature, OpenAI's encrypted content,
    /// Gemini's thought signature.
    pub signature: Option<String>,
    /// `true` if the provider withheld the text and sent only the signature.
    pub redacted: bool,
    /// The part's other fields.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// The result of a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The name of the called tool; empty if the conversation does not contain the call.
    pub name: String,
    /// The kind of that tool's input.
    pub kind: ToolInputKind,
    /// The tool's output.
    pub parts: Vec<Part>,
    /// `true` if the tool failed.
    pub is_error: bool,
    /// The result's other fields.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ToolResult {
    /// Returns all text of the result, with a blank line between parts.
    pub fn text(&self) -> String {
        join_text(&self.parts)
    }
}
