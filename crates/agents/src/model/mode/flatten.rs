//! Renders a conversation with tools as plain text, for a model without native tool calls.

use std::collections::HashMap;

use serde_json::{Value, json};
use windlass_wire::{Message, ModelRequest, Part, Role, ToolCall, ToolDefinition, ToolResult};

/// The action that ends the work.
pub(super) const DONE: &str = "done";

/// The format in which the model sees its own calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallFormat {
    /// In a code fence.
    Fence,
    /// As an action of the schema; answers are actions too.
    Action,
}

/// Returns the request with its calls and results as text, and without tool definitions.
pub(super) fn flatten(mut request: ModelRequest, format: CallFormat) -> ModelRequest {
    request.tools.clear();
    request.tool_choice = None;
    request.parallel_tools = None;
    name_results(&mut request.messages);
    request.messages = request
        .messages
        .into_iter()
        .map(|message| flatten_message(message, format))
        .collect();
    request
}

/// Adds missing tool names to results: some APIs only send the id of the call, but the text needs the name.
fn name_results(messages: &mut [Message]) {
    let mut names: HashMap<String, String> = HashMap::new();
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        match part {
            Part::ToolCall(call) => {
                names.insert(call.id.clone(), call.name.clone());
            }
            Part::ToolResult(result) if result.name.is_empty() => {
                result.name = names.get(&result.call_id).cloned().unwrap_or_default();
            }
            _ => {}
        }
    }
}

/// Returns the instructions, followed by the list of tools.
pub(super) fn describe_tools(instructions: &str, tools: &[ToolDefinition]) -> String {
    let mut text = instructions.trim_end().to_owned();
    text.push_str("\n\nThe tools:\n");
    for tool in tools {
        let (name, description, schema) = match tool {
            ToolDefinition::Function(tool) => (&tool.name, &tool.description, tool.schema.clone()),
            ToolDefinition::Freeform(tool) => {
                let function = tool.clone().into_function();
                (&tool.name, &tool.description, function.schema)
            }
            _ => continue,
        };
        let description = description.as_deref().unwrap_or_default().trim();
        text.push_str(&format!(
            "\n- `{name}`: {description}\n  arguments: {schema}\n"
        ));
    }
    text
}

fn flatten_message(message: Message, format: CallFormat) -> Message {
    let is_assistant = message.role == Role::Assistant;
    let role = match message.role {
        Role::Tool => Role::User,
        other => other,
    };
    let has_call = message
        .parts
        .iter()
        .any(|part| matches!(part, Part::ToolCall(_)));
    let mut lines: Vec<String> = Vec::new();
    let mut parts: Vec<Part> = Vec::new();
    for part in message.parts {
        match part {
            Part::ToolCall(call) => lines.push(render_call(&call, format)),
            Part::ToolResult(result) => lines.push(render_result(&result)),
            Part::Text(text) => lines.push(match format {
                // The schema allows no text in addition to a call.
                CallFormat::Action if is_assistant && has_call => String::new(),
                CallFormat::Action if is_assistant => answer(&text.text),
                _ => text.text,
            }),
            Part::Image(image) => parts.push(Part::Image(image)),
            // Reasoning and API-specific parts are dropped.
            _ => {}
        }
    }
    lines.retain(|line| !line.is_empty());
    if !lines.is_empty() {
        parts.insert(0, Part::text(lines.join("\n\n")));
    }
    Message::new(role, parts)
}

fn render_call(call: &ToolCall, format: CallFormat) -> String {
    let value = json!({ "tool": call.name, "arguments": call.input_object() });
    match format {
        CallFormat::Fence => format!("```json\n{value}\n```"),
        CallFormat::Action => json!({ "action": value }).to_string(),
    }
}

fn answer(text: &str) -> String {
    let answer = serde_json::from_str::<Value>(text)
        .ok()
        .filter(Value::is_object);
    let answer = answer.unwrap_or_else(|| text.into());
    json!({ "action": { "tool": DONE, "answer": answer } }).to_string()
}

fn render_result(result: &ToolResult) -> String {
    let name = &result.name;
    let text = result.text();
    if result.is_error {
        format!("`{name}` failed:\n{text}")
    } else {
        format!("Result of `{name}`:\n{text}")
    }
}
