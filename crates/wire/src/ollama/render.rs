//! Ollama: rendering of requests.

use serde_json::{Value, json};

use crate::json::ObjectBuilder;
use crate::{
    ImageSource, Message, ModelRequest, OutputFormat, Part, Role, Sampling, ToolCall,
    ToolDefinition, ToolResult,
};

/// Returns the path of a request.
pub(crate) fn path(_request: &ModelRequest) -> String {
    "/api/chat".to_owned()
}

pub(crate) fn request(request: &ModelRequest) -> Value {
    let format = match &request.output {
        OutputFormat::Text => None,
        OutputFormat::Json => Some("json".into()),
        OutputFormat::JsonSchema(schema) => Some(schema.schema.clone()),
    };
    ObjectBuilder::new()
        .set("model", request.model.as_str())
        .set("messages", messages(&request.messages))
        .set_list("tools", request.tools.iter().filter_map(tool).collect())
        .set_opt("format", format)
        .set_object("options", options(&request.sampling, request.max_tokens))
        .set("stream", request.stream)
        .extra(&request.extra)
        .build()
}

fn options(sampling: &Sampling, max_tokens: Option<u64>) -> ObjectBuilder {
    ObjectBuilder::new()
        .set_opt("temperature", sampling.temperature)
        .set_opt("top_p", sampling.top_p)
        .set_opt("top_k", sampling.top_k)
        .set_opt("seed", sampling.seed)
        .set_list("stop", sampling.stop.clone())
        .set_opt("presence_penalty", sampling.presence_penalty)
        .set_opt("frequency_penalty", sampling.frequency_penalty)
        .set_opt("num_predict", max_tokens)
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
        list.push(
            message_json(role, &message.parts)
                .extra(&message.extra)
                .build(),
        );
    }
    list
}

fn result(result: &ToolResult) -> Value {
    message_json("tool", &result.parts)
        .set("tool_name", result.name.as_str())
        .set("tool_call_id", result.call_id.as_str())
        .extra(&result.extra)
        .build()
}

fn message_json(role: &str, parts: &[Part]) -> ObjectBuilder {
    let reasoning = parts.iter().find_map(|part| match part {
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
    ObjectBuilder::new()
        .set("role", role)
        .set("content", crate::message::join_text(parts))
        .set_opt("thinking", reasoning)
        .set_list("images", images.collect())
        .set_list("tool_calls", calls.collect())
}

fn tool_call(call: &ToolCall) -> Value {
    let function = json!({ "name": call.name, "arguments": call.input_object() });
    ObjectBuilder::new()
        .set("id", call.id.as_str())
        .set("function", function)
        .extra(&call.extra)
        .build()
}

fn tool(tool: &ToolDefinition) -> Option<Value> {
    match tool {
        ToolDefinition::Function(tool) => {
            let function = ObjectBuilder::new()
                .set("name", tool.name.as_str())
                .set_opt("description", tool.description.as_deref())
                .set("parameters", tool.schema.clone());
            let object = ObjectBuilder::new()
                .set("type", "function")
                .set("function", function);
            Some(object.extra(&tool.extra).build())
        }
        ToolDefinition::Hosted(opaque) => Some(opaque.value.clone()),
        ToolDefinition::Freeform(_) => None,
    }
}
