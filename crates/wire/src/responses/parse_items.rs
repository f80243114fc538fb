//! Responses: parsing of conversation items into messages.
//!
//! Consecutive text, reasoning and calls of the assistant become one message. The fields of a message item
//! (its id, its phase) are stored with the first of its texts, under [`ITEM`].

use serde_json::Value;

use super::ITEM;
use crate::adapt::push_message;
use crate::json::{Fields, JsonPath, Result};
use crate::parse_common::{content, image_source, text};
use crate::{
    Dialect, Extra, Image, Message, Opaque, Part, Reasoning, Role, ToolCall, ToolInputKind,
    ToolResult,
};

/// Parses one item and adds it to the conversation.
pub(super) fn push(item: Value, path: &JsonPath<'_>, messages: &mut Vec<Message>) -> Result<()> {
    let kind = item.get("type").and_then(Value::as_str);
    match kind {
        Some("message") | None => return message(item, path, messages),
        Some("reasoning") => push_assistant(reasoning(item, path)?, messages),
        Some("function_call") => {
            push_assistant(call(item, path, ToolInputKind::Function)?, messages);
        }
        Some("custom_tool_call") => {
            push_assistant(call(item, path, ToolInputKind::Freeform)?, messages);
        }
        Some("function_call_output") => result(item, path, ToolInputKind::Function, messages)?,
        Some("custom_tool_call_output") => result(item, path, ToolInputKind::Freeform, messages)?,
        Some(_) => push_assistant(opaque(item), messages),
    }
    Ok(())
}

fn push_assistant(part: Part, messages: &mut Vec<Message>) {
    match messages.last_mut() {
        Some(last) if last.role == Role::Assistant => last.parts.push(part),
        _ => messages.push(Message::new(Role::Assistant, vec![part])),
    }
}

fn opaque(value: Value) -> Part {
    Part::Opaque(Opaque {
        dialect: Dialect::Responses,
        value,
    })
}

fn message(item: Value, path: &JsonPath<'_>, messages: &mut Vec<Message>) -> Result<()> {
    let original = item.clone();
    let mut fields = Fields::from_value(item, path)?;
    fields.take("type");
    let role = match fields.required("role")?.as_str() {
        "user" => Role::User,
        "system" => Role::System,
        "developer" => Role::Developer,
        "assistant" => Role::Assistant,
        other => return Err(path.key("role").error(format!("unknown role `{other}`"))),
    };
    let parts = content(&mut fields, "content", part)?;
    let extra = fields.into_extra();
    if role != Role::Assistant {
        messages.push(Message { role, parts, extra });
    } else if parts.iter().any(|part| matches!(part, Part::Opaque(_))) {
        // Among the assistant's parts an opaque one is an item, so an item with unknown content stays whole.
        push_assistant(opaque(original), messages);
    } else {
        output_text(parts, extra, messages);
    }
    Ok(())
}

/// Adds the assistant's texts of one item.
fn output_text(parts: Vec<Part>, mut item: Extra, messages: &mut Vec<Message>) {
    for mut part in parts {
        if let (Part::Text(text), false) = (&mut part, item.is_empty()) {
            let item = std::mem::take(&mut item);
            text.extra.insert(ITEM.to_owned(), item.into());
        }
        push_assistant(part, messages);
    }
}

fn part(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    match value.get("type").and_then(Value::as_str) {
        Some("input_text" | "output_text" | "text") => text(value, path).map(Part::Text),
        Some("input_image") if value.get("image_url").is_some_and(Value::is_string) => {
            let mut fields = Fields::from_value(value, path)?;
            fields.take("type");
            Ok(Part::Image(Image {
                source: image_source(fields.required("image_url")?),
                extra: fields.into_extra(),
            }))
        }
        Some(_) => Ok(opaque(value)),
        None => Err(path.key("type").error("missing")),
    }
}

/// Parses reasoning: its summaries, or the reasoning itself if the server sends it. The lists are stored
/// if they contain more than text.
fn reasoning(item: Value, path: &JsonPath<'_>) -> Result<Part> {
    let mut fields = Fields::from_value(item, path)?;
    fields.take("type");
    let texts = |value: Option<&Value>| -> Vec<String> {
        let list = value.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|entry| entry.get("text").and_then(Value::as_str))
            .map(str::to_owned)
            .collect()
    };
    let summary = fields.take("summary");
    let summaries = texts(summary.as_ref());
    let is_plain = summaries.len()
        == summary
            .as_ref()
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
    let content = fields.take("content");
    let text = if summaries.is_empty() {
        texts(content.as_ref())
    } else {
        summaries.clone()
    };
    if let Some(content) = content {
        fields.put_back("content", content);
    }
    if let (Some(summary), true) = (summary, summaries.len() > 1 || !is_plain) {
        fields.put_back("summary", summary);
    }
    Ok(Part::Reasoning(Reasoning {
        text: text.join("\n\n"),
        signature: fields.string("encrypted_content")?,
        redacted: false,
        extra: fields.into_extra(),
    }))
}

fn call(item: Value, path: &JsonPath<'_>, kind: ToolInputKind) -> Result<Part> {
    let mut fields = Fields::from_value(item, path)?;
    fields.take("type");
    let input = match kind {
        ToolInputKind::Function => "arguments",
        ToolInputKind::Freeform => "input",
    };
    Ok(Part::ToolCall(ToolCall {
        id: fields.required("call_id")?,
        name: fields.required("name")?,
        kind,
        input: fields.string(input)?.unwrap_or_default(),
        signature: None,
        extra: fields.into_extra(),
    }))
}

fn result(
    item: Value,
    path: &JsonPath<'_>,
    kind: ToolInputKind,
    messages: &mut Vec<Message>,
) -> Result<()> {
    let mut fields = Fields::from_value(item, path)?;
    fields.take("type");
    let result = ToolResult {
        call_id: fields.required("call_id")?,
        kind,
        parts: content(&mut fields, "output", part)?,
        extra: fields.into_extra(),
        ..ToolResult::default()
    };
    let message = Message::new(Role::Tool, vec![Part::ToolResult(result)]);
    push_message(messages, message);
    Ok(())
}
