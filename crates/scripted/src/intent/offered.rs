//! The tools that a request offers, at any position in it.

use serde_json::Value;
use windlass_wire::{ModelRequest, Part, ToolDefinition};

/// An offered tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfferedTool<'a> {
    /// The name by which the model calls it.
    pub(crate) name: &'a str,
    /// The input it takes.
    pub(crate) input: ToolInputSchema<'a>,
}

/// The input that a tool takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToolInputSchema<'a> {
    /// A JSON object with this schema.
    Object(&'a Value),
    /// Plain text, with the tool's description.
    Text(&'a str),
}

/// Returns the offered tools: those in the tool list, and those that Codex puts before the conversation for
/// its newest models.
pub(crate) fn offered_tools(request: &ModelRequest) -> Vec<OfferedTool<'_>> {
    let mut found: Vec<OfferedTool<'_>> =
        request.tools.iter().filter_map(from_definition).collect();
    for part in request.parts() {
        if let Part::Opaque(opaque) = part
            && str_field(&opaque.value, "type") == "additional_tools"
        {
            nested(&opaque.value, &mut found);
        }
    }
    found
}

fn from_definition(tool: &ToolDefinition) -> Option<OfferedTool<'_>> {
    Some(match tool {
        ToolDefinition::Function(tool) => OfferedTool {
            name: &tool.name,
            input: ToolInputSchema::Object(&tool.schema),
        },
        ToolDefinition::Freeform(tool) => OfferedTool {
            name: &tool.name,
            input: ToolInputSchema::Text(tool.description.as_deref().unwrap_or_default()),
        },
        _ => return None,
    })
}

/// Collects tools in Codex's format: a list of tools and namespaces, of which `functions` is the unnamed one.
fn nested<'a>(value: &'a Value, found: &mut Vec<OfferedTool<'a>>) {
    let tools = value.get("tools").and_then(Value::as_array);
    for tool in tools.into_iter().flatten() {
        let name = str_field(tool, "name");
        match str_field(tool, "type") {
            "namespace" if name == "functions" => nested(tool, found),
            "custom" => found.push(OfferedTool {
                name,
                input: ToolInputSchema::Text(str_field(tool, "description")),
            }),
            "function" => found.push(OfferedTool {
                name,
                input: ToolInputSchema::Object(tool.get("parameters").unwrap_or(&Value::Null)),
            }),
            _ => {}
        }
    }
}

fn str_field<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
