//! Messages: rendering of requests.

use serde_json::{Value, json};

use crate::json::ObjectBuilder;
use crate::{
    FunctionTool, Image, ImageSource, Message, ModelRequest, OutputFormat, Part, Reasoning, Role,
    Text, ToolChoice, ToolDefinition, ToolResult,
};

/// Returns the path of a request.
pub(crate) fn path(_request: &ModelRequest) -> String {
    "/v1/messages".to_owned()
}

pub(crate) fn request(request: &ModelRequest) -> Value {
    let sampling = &request.sampling;
    ObjectBuilder::new()
        .set("model", request.model.as_str())
        .set_opt("system", system(&request.instructions))
        .set("messages", messages(&request.messages))
        .set_list("tools", request.tools.iter().filter_map(tool).collect())
        .set_opt("tool_choice", tool_choice(request))
        .set_opt("output_config", output(&request.output))
        .set_opt("temperature", sampling.temperature)
        .set_opt("top_p", sampling.top_p)
        .set_opt("top_k", sampling.top_k)
        .set_list("stop_sequences", sampling.stop.clone())
        .set_opt("max_tokens", request.max_tokens)
        .set_opt("stream", request.stream.then_some(true))
        .extra(&request.extra)
        .build()
}

fn system(texts: &[Text]) -> Option<Value> {
    match texts {
        [] => None,
        [one] if one.extra.is_empty() => Some(one.text.as_str().into()),
        many => Some(many.iter().map(text).collect()),
    }
}

fn text(text: &Text) -> Value {
    ObjectBuilder::new()
        .set("type", "text")
        .set("text", text.text.as_str())
        .extra(&text.extra)
        .build()
}

/// Renders the messages. A user message directly after results is merged into the same message, as the API
/// requires.
fn messages(messages: &[Message]) -> Vec<Value> {
    let mut list: Vec<Value> = Vec::with_capacity(messages.len());
    let mut after_results = false;
    for message in messages {
        let joins = after_results && message.role == Role::User && message.extra.is_empty();
        after_results = message.role == Role::Tool;
        let last = list.last_mut().and_then(|last| last.get_mut("content"));
        match last.and_then(Value::as_array_mut) {
            Some(blocks) if joins => blocks.extend(message.parts.iter().filter_map(block)),
            _ => list.push(message_json(message)),
        }
    }
    list
}

fn message_json(message: &Message) -> Value {
    let role = match message.role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        Role::User | Role::Tool => "user",
    };
    ObjectBuilder::new()
        .set("role", role)
        .set("content", content(&message.parts))
        .extra(&message.extra)
        .build()
}

/// Renders content as a plain string if possible.
fn content(parts: &[Part]) -> Value {
    match parts {
        [Part::Text(text)] if text.extra.is_empty() => text.text.as_str().into(),
        parts => parts.iter().filter_map(block).collect(),
    }
}

fn block(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text(part) => text(part),
        Part::Image(image) => image_block(image),
        Part::Reasoning(reasoning) => thinking(reasoning),
        Part::ToolCall(call) => ObjectBuilder::new()
            .set("type", "tool_use")
            .set("id", call.id.as_str())
            .set("name", call.name.as_str())
            .set("input", call.input_object())
            .extra(&call.extra)
            .build(),
        Part::ToolResult(result) => tool_result(result),
        Part::Opaque(opaque) => opaque.value.clone(),
    })
}

fn image_block(image: &Image) -> Value {
    let source = match &image.source {
        ImageSource::Url { url } => json!({ "type": "url", "url": url }),
        ImageSource::Inline { media_type, data } => {
            json!({ "type": "base64", "media_type": media_type, "data": data })
        }
    };
    ObjectBuilder::new()
        .set("type", "image")
        .set("source", source)
        .extra(&image.extra)
        .build()
}

fn thinking(reasoning: &Reasoning) -> Value {
    let block = if reasoning.redacted {
        ObjectBuilder::new()
            .set("type", "redacted_thinking")
            .set_opt("data", reasoning.signature.as_deref())
    } else {
        ObjectBuilder::new()
            .set("type", "thinking")
            .set("thinking", reasoning.text.as_str())
            .set_opt("signature", reasoning.signature.as_deref())
    };
    block.extra(&reasoning.extra).build()
}

fn tool_result(result: &ToolResult) -> Value {
    ObjectBuilder::new()
        .set("type", "tool_result")
        .set("tool_use_id", result.call_id.as_str())
        .set("content", content(&result.parts))
        .set_opt("is_error", result.is_error.then_some(true))
        .extra(&result.extra)
        .build()
}

fn tool(tool: &ToolDefinition) -> Option<Value> {
    match tool {
        ToolDefinition::Function(tool) => Some(function(tool)),
        ToolDefinition::Hosted(opaque) => Some(opaque.value.clone()),
        ToolDefinition::Freeform(_) => None,
    }
}

fn function(tool: &FunctionTool) -> Value {
    ObjectBuilder::new()
        .set("name", tool.name.as_str())
        .set_opt("description", tool.description.as_deref())
        .set("input_schema", tool.schema.clone())
        .set_opt("strict", tool.strict)
        .extra(&tool.extra)
        .build()
}

fn tool_choice(request: &ModelRequest) -> Option<Value> {
    let choice = match request.tool_choice.as_ref()? {
        ToolChoice::Auto => ObjectBuilder::new().set("type", "auto"),
        ToolChoice::None => return Some(json!({ "type": "none" })),
        ToolChoice::Required => ObjectBuilder::new().set("type", "any"),
        ToolChoice::Named { name } => ObjectBuilder::new()
            .set("type", "tool")
            .set("name", name.as_str()),
    };
    let choice = choice.set_opt(
        "disable_parallel_tool_use",
        request.parallel_tools.map(|on| !on),
    );
    Some(choice.build())
}

fn output(output: &OutputFormat) -> Option<Value> {
    match output {
        OutputFormat::Text | OutputFormat::Json => None,
        OutputFormat::JsonSchema(schema) => {
            Some(json!({ "format": { "type": "json_schema", "schema": schema.schema } }))
        }
    }
}
