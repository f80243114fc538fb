//! The tools that a request really offers, wherever they stand in it.

use serde_json::Value;
use windlass_wire::{ModelRequest, Part, ToolDefinition};

/// A tool on offer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfferedTool<'a> {
    /// What the model calls it by.
    pub(crate) name: &'a str,
    /// How it takes its input.
    pub(crate) takes: ToolInputSchema<'a>,
}

/// How a tool takes its input.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ToolInputSchema<'a> {
    /// As a JSON object of this schema.
    Object(&'a Value),
    /// As plain text; what the tool is for, as it says itself.
    Text(&'a str),
}

/// The tools on offer: those in the list, and those that Codex puts in front of the conversation for its newest models.
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
            takes: ToolInputSchema::Object(&tool.schema),
        },
        ToolDefinition::Freeform(tool) => OfferedTool {
            name: &tool.name,
            takes: ToolInputSchema::Text(tool.description.as_deref().unwrap_or_default()),
        },
        _ => return None,
    })
}

/// Codex's form: a list of tools and of namespaces, of which `functions` is the one without a name of its own.
fn nested<'a>(value: &'a Value, found: &mut Vec<OfferedTool<'a>>) {
    let tools = value.get("tools").and_then(Value::as_array);
    for tool in tools.into_iter().flatten() {
        let name = str_field(tool, "name");
        match str_field(tool, "type") {
            "namespace" if name == "functions" => nested(tool, found),
            "custom" => found.push(OfferedTool {
                name,
                takes: ToolInputSchema::Text(str_field(tool, "description")),
            }),
            "function" => found.push(OfferedTool {
                name,
                takes: ToolInputSchema::Object(tool.get("parameters").unwrap_or(&Value::Null)),
            }),
            _ => {}
        }
    }
}

fn str_field<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
