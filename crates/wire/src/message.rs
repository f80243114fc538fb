//! Who said what: messages and the parts they are made of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Dialect, Extra, ToolCall, ToolResult};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The operator, inside the conversation rather than in its instructions.
    System,
    /// The operator, by OpenAI's newer name.
    Developer,
    /// The person or program that asks.
    User,
    /// The model.
    Assistant,
    /// The tools, answering one round of calls.
    Tool,
}

/// One turn of one speaker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
    /// The other fields of the message.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Message {
    /// A message of these parts.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            extra: Extra::new(),
        }
    }

    /// All text in it, one part per paragraph.
    pub fn text(&self) -> String {
        join_text(&self.parts)
    }
}

/// The text among these parts, one part per paragraph.
pub(crate) fn join_text(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) if !text.text.is_empty() => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Words.
    Text(Text),
    /// A picture, passed through.
    Image(Image),
    /// What the model thought before it spoke.
    Reasoning(Reasoning),
    /// A call the model made.
    ToolCall(ToolCall),
    /// What a call gave.
    ToolResult(ToolResult),
    /// Something that only its own API understands.
    Opaque(Opaque),
}

impl Part {
    /// A part of words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text::new(text))
    }
}

/// Words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Text {
    /// The words.
    pub text: String,
    /// The other fields beside them, such as a cache mark.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Text {
    /// Words with nothing beside them.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            extra: Extra::new(),
        }
    }
}

/// A picture, passed through without a look inside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// Where its bytes are.
    pub source: ImageSource,
    /// The other fields beside it, such as the wanted detail.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Where the bytes of a picture are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ImageSource {
    /// The provider fetches them.
    Url {
        /// From here.
        url: String,
    },
    /// They are in the request.
    Inline {
        /// Such as `image/png`.
        media_type: String,
        /// In base64.
        data: String,
    },
}

/// What the model thought before it spoke.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reasoning {
    /// The thought or its summary; empty where the provider hides it.
    pub text: String,
    /// The blob the provider wants back unchanged: Anthropic's signature, OpenAI's encrypted content, Gemini's thought signature.
    pub signature: Option<String>,
    /// Whether the provider withheld the text and the signature is all there is.
    pub redacted: bool,
    /// The other fields beside it.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Something that only its own API understands, carried to that API and dropped on the way to any other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opaque {
    /// The API that understands it.
    pub dialect: Dialect,
    /// The thing as it came.
    pub value: Value,
}
