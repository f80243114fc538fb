//! Ollama: the JSON of a request.

use serde_json::{Value, json};

use crate::json::Object;
use crate::{
    ImageSource, Message, ModelRequest, OutputFormat, Part, Role, Sampling, Tool, ToolCall,
    ToolResult,
};

/// Where a client sends a request.
pub(crate) fn path(_request: &ModelRequest) -> String {
    "/api/chat".to_owned()
}

pub(crate) fn request(request: &ModelRequest) -> Value {
    let format = match &request.output {
        OutputFormat::Text => None,
        OutputFormat::Json => Some("json".into()),
        OutputFormat::JsonSchema(schema) => Some(schema.schema.clone()),
    };
    Object::new()
        .set("model", request.model.as_str())
        .set("messages", messages(&request.messages))
        .list("tools", request.tools.iter().filter_map(tool).collect())
        .maybe("format", format)
        .nest("options", options(&request.sampling, request.max_tokens))
        .set("stream", request.stream)
        .extra(&request.extra)
        .value()
}

fn options(sampling: &Sampling, max_tokens: Option<u64>) -> Object {
    Object::new()
        .maybe("temperature", sampling.temperature)
        .maybe("top_p", sampling.top_p)
        .maybe("top_k", sampling.top_k)
        .maybe("seed", sampling.seed)
        .list("stop", sampling.stop.clone())
        .maybe("presence_penalty", sampling.presence_penalty)
        .maybe("frequency_penalty", sampling.frequency_penalty)
        .maybe("num_predict", max_tokens)
}

fn messages(messages: &[Message]) -> Vec<Value> {
    let mut list = Vec::with_capacity(messages.len());
    for message in messages {
        let role = match message.role {
            Role::System | Role::Developer => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => {
                list.extend(message.parts.iter().filter_map(|part| match part {
                    Part::ToolResult(found) => Some(result(found)),
                    _ => None,
                }));
                continue;
            }
        };
        list.push(spoken(role, &message.parts).extra(&message.extra).value());
    }
    list
}

fn result(result: &ToolResult) -> Value {
    spoken("tool", &result.parts)
        .set("tool_name", result.name.as_str())
        .set("tool_call_id", result.call_id.as_str())
        .extra(&result.extra)
        .value()
}

fn spoken(role: &str, parts: &[Part]) -> Object {
    let thought = parts.iter().find_map(|part| match part {
        Part::Reasoning(reasoning) => Some(reasoning.text.as_str()),
        _ => None,
    });
    let images = parts.iter().filter_map(|part| match part {
        Part::Image(image) => match &image.source {
            ImageSource::Inline { data, .. } => Some(data.as_str()),
            ImageSource::Url { .. } => None,
        },
        _ => None,
    });
    let calls = parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(tool_call(call)),
        _ => None,
    });
    Object::new()
        .set("role", role)
        .set("content", crate::message::join_text(parts))
        .maybe("thinking", thought)
        .list("images", images.collect())
        .list("tool_calls", calls.collect())
}

fn tool_call(call: &ToolCall) -> Value {
    let function = json!({ "name": call.name, "arguments": call.input_object() });
    Object::new()
        .set("id", call.id.as_str())
        .set("function", function)
        .extra(&call.extra)
        .value()
}

fn tool(tool: &Tool) -> Option<Value> {
    match tool {
        Tool::Function(tool) => {
            let function = Object::new()
                .set("name", tool.name.as_str())
                .maybe("description", tool.description.as_deref())
                .set("parameters", tool.schema.clone());
            let object = Object::new()
                .set("type", "function")
                .set("function", function);
            Some(object.extra(&tool.extra).value())
        }
        Tool::Hosted(opaque) => Some(opaque.value.clone()),
        Tool::Freeform(_) => None,
    }
}
