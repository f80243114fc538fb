//! Messages: parsing of requests.

use serde_json::Value;

use crate::adapt::{link_results, push_message, split_by_role};
use crate::json::{self, Fields, JsonPath, Result};
use crate::parse_common::{content, text};
use crate::{
    Dialect, FunctionTool, Image, ImageSource, JsonSchema, Message, ModelRequest, Opaque,
    OutputFormat, Part, Reasoning, Role, Route, Text, ToolCall, ToolChoice, ToolDefinition,
    ToolResult,
};

pub(crate) fn request(body: Value, _route: &Route) -> Result<ModelRequest> {
    let mut fields = Fields::from_value(body, &JsonPath::ROOT)?;
    let mut request = ModelRequest::new(fields.required("model")?);
    request.origin = Some(Dialect::Messages);
    request.instructions = system(&mut fields)?;
    if !fields.has("messages") {
        return Err(JsonPath::ROOT.key("messages").error("missing"));
    }
    for message in fields.each("messages", message)?.into_iter().flatten() {
        push_message(&mut request.messages, message);
    }
    link_results(&mut request.messages);
    request.tools = fields.each("tools", tool)?;
    tool_choice(&mut fields, &mut request)?;
    output(&mut fields, &mut request)?;
    request.sampling.temperature = fields.f64("temperature")?;
    request.sampling.top_p = fields.f64("top_p")?;
    request.sampling.top_k = fields.u64("top_k")?;
    request.sampling.stop = fields.each("stop_sequences", json::string)?;
    request.max_tokens = fields.u64("max_tokens")?;
    request.stream = fields.bool("stream")?.unwrap_or_default();
    request.stream_usage = request.stream;
    request.extra = fields.into_extra();
    Ok(request)
}

/// Takes the instructions: a string, or a list of text blocks.
fn system(fields: &mut Fields<'_>) -> Result<Vec<Text>> {
    match fields.take("system") {
        Some(Value::String(text)) if text.is_empty() => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Text::new(text)]),
        Some(list) => {
            fields.put_back("system", list);
            fields.each("system", text)
        }
        None => Ok(Vec::new()),
    }
}

/// Parses a message. One that has results and other parts becomes a message of the tools and one of the user.
fn message(value: Value, path: &JsonPath<'_>) -> Result<Vec<Message>> {
    let mut fields = Fields::from_value(value, path)?;
    let role = match fields.required("role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        other => return Err(path.key("role").error(format!("unknown role `{other}`"))),
    };
    let parts = content(&mut fields, "content", block)?;
    let extra = fields.into_extra();
    Ok(split_by_role(role, parts, extra))
}

fn block(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    match value.get("type").and_then(Value::as_str) {
        Some("text") => text(value, path).map(Part::Text),
        Some("image") => image(value, path),
        Some("thinking") => thinking(value, path, "thinking", "signature"),
        Some("redacted_thinking") => thinking(value, path, "", "data"),
        Some("tool_use") => tool_use(value, path),
        Some("tool_result") => tool_result(value, path),
        Some(_) => Ok(opaque(value)),
        None => Err(path.key("type").error("missing")),
    }
}

fn opaque(value: Value) -> Part {
    Part::Opaque(Opaque {
        dialect: Dialect::Messages,
        value,
    })
}

/// Parses an image. One that is stored at the provider under an id stays opaque.
fn image(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let kind = value.pointer("/source/type").and_then(Value::as_str);
    let inline = match kind {
        Some("base64") => true,
        Some("url") => false,
        _ => return Ok(opaque(value)),
    };
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    let mut source = ImageSource::Url { url: String::new() };
    fields.nested("source", |inner| {
        inner.take("type");
        source = if inline {
            ImageSource::Inline {
                media_type: inner.required("media_type")?,
                data: inner.required("data")?,
            }
        } else {
            ImageSource::Url {
                url: inner.required("url")?,
            }
        };
        Ok(())
    })?;
    Ok(Part::Image(Image {
        source,
        extra: fields.into_extra(),
    }))
}

fn thinking(value: Value, path: &JsonPath<'_>, text: &str, signature: &str) -> Result<Part> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    Ok(Part::Reasoning(Reasoning {
        text: fields.string(text)?.unwrap_or_default(),
        signature: fields.string(signature)?,
        redacted: text.is_empty(),
        extra: fields.into_extra(),
    }))
}

fn tool_use(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    Ok(Part::ToolCall(ToolCall {
        id: fields.required("id")?,
        name: fields.required("name")?,
        input: fields
            .take("input")
            .unwrap_or_else(|| serde_json::json!({}))
            .to_string(),
        extra: fields.into_extra(),
        ..ToolCall::default()
    }))
}

fn tool_result(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    Ok(Part::ToolResult(ToolResult {
        call_id: fields.required("tool_use_id")?,
        parts: content(&mut fields, "content", block)?,
        is_error: fields.bool("is_error")?.unwrap_or_default(),
        extra: fields.into_extra(),
        ..ToolResult::default()
    }))
}

/// Parses a tool. A client's tool has a schema; hosted tools have a dated type instead.
fn tool(value: Value, path: &JsonPath<'_>) -> Result<ToolDefinition> {
    if value.get("input_schema").is_none() {
        return Ok(ToolDefinition::Hosted(Opaque {
            dialect: Dialect::Messages,
            value,
        }));
    }
    let mut fields = Fields::from_value(value, path)?;
    let mut tool = FunctionTool::new(fields.required("name")?);
    tool.description = fields.string("description")?;
    tool.strict = fields.bool("strict")?;
    tool.schema = fields.take("input_schema").unwrap_or(tool.schema.take());
    tool.extra = fields.into_extra();
    Ok(ToolDefinition::Function(tool))
}

fn tool_choice(fields: &mut Fields<'_>, request: &mut ModelRequest) -> Result<()> {
    fields.nested("tool_choice", |choice| {
        request.parallel_tools = choice.bool("disable_parallel_tool_use")?.map(|off| !off);
        request.tool_choice = match choice.required("type")?.as_str() {
            "auto" => Some(ToolChoice::Auto),
            "none" => Some(ToolChoice::None),
            "any" => Some(ToolChoice::Required),
            "tool" => Some(ToolChoice::Named {
                name: choice.required("name")?,
            }),
            other => {
                choice.put_back("type", other.into());
                None
            }
        };
        Ok(())
    })
}

fn output(fields: &mut Fields<'_>, request: &mut ModelRequest) -> Result<()> {
    fields.nested("output_config", |config| {
        config.nested("format", |format| {
            match format.string("type")?.as_deref() {
                Some("json_schema") => {
                    request.output = OutputFormat::JsonSchema(JsonSchema {
                        schema: format.take("schema").unwrap_or_default(),
                        ..JsonSchema::default()
                    });
                }
                Some(other) => format.put_back("type", other.into()),
                None => {}
            }
            Ok(())
        })
    })
}
