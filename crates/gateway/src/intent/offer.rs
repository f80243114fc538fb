//! The tools that a request really offers, wherever they stand in it.

use serde_json::Value;
use windlass_wire::{ModelRequest, Part, Tool};

/// A tool on offer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<'a> {
    /// What the model calls it by.
    pub(crate) name: &'a str,
    /// How it takes its input.
    pub(crate) takes: Takes<'a>,
}

/// How a tool takes its input.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Takes<'a> {
    /// As a JSON object of this schema.
    Object(&'a Value),
    /// As plain text; what the tool is for, as it says itself.
    Text(&'a str),
}

/// The tools on offer: those in the list, and those that Codex puts in front of the conversation for its newest models.
pub(crate) fn offers(request: &ModelRequest) -> Vec<Offer<'_>> {
    let mut found: Vec<Offer<'_>> = request.tools.iter().filter_map(listed).collect();
    for part in request.parts() {
        if let Part::Opaque(opaque) = part
            && word(&opaque.value, "type") == "additional_tools"
        {
            nested(&opaque.value, &mut found);
        }
    }
    found
}

fn listed(tool: &Tool) -> Option<Offer<'_>> {
    Some(match tool {
        Tool::Function(tool) => Offer {
            name: &tool.name,
            takes: Takes::Object(&tool.schema),
        },
        Tool::Freeform(tool) => Offer {
            name: &tool.name,
            takes: Takes::Text(tool.description.as_deref().unwrap_or_default()),
        },
        _ => return None,
    })
}

/// Codex's form: a list of tools and of namespaces, of which `functions` is the one without a name of its own.
fn nested<'a>(value: &'a Value, found: &mut Vec<Offer<'a>>) {
    let tools = value.get("tools").and_then(Value::as_array);
    for tool in tools.into_iter().flatten() {
        let name = word(tool, "name");
        match word(tool, "type") {
            "namespace" if name == "functions" => nested(tool, found),
            "custom" => found.push(Offer {
                name,
                takes: Takes::Text(word(tool, "description")),
            }),
            "function" => found.push(Offer {
                name,
                takes: Takes::Object(tool.get("parameters").unwrap_or(&Value::Null)),
            }),
            _ => {}
        }
    }
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
