//! Messages: the JSON of a request.

use serde_json::{Value, json};

use crate::json::Object;
use crate::{
    FunctionTool, Image, ImageSource, Message, ModelRequest, OutputFormat, Part, Reasoning, Role,
    Text, Tool, ToolChoice, ToolResult,
};

/// Where a client sends a request.
pub(crate) fn path(_request: &ModelRequest) -> String {
    "/v1/messages".to_owned()
}

pub(crate) fn request(request: &ModelRequest) -> Value {
    let sampling = &request.sampling;
    Object::new()
        .set("model", request.model.as_str())
        .maybe("system", system(&request.instructions))
        .set("messages", messages(&request.messages))
        .list("tools", request.tools.iter().filter_map(tool).collect())
        .maybe("tool_choice", tool_choice(request))
        .maybe("output_config", output(&request.output))
        .maybe("temperature", sampling.temperature)
        .maybe("top_p", sampling.top_p)
        .maybe("top_k", sampling.top_k)
        .list("stop_sequences", sampling.stop.clone())
        .maybe("max_tokens", request.max_tokens)
        .maybe("stream", request.stream.then_some(true))
        .extra(&request.extra)
        .value()
}

fn system(texts: &[Text]) -> Option<Value> {
    match texts {
        [] => None,
        [one] if one.extra.is_empty() => Some(one.text.as_str().into()),
        many => Some(many.iter().map(text).collect()),
    }
}

fn text(text: &Text) -> Value {
    Object::new()
        .set("type", "text")
        .set("text", text.text.as_str())
        .extra(&text.extra)
        .value()
}

/// The messages; what the user says right after results goes into the same message, as the API wants it.
fn messages(messages: &[Message]) -> Vec<Value> {
    let mut list: Vec<Value> = Vec::with_capacity(messages.len());
    let mut after_results = false;
    for message in messages {
        let joins = after_results && message.role == Role::User && message.extra.is_empty();
        after_results = message.role == Role::Tool;
        let last = list.last_mut().and_then(|last| last.get_mut("content"));
        match last.and_then(Value::as_array_mut) {
            Some(blocks) if joins => blocks.extend(message.parts.iter().filter_map(block)),
            _ => list.push(spoken(message)),
        }
    }
    list
}

fn spoken(message: &Message) -> Value {
    let role = match message.role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        Role::User | Role::Tool => "user",
    };
    Object::new()
        .set("role", role)
        .set("content", content(&message.parts))
        .extra(&message.extra)
        .value()
}

/// A plain string where that says it all.
fn content(parts: &[Part]) -> Value {
    match parts {
        [Part::Text(text)] if text.extra.is_empty() => text.text.as_str().into(),
        parts => parts.iter().filter_map(block).collect(),
    }
}

fn block(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text(words) => text(words),
        Part::Image(image) => picture(image),
        Part::Reasoning(reasoning) => thinking(reasoning),
        Part::ToolCall(call) => Object::new()
            .set("type", "tool_use")
            .set("id", call.id.as_str())
            .set("name", call.name.as_str())
            .set("input", call.input_object())
            .extra(&call.extra)
            .value(),
        Part::ToolResult(result) => tool_result(result),
        Part::Opaque(opaque) => opaque.value.clone(),
    })
}

fn picture(image: &Image) -> Value {
    let source = match &image.source {
        ImageSource::Url { url } => json!({ "type": "url", "url": url }),
        ImageSource::Inline { media_type, data } => {
            json!({ "type": "base64", "media_type": media_type, "data": data })
        }
    };
    Object::new()
        .set("type", "image")
        .set("source", source)
        .extra(&image.extra)
        .value()
}

fn thinking(reasoning: &Reasoning) -> Value {
    let block = if reasoning.redacted {
        Object::new()
            .set("type", "redacted_thinking")
            .maybe("data", reasoning.signature.as_deref())
    } else {
        Object::new()
            .set("type", "thinking")
            .set("thinking", reasoning.text.as_str())
            .maybe("signature", reasoning.signature.as_deref())
    };
    block.extra(&reasoning.extra).value()
}

fn tool_result(result: &ToolResult) -> Value {
    Object::new()
        .set("type", "tool_result")
        .set("tool_use_id", result.call_id.as_str())
        .set("content", content(&result.parts))
        .maybe("is_error", result.is_error.then_some(true))
        .extra(&result.extra)
        .value()
}

fn tool(tool: &Tool) -> Option<Value> {
    match tool {
        Tool::Function(tool) => Some(function(tool)),
        Tool::Hosted(opaque) => Some(opaque.value.clone()),
        Tool::Freeform(_) => None,
    }
}

fn function(tool: &FunctionTool) -> Value {
    Object::new()
        .set("name", tool.name.as_str())
        .maybe("description", tool.description.as_deref())
        .set("input_schema", tool.schema.clone())
        .maybe("strict", tool.strict)
        .extra(&tool.extra)
        .value()
}

fn tool_choice(request: &ModelRequest) -> Option<Value> {
    let choice = match request.tool_choice.as_ref()? {
        ToolChoice::Auto => Object::new().set("type", "auto"),
        ToolChoice::None => return Some(json!({ "type": "none" })),
        ToolChoice::Required => Object::new().set("type", "any"),
        ToolChoice::Named { name } => Object::new().set("type", "tool").set("name", name.as_str()),
    };
    let choice = choice.maybe(
        "disable_parallel_tool_use",
        request.parallel_tools.map(|on| !on),
    );
    Some(choice.value())
}

fn output(output: &OutputFormat) -> Option<Value> {
    match output {
        OutputFormat::Text | OutputFormat::Json => None,
        OutputFormat::JsonSchema(schema) => {
            Some(json!({ "format": { "type": "json_schema", "schema": schema.schema } }))
        }
    }
}
