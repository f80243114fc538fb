//! What a model may call, what it called, and what came of it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Extra, Opaque, Part};

/// How the input of a tool is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolInputKind {
    /// A JSON object that fits the tool's schema.
    #[default]
    Function,
    /// Plain text, held to a grammar at most: Codex's `apply_patch` takes its patch this way.
    Freeform,
}

/// Something the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolDefinition {
    /// It takes a JSON object.
    Function(FunctionTool),
    /// It takes plain text.
    Freeform(FreeformTool),
    /// The provider runs it; the client only switches it on.
    Hosted(Opaque),
}

impl ToolDefinition {
    /// The name the model calls it by; a hosted tool may have none.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Function(tool) => Some(&tool.name),
            Self::Freeform(tool) => Some(&tool.name),
            Self::Hosted(tool) => tool.value.get("name").and_then(Value::as_str),
        }
    }
}

/// A tool that takes a JSON object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionTool {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, for the model to read.
    pub description: Option<String>,
    /// The JSON Schema of its input.
    pub schema: Value,
    /// Whether the provider must hold the model to the schema.
    pub strict: Option<bool>,
    /// The other fields of the offer.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl FunctionTool {
    /// A tool without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: None,
            schema: json!({ "type": "object", "properties": {} }),
            strict: None,
            extra: Extra::new(),
        }
    }
}

/// A tool that takes plain text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FreeformTool {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, for the model to read.
    pub description: Option<String>,
    /// What the text must look like.
    pub grammar: Option<Grammar>,
    /// The other fields of the offer.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl FreeformTool {
    /// The nearest tool for an API that knows only JSON: an object with the text as its one field.
    pub fn into_function(self) -> FunctionTool {
        let about = self.grammar.map_or_else(
            || "the whole input, as plain text".to_owned(),
            |g| {
                format!(
                    "the whole input, as text of this {} grammar:\n{}",
                    g.syntax, g.definition
                )
            },
        );
        let input = json!({ "type": "string", "description": about });
        FunctionTool {
            name: self.name,
            description: self.description,
            schema: json!({ "type": "object", "properties": { "input": input }, "required": ["input"] }),
            strict: None,
            extra: self.extra,
        }
    }
}

/// What the input of a freeform tool must look like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grammar {
    /// The notation: `lark` or `regex`.
    pub syntax: String,
    /// The grammar in that notation.
    pub definition: String,
}

/// Whether the model must call something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// It decides.
    Auto,
    /// It must not.
    None,
    /// It must call at least one.
    Required,
    /// It must call this one.
    Named {
        /// The tool's name.
        name: String,
    },
}

/// A call the model made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCall {
    /// What its result will refer to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// How the input is written.
    pub kind: ToolInputKind,
    /// The input as the model wrote it: JSON text for a function, anything for a freeform tool.
    pub input: String,
    /// A blob the provider wants back with the call: Gemini's thought signature.
    pub signature: Option<String>,
    /// The other fields of the call.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ToolCall {
    /// The input as the JSON object that object-only APIs want.
    ///
    /// What is no object (a freeform text, or JSON that the model got wrong) becomes its field `input`, so that nothing is lost.
    pub fn input_object(&self) -> Value {
        if self.kind == ToolInputKind::Function {
            if self.input.trim().is_empty() {
                return json!({});
            }
            if let Ok(value @ Value::Object(_)) = crate::json::parse(self.input.as_bytes()) {
                return value;
            }
        }
        json!({ "input": self.input })
    }
}

/// What a call gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: String,
    /// The tool that was called; empty where the conversation does not hold the call.
    pub name: String,
    /// How that tool's input was written.
    pub kind: ToolInputKind,
    /// What the tool said.
    pub parts: Vec<Part>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// The other fields of the result.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ToolResult {
    /// All text in it, one part per paragraph.
    pub fn text(&self) -> String {
        crate::message::join_text(&self.parts)
    }
}
