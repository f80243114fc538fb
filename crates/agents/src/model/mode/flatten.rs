//! A conversation with tools, put into words for a model that knows none.

use std::collections::HashMap;

use serde_json::{Value, json};
use windlass_wire::{Message, ModelRequest, Part, Role, ToolCall, ToolDefinition, ToolResult};

/// How the model's own calls look to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallFormat {
    /// In a code fence.
    Fence,
    /// As the action of the schema; answers are actions too.
    Action,
}

/// The request without tools and calls, saying the same in words.
pub(super) fn flatten(mut request: ModelRequest, dress: CallFormat) -> ModelRequest {
    request.tools.clear();
    request.tool_choice = None;
    request.parallel_tools = None;
    name_results(&mut request.messages);
    request.messages = request
        .messages
        .into_iter()
        .map(|message| flatten_message(message, dress))
        .collect();
    request
}

/// Some APIs say of a result only which call it answers; in words it needs the tool's name.
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

/// What the model is told: how to call, and what.
pub(super) fn describe_tools(how: &str, tools: &[ToolDefinition]) -> String {
    let mut text = how.trim_end().to_owned();
    text.push_str("\n\nThe tools:\n");
    for tool in tools {
        let (name, about, schema) = match tool {
            ToolDefinition::Function(tool) => (&tool.name, &tool.description, tool.schema.clone()),
            ToolDefinition::Freeform(tool) => {
                let function = tool.clone().into_function();
                (&tool.name, &tool.description, function.schema)
            }
            _ => continue,
        };
        let about = about.as_deref().unwrap_or_default().trim();
        text.push_str(&format!("\n- `{name}`: {about}\n  arguments: {schema}\n"));
    }
    text
}

fn flatten_message(message: Message, dress: CallFormat) -> Message {
    let is_model = message.role == Role::Assistant;
    let role = match message.role {
        Role::Tool => Role::User,
        other => other,
    };
    let has_call = message
        .parts
        .iter()
        .any(|part| matches!(part, Part::ToolCall(_)));
    let mut lines: Vec<String> = Vec::new();
    let mut kept: Vec<Part> = Vec::new();
    for part in message.parts {
        match part {
            Part::ToolCall(call) => lines.push(render_call(&call, dress)),
            Part::ToolResult(result) => lines.push(render_result(&result)),
            Part::Text(text) => lines.push(match dress {
                // Beside a call the schema has no room for words.
                CallFormat::Action if is_model && has_call => String::new(),
                CallFormat::Action if is_model => answer(&text.text),
                _ => text.text,
            }),
            Part::Image(image) => kept.push(Part::Image(image)),
            // Thoughts, and what only its own API understands.
            _ => {}
        }
    }
    lines.retain(|line| !line.is_empty());
    if !lines.is_empty() {
        kept.insert(0, Part::text(lines.join("\n\n")));
    }
    Message::new(role, kept)
}

fn render_call(call: &ToolCall, dress: CallFormat) -> String {
    let value = json!({ "tool": call.name, "arguments": call.input_object() });
    match dress {
        CallFormat::Fence => format!("```json\n{value}\n```"),
        CallFormat::Action => json!({ "action": value }).to_string(),
    }
}

fn answer(text: &str) -> String {
    let answer = serde_json::from_str::<Value>(text)
        .ok()
        .filter(Value::is_object);
    let answer = answer.unwrap_or_else(|| text.into());
    json!({ "action": { "tool": super::schema::DONE, "answer": answer } }).to_string()
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
