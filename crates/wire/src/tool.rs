//! Tool definitions and calls.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Extra, Opaque};

/// The kind of input a tool takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolInputKind {
    /// A JSON object that matches the tool's schema.
    #[default]
    Function,
    /// Plain text, optionally with a grammar, as for Codex's `apply_patch`.
    Freeform,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolDefinition {
    /// Takes a JSON object.
    Function(FunctionTool),
    /// Takes plain text.
    Freeform(FreeformTool),
    /// Runs at the provider; the client only enables it.
    Hosted(Opaque),
}

impl ToolDefinition {
    /// Returns the name by which the model calls the tool. A hosted tool may have none.
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
    /// The name by which the model calls the tool.
    pub name: String,
    /// The description for the model.
    pub description: Option<String>,
    /// The JSON Schema of its input.
    pub schema: Value,
    /// Whether the provider must enforce the schema.
    pub strict: Option<bool>,
    /// The definition's other fields.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl FunctionTool {
    /// Creates a tool without arguments.
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
    /// The name by which the model calls the tool.
    pub name: String,
    /// The description for the model.
    pub description: Option<String>,
    /// The grammar of the text, if any.
    pub grammar: Option<Grammar>,
    /// The definition's other fields.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl FreeformTool {
    /// Converts to the closest tool for an API that supports only JSON: an object with the text as its only
    /// field.
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

/// The grammar of a freeform tool's input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grammar {
    /// The notation: `lark` or `regex`.
    pub syntax: String,
    /// The grammar in that notation.
    pub definition: String,
}

/// Whether the model must call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// The model must not call a tool.
    None,
    /// The model must call at least one tool.
    Required,
    /// The model must call this tool.
    Named {
        /// The tool's name.
        name: String,
    },
}

/// A call made by the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCall {
    /// The id that the result refers to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The kind of input.
    pub kind: ToolInputKind,
    /// The input as the model wrote it: JSON text for a function, any text for a freeform tool.
    pub input: String,
    /// A blob that the provider requires back with the call: Gemini's thought signature.
    pub signature: Option<String>,
    /// The call's other fields.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl ToolCall {
    /// Returns the input as the JSON object that object-only APIs require.
    ///
    /// Input that is not an object (freeform text, or invalid JSON from the model) is wrapped in the field
    /// `input`, so that nothing is lost.
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
