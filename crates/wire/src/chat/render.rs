//! Chat completions: rendering of requests.

use serde_json::{Value, json};

use crate::json::ObjectBuilder;
use crate::{
    FreeformTool, FunctionTool, ImageSource, Message, ModelRequest, OutputFormat, Part, Role,
    ToolCall, ToolChoice, ToolDefinition, ToolInputKind, ToolResult,
};

/// Returns the path of a request.
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
    ObjectBuilder::new()
        .set("model", request.model.as_str())
        .set("messages", messages(&request.messages))
        .set_list("tools", request.tools.iter().map(tool).collect())
        .set_opt("tool_choice", tool_choice(request))
        .set_opt("parallel_tool_calls", request.parallel_tools)
        .set_opt("response_format", response_format(&request.output))
        .set_opt("temperature", sampling.temperature)
        .set_opt("top_p", sampling.top_p)
        .set_opt("seed", sampling.seed)
        .set_list("stop", sampling.stop.clone())
        .set_opt("presence_penalty", sampling.presence_penalty)
        .set_opt("frequency_penalty", sampling.frequency_penalty)
        .set_opt(limit, request.max_tokens)
        .set_opt("stream", request.stream.then_some(true))
        .set_opt(
            "stream_options",
            request
                .stream_usage
                .then(|| json!({ "include_usage": true })),
        )
        .extra(&request.extra)
        .build()
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
            list.push(chat_message(message));
        }
    }
    list
}

fn tool_message(result: &ToolResult) -> Value {
    ObjectBuilder::new()
        .set("role", "tool")
        .set("tool_call_id", result.call_id.as_str())
        .set("content", content(&result.parts).unwrap_or("".into()))
        .extra(&result.extra)
        .build()
}

fn chat_message(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    };
    let reasoning = message.parts.iter().find_map(|part| match part {
        Part::Reasoning(reasoning) => Some(reasoning.text.as_str()),
        _ => None,
    });
    let calls = message.parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(tool_call(call)),
        _ => None,
    });
    ObjectBuilder::new()
        .set("role", role)
        .set("content", content(&message.parts).unwrap_or_default())
        .set_opt("reasoning_content", reasoning)
        .set_list("tool_calls", calls.collect())
        .extra(&message.extra)
        .build()
}

/// Renders content as a plain string if possible, because some servers support no other format.
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
        Part::Text(text) => ObjectBuilder::new()
            .set("type", "text")
            .set("text", text.text.as_str())
            .extra(&text.extra)
            .build(),
        Part::Image(image) => ObjectBuilder::new()
            .set("type", "image_url")
            .set("image_url", json!({ "url": image_url(&image.source) }))
            .extra(&image.extra)
            .build(),
        Part::Opaque(opaque) => opaque.value.clone(),
        Part::Reasoning(_) | Part::ToolCall(_) | Part::ToolResult(_) => return None,
    })
}

/// Returns the URL of an image: a `data:` URL if the image is inline.
pub(crate) fn image_url(source: &ImageSource) -> String {
    match source {
        ImageSource::Url { url } => url.clone(),
        ImageSource::Inline { media_type, data } => format!("data:{media_type};base64,{data}"),
    }
}

fn tool_call(call: &ToolCall) -> Value {
    let (kind, inner) = match call.kind {
        ToolInputKind::Function => (
            "function",
            json!({ "name": call.name, "arguments": call.input }),
        ),
        ToolInputKind::Freeform => ("custom", json!({ "name": call.name, "input": call.input })),
    };
    ObjectBuilder::new()
        .set("id", call.id.as_str())
        .set("type", kind)
        .set(kind, inner)
        .extra(&call.extra)
        .build()
}

fn tool(tool: &ToolDefinition) -> Value {
    match tool {
        ToolDefinition::Function(tool) => function(tool),
        ToolDefinition::Freeform(tool) => freeform(tool),
        ToolDefinition::Hosted(opaque) => opaque.value.clone(),
    }
}

fn function(tool: &FunctionTool) -> Value {
    let inner = ObjectBuilder::new()
        .set("name", tool.name.as_str())
        .set_opt("description", tool.description.as_deref())
        .set("parameters", tool.schema.clone())
        .set_opt("strict", tool.strict);
    ObjectBuilder::new()
        .set("type", "function")
        .set("function", inner)
        .extra(&tool.extra)
        .build()
}

fn freeform(tool: &FreeformTool) -> Value {
    let format = tool.grammar.as_ref().map(|grammar| {
        let grammar = json!({ "syntax": grammar.syntax, "definition": grammar.definition });
        json!({ "type": "grammar", "grammar": grammar })
    });
    let inner = ObjectBuilder::new()
        .set("name", tool.name.as_str())
        .set_opt("description", tool.description.as_deref())
        .set_opt("format", format);
    ObjectBuilder::new()
        .set("type", "custom")
        .set("custom", inner)
        .extra(&tool.extra)
        .build()
}

fn tool_choice(request: &ModelRequest) -> Option<Value> {
    Some(match request.tool_choice.as_ref()? {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Named { name } => {
            let kind = match request.tool(name) {
                Some(ToolDefinition::Freeform(_)) => "custom",
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
            let inner = ObjectBuilder::new()
                .set_opt("name", schema.name.as_deref())
                .set_opt("description", schema.description.as_deref())
                .set("schema", schema.schema.clone())
                .set_opt("strict", schema.strict);
            Some(json!({ "type": "json_schema", "json_schema": inner.build() }))
        }
    }
}
