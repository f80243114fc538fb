//! Responses: rendering of requests.

use serde_json::{Value, json};

use super::ITEM;
use crate::chat::image_url;
use crate::json::ObjectBuilder;
use crate::{
    Message, ModelRequest, OutputFormat, Part, Reasoning, Role, Text, ToolCall, ToolChoice,
    ToolDefinition, ToolInputKind, ToolResult,
};

/// Returns the path of a request.
pub(crate) fn path(_request: &ModelRequest) -> String {
    "/v1/responses".to_owned()
}

pub(crate) fn request(request: &ModelRequest) -> Value {
    let instructions = request.instructions.first();
    let text = ObjectBuilder::new().set_opt("format", format(&request.output));
    ObjectBuilder::new()
        .set("model", request.model.as_str())
        .set_opt("instructions", instructions.map(|text| text.text.as_str()))
        .set("input", input(&request.messages))
        .set_list("tools", request.tools.iter().map(tool).collect())
        .set_opt("tool_choice", tool_choice(request))
        .set_opt("parallel_tool_calls", request.parallel_tools)
        .set_object("text", text)
        .set_opt("temperature", request.sampling.temperature)
        .set_opt("top_p", request.sampling.top_p)
        .set_opt("max_output_tokens", request.max_tokens)
        .set_opt("stream", request.stream.then_some(true))
        .extra(&request.extra)
        .build()
}

fn input(messages: &[Message]) -> Vec<Value> {
    let mut items = Vec::new();
    for message in messages {
        match message.role {
            Role::Assistant => assistant(&message.parts, &mut items),
            Role::Tool => items.extend(message.parts.iter().filter_map(|part| match part {
                Part::ToolResult(part) => Some(result(part)),
                _ => None,
            })),
            Role::System => items.push(message_item("system", message)),
            Role::Developer => items.push(message_item("developer", message)),
            Role::User => items.push(message_item("user", message)),
        }
    }
    items
}

fn message_item(role: &str, message: &Message) -> Value {
    let content: Vec<Value> = message.parts.iter().filter_map(input_part).collect();
    ObjectBuilder::new()
        .set("type", "message")
        .set("role", role)
        .set("content", content)
        .extra(&message.extra)
        .build()
}

fn input_part(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text(text) => ObjectBuilder::new()
            .set("type", "input_text")
            .set("text", text.text.as_str())
            .extra(&text.extra)
            .build(),
        Part::Image(image) => ObjectBuilder::new()
            .set("type", "input_image")
            .set("image_url", image_url(&image.source))
            .extra(&image.extra)
            .build(),
        Part::Opaque(opaque) => opaque.value.clone(),
        Part::Reasoning(_) | Part::ToolCall(_) | Part::ToolResult(_) => return None,
    })
}

/// Renders the assistant's parts as items. Texts that came from one item are written to one item.
fn assistant(parts: &[Part], items: &mut Vec<Value>) {
    let mut after_text = false;
    for part in parts {
        let joins = after_text;
        after_text = false;
        match part {
            Part::Text(text) => {
                push_text_item(text, joins, items);
                after_text = true;
            }
            Part::Reasoning(part) => items.push(reasoning(part)),
            Part::ToolCall(part) => items.push(call(part)),
            Part::Opaque(opaque) => items.push(opaque.value.clone()),
            Part::Image(_) | Part::ToolResult(_) => {}
        }
    }
}

fn push_text_item(text: &Text, joins: bool, items: &mut Vec<Value>) {
    let mut extra = text.extra.clone();
    let item = extra.shift_remove(ITEM);
    let part = ObjectBuilder::new()
        .set("type", "output_text")
        .set("text", text.text.as_str())
        .extra(&extra)
        .build();
    let last = items.last_mut().and_then(|last| last.get_mut("content"));
    if let (true, None, Some(Value::Array(content))) = (joins, &item, last) {
        content.push(part);
        return;
    }
    let item = item.as_ref().and_then(Value::as_object);
    items.push(
        ObjectBuilder::new()
            .set("type", "message")
            .set("role", "assistant")
            .set("content", vec![part])
            .extra(&item.cloned().unwrap_or_default())
            .build(),
    );
}

fn reasoning(reasoning: &Reasoning) -> Value {
    let extra = &reasoning.extra;
    let no_summary = extra.contains_key("content") || reasoning.text.is_empty();
    let summary = if no_summary {
        json!([])
    } else {
        json!([{ "type": "summary_text", "text": reasoning.text }])
    };
    ObjectBuilder::new()
        .set("type", "reasoning")
        .set_opt(
            "summary",
            (!extra.contains_key("summary")).then_some(summary),
        )
        .set_opt("encrypted_content", reasoning.signature.as_deref())
        .extra(extra)
        .build()
}

fn call(call: &ToolCall) -> Value {
    let (kind, input) = match call.kind {
        ToolInputKind::Function => ("function_call", "arguments"),
        ToolInputKind::Freeform => ("custom_tool_call", "input"),
    };
    ObjectBuilder::new()
        .set("type", kind)
        .set("call_id", call.id.as_str())
        .set("name", call.name.as_str())
        .set(input, call.input.as_str())
        .extra(&call.extra)
        .build()
}

fn result(result: &ToolResult) -> Value {
    let kind = match result.kind {
        ToolInputKind::Function => "function_call_output",
        ToolInputKind::Freeform => "custom_tool_call_output",
    };
    let output: Value = match result.parts.as_slice() {
        [] => "".into(),
        [Part::Text(text)] if text.extra.is_empty() => text.text.as_str().into(),
        parts => parts.iter().filter_map(input_part).collect(),
    };
    ObjectBuilder::new()
        .set("type", kind)
        .set("call_id", result.call_id.as_str())
        .set("output", output)
        .extra(&result.extra)
        .build()
}

fn tool(tool: &ToolDefinition) -> Value {
    match tool {
        ToolDefinition::Function(tool) => ObjectBuilder::new()
            .set("type", "function")
            .set("name", tool.name.as_str())
            .set_opt("description", tool.description.as_deref())
            .set("parameters", tool.schema.clone())
            .set_opt("strict", tool.strict)
            .extra(&tool.extra)
            .build(),
        ToolDefinition::Freeform(tool) => {
            let format = tool.grammar.as_ref().map(|grammar| {
                json!({ "type": "grammar", "syntax": grammar.syntax, "definition": grammar.definition })
            });
            ObjectBuilder::new()
                .set("type", "custom")
                .set("name", tool.name.as_str())
                .set_opt("description", tool.description.as_deref())
                .set_opt("format", format)
                .extra(&tool.extra)
                .build()
        }
        ToolDefinition::Hosted(opaque) => opaque.value.clone(),
    }
}

fn tool_choice(request: &ModelRequest) -> Option<Value> {
    Some(match request.tool_choice.as_ref()? {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Named { name } => match request.tool(name) {
            Some(ToolDefinition::Freeform(_)) => json!({ "type": "custom", "name": name }),
            _ => json!({ "type": "function", "name": name }),
        },
    })
}

fn format(output: &OutputFormat) -> Option<Value> {
    match output {
        OutputFormat::Text => None,
        OutputFormat::Json => Some(json!({ "type": "json_object" })),
        OutputFormat::JsonSchema(schema) => Some(
            ObjectBuilder::new()
                .set("type", "json_schema")
                .set_opt("name", schema.name.as_deref())
                .set_opt("description", schema.description.as_deref())
                .set("schema", schema.schema.clone())
                .set_opt("strict", schema.strict)
                .build(),
        ),
    }
}
