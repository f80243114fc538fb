//! Chat completions: the JSON of a request.

use serde_json::{Value, json};

use crate::json::Object;
use crate::{
    FreeformTool, FunctionTool, ImageSource, Message, ModelRequest, OutputFormat, Part, Role, Tool,
    ToolCall, ToolChoice, ToolKind, ToolResult,
};

/// Where a client sends a request.
pub(crate) fn path(_request: &ModelRequest) -> String {
    "/v1/chat/completions".to_owned()
}

pub(crate) fn request(request: &ModelRequest) -> Value {
    let sampling = &request.sampling;
    let limit = if request.extra.contains_key("max_tokens") {
        "max_tokens"
    } else {
        "max_completion_tokens"
    };
    Object::new()
        .set("model", request.model.as_str())
        .set("messages", messages(&request.messages))
        .list("tools", request.tools.iter().map(tool).collect())
        .maybe("tool_choice", tool_choice(request))
        .maybe("parallel_tool_calls", request.parallel_tools)
        .maybe("response_format", response_format(&request.output))
        .maybe("temperature", sampling.temperature)
        .maybe("top_p", sampling.top_p)
        .maybe("seed", sampling.seed)
        .list("stop", sampling.stop.clone())
        .maybe("presence_penalty", sampling.presence_penalty)
        .maybe("frequency_penalty", sampling.frequency_penalty)
        .maybe(limit, request.max_tokens)
        .maybe("stream", request.stream.then_some(true))
        .maybe(
            "stream_options",
            request
                .stream_usage
                .then(|| json!({ "include_usage": true })),
        )
        .extra(&request.extra)
        .value()
}

fn messages(messages: &[Message]) -> Vec<Value> {
    let mut list = Vec::with_capacity(messages.len());
    for message in messages {
        if message.role == Role::Tool {
            list.extend(message.parts.iter().filter_map(|part| match part {
                Part::ToolResult(result) => Some(tool_message(result)),
                _ => None,
            }));
        } else {
            list.push(spoken(message));
        }
    }
    list
}

fn tool_message(result: &ToolResult) -> Value {
    Object::new()
        .set("role", "tool")
        .set("tool_call_id", result.call_id.as_str())
        .set("content", content(&result.parts).unwrap_or("".into()))
        .extra(&result.extra)
        .value()
}

fn spoken(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    };
    let thought = message.parts.iter().find_map(|part| match part {
        Part::Reasoning(reasoning) => Some(reasoning.text.as_str()),
        _ => None,
    });
    let calls = message.parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(tool_call(call)),
        _ => None,
    });
    Object::new()
        .set("role", role)
        .set("content", content(&message.parts).unwrap_or_default())
        .maybe("reasoning_content", thought)
        .list("tool_calls", calls.collect())
        .extra(&message.extra)
        .value()
}

/// A plain string where that says it all, because some servers know no other form.
fn content(parts: &[Part]) -> Option<Value> {
    let is_content = |p: &&Part| matches!(p, Part::Text(_) | Part::Image(_) | Part::Opaque(_));
    let parts: Vec<&Part> = parts.iter().filter(is_content).collect();
    match parts.as_slice() {
        [] => None,
        [Part::Text(text)] if text.extra.is_empty() => Some(text.text.as_str().into()),
        parts => Some(parts.iter().filter_map(|part| content_part(part)).collect()),
    }
}

fn content_part(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text(text) => Object::new()
            .set("type", "text")
            .set("text", text.text.as_str())
            .extra(&text.extra)
            .value(),
        Part::Image(image) => Object::new()
            .set("type", "image_url")
            .set("image_url", json!({ "url": image_url(&image.source) }))
            .extra(&image.extra)
            .value(),
        Part::Opaque(opaque) => opaque.value.clone(),
        Part::Reasoning(_) | Part::ToolCall(_) | Part::ToolResult(_) => return None,
    })
}

/// The address of a picture, which may hold the picture itself.
pub(crate) fn image_url(source: &ImageSource) -> String {
    match source {
        ImageSource::Url { url } => url.clone(),
        ImageSource::Inline { media_type, data } => format!("data:{media_type};base64,{data}"),
    }
}

fn tool_call(call: &ToolCall) -> Value {
    let (kind, inner) = match call.kind {
        ToolKind::Function => (
            "function",
            json!({ "name": call.name, "arguments": call.input }),
        ),
        ToolKind::Freeform => ("custom", json!({ "name": call.name, "input": call.input })),
    };
    Object::new()
        .set("id", call.id.as_str())
        .set("type", kind)
        .set(kind, inner)
        .extra(&call.extra)
        .value()
}

fn tool(tool: &Tool) -> Value {
    match tool {
        Tool::Function(tool) => function(tool),
        Tool::Freeform(tool) => freeform(tool),
        Tool::Hosted(opaque) => opaque.value.clone(),
    }
}

fn function(tool: &FunctionTool) -> Value {
    let inner = Object::new()
        .set("name", tool.name.as_str())
        .maybe("description", tool.description.as_deref())
        .set("parameters", tool.schema.clone())
        .maybe("strict", tool.strict);
    Object::new()
        .set("type", "function")
        .set("function", inner)
        .extra(&tool.extra)
        .value()
}

fn freeform(tool: &FreeformTool) -> Value {
    let format = tool.grammar.as_ref().map(|grammar| {
        let grammar = json!({ "syntax": grammar.syntax, "definition": grammar.definition });
        json!({ "type": "grammar", "grammar": grammar })
    });
    let inner = Object::new()
        .set("name", tool.name.as_str())
        .maybe("description", tool.description.as_deref())
        .maybe("format", format);
    Object::new()
        .set("type", "custom")
        .set("custom", inner)
        .extra(&tool.extra)
        .value()
}

fn tool_choice(request: &ModelRequest) -> Option<Value> {
    Some(match request.tool_choice.as_ref()? {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Named { name } => {
            let kind = match request.tool(name) {
                Some(Tool::Freeform(_)) => "custom",
                _ => "function",
            };
            json!({ "type": kind, kind: { "name": name } })
        }
    })
}

fn response_format(output: &OutputFormat) -> Option<Value> {
    match output {
        OutputFormat::Text => None,
        OutputFormat::Json => Some(json!({ "type": "json_object" })),
        OutputFormat::JsonSchema(schema) => {
            let inner = Object::new()
                .maybe("name", schema.name.as_deref())
                .maybe("description", schema.description.as_deref())
                .set("schema", schema.schema.clone())
                .maybe("strict", schema.strict);
            Some(json!({ "type": "json_schema", "json_schema": inner.value() }))
        }
    }
}
