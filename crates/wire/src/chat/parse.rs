//! Chat completions: parsing of requests.

use serde_json::Value;

use crate::adapt::{link_results, push_message};
use crate::json::{self, Fields, JsonPath, Result};
use crate::parse_common::{content, image_source, text, tool_choice};
use crate::{
    Dialect, FreeformTool, FunctionTool, Grammar, Image, JsonSchema, Message, ModelRequest, Opaque,
    OutputFormat, Part, Reasoning, Role, Route, ToolCall, ToolDefinition, ToolInputKind,
    ToolResult,
};

pub(crate) fn request(body: Value, _route: &Route) -> Result<ModelRequest> {
    let mut fields = Fields::from_value(body, &JsonPath::ROOT)?;
    let mut request = ModelRequest::new(fields.required("model")?);
    request.origin = Some(Dialect::Chat);
    if !fields.has("messages") {
        return Err(JsonPath::ROOT.key("messages").error("missing"));
    }
    for message in fields.each("messages", message)? {
        push_message(&mut request.messages, message);
    }
    link_results(&mut request.messages);
    request.tools = fields.each("tools", tool)?;
    tool_choice(&mut fields, &mut request, tool_choice_name)?;
    request.parallel_tools = fields.bool("parallel_tool_calls")?;
    response_format(&mut fields, &mut request)?;
    sampling(&mut fields, &mut request)?;
    request.stream = fields.bool("stream")?.unwrap_or_default();
    fields.nested("stream_options", |options| {
        request.stream_usage = options.bool("include_usage")?.unwrap_or_default();
        Ok(())
    })?;
    request.extra = fields.into_extra();
    Ok(request)
}

fn sampling(fields: &mut Fields<'_>, request: &mut ModelRequest) -> Result<()> {
    let sampling = &mut request.sampling;
    sampling.temperature = fields.f64("temperature")?;
    sampling.top_p = fields.f64("top_p")?;
    sampling.seed = fields.i64("seed")?;
    sampling.presence_penalty = fields.f64("presence_penalty")?;
    sampling.frequency_penalty = fields.f64("frequency_penalty")?;
    sampling.stop = match fields.take("stop") {
        Some(Value::String(one)) => vec![one],
        Some(list) => {
            fields.put_back("stop", list);
            fields.each("stop", json::string)?
        }
        None => Vec::new(),
    };
    request.max_tokens = fields.u64("max_completion_tokens")?;
    if request.max_tokens.is_none() {
        request.max_tokens = fields.u64("max_tokens")?;
        // The older name stays as a marker: not every server knows the newer one.
        if let Some(limit) = request.max_tokens {
            fields.put_back("max_tokens", limit.into());
        }
    }
    Ok(())
}

fn message(value: Value, path: &JsonPath<'_>) -> Result<Message> {
    let mut fields = Fields::from_value(value, path)?;
    let role = match fields.required("role")?.as_str() {
        "system" => Role::System,
        "developer" => Role::Developer,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => return tool_message(fields),
        other => return Err(path.key("role").error(format!("unknown role `{other}`"))),
    };
    let mut parts = Vec::new();
    if role == Role::Assistant {
        parts.extend(reasoning(&mut fields));
    }
    parts.extend(content(&mut fields, "content", part)?);
    if role == Role::Assistant {
        parts.extend(fields.each("tool_calls", tool_call)?);
    }
    Ok(Message {
        role,
        parts,
        extra: fields.into_extra(),
    })
}

/// Takes the reasoning of an assistant message, under either of its two names.
fn reasoning(fields: &mut Fields<'_>) -> Option<Part> {
    for key in ["reasoning_content", "reasoning"] {
        match fields.take(key) {
            Some(Value::String(text)) if text.is_empty() => {}
            Some(Value::String(text)) => {
                return Some(Part::Reasoning(Reasoning {
                    text,
                    ..Reasoning::default()
                }));
            }
            Some(other) => fields.put_back(key, other),
            None => {}
        }
    }
    None
}

fn tool_message(mut fields: Fields<'_>) -> Result<Message> {
    let result = ToolResult {
        call_id: fields.required("tool_call_id")?,
        parts: content(&mut fields, "content", part)?,
        extra: fields.into_extra(),
        ..ToolResult::default()
    };
    Ok(Message::new(Role::Tool, vec![Part::ToolResult(result)]))
}

fn part(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    match value.get("type").and_then(Value::as_str) {
        Some("text") => text(value, path).map(Part::Text),
        Some("image_url") => image(value, path),
        Some(_) => Ok(Part::Opaque(Opaque {
            dialect: Dialect::Chat,
            value,
        })),
        None => Err(path.key("type").error("missing")),
    }
}

fn image(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    let mut url = String::new();
    if fields.peek("image_url").is_some_and(Value::is_string) {
        // Not OpenAI's format, but a common one.
        url = fields.required("image_url")?;
    }
    fields.nested("image_url", |inner| {
        url = inner.required("url")?;
        Ok(())
    })?;
    Ok(Part::Image(Image {
        source: image_source(url),
        extra: fields.into_extra(),
    }))
}

fn tool_call(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let mut fields = Fields::from_value(value, path)?;
    let mut call = ToolCall {
        id: fields.required("id")?,
        ..ToolCall::default()
    };
    let kind = fields.string("type")?.unwrap_or("function".to_owned());
    let (key, input) = match kind.as_str() {
        "function" => ("function", "arguments"),
        "custom" => ("custom", "input"),
        other => return Err(path.key("type").error(format!("unknown kind `{other}`"))),
    };
    if key == "custom" {
        call.kind = ToolInputKind::Freeform;
    }
    fields.nested(key, |inner| {
        call.name = inner.required("name")?;
        call.input = inner.string(input)?.unwrap_or_default();
        Ok(())
    })?;
    call.extra = fields.into_extra();
    Ok(Part::ToolCall(call))
}

fn tool(value: Value, path: &JsonPath<'_>) -> Result<ToolDefinition> {
    match value.get("type").and_then(Value::as_str) {
        Some("function") | None => function(value, path),
        Some("custom") => freeform(value, path),
        Some(_) => Ok(ToolDefinition::Hosted(Opaque {
            dialect: Dialect::Chat,
            value,
        })),
    }
}

fn function(value: Value, path: &JsonPath<'_>) -> Result<ToolDefinition> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    let mut tool = FunctionTool::new("");
    fields.nested("function", |inner| {
        tool.name = inner.required("name")?;
        tool.description = inner.string("description")?;
        tool.strict = inner.bool("strict")?;
        tool.schema = inner.take("parameters").unwrap_or(tool.schema.take());
        Ok(())
    })?;
    tool.extra = fields.into_extra();
    Ok(ToolDefinition::Function(tool))
}

fn freeform(value: Value, path: &JsonPath<'_>) -> Result<ToolDefinition> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    let (mut name, mut description, mut grammar) = (String::new(), None, None);
    fields.nested("custom", |inner| {
        name = inner.required("name")?;
        description = inner.string("description")?;
        inner.nested("format", |format| {
            format.take("type");
            format.nested("grammar", |inner| {
                grammar = Some(Grammar {
                    syntax: inner.required("syntax")?,
                    definition: inner.required("definition")?,
                });
                Ok(())
            })
        })
    })?;
    Ok(ToolDefinition::Freeform(FreeformTool {
        name,
        description,
        grammar,
        extra: fields.into_extra(),
    }))
}

/// Takes the name in a tool choice, which is in an object named after the tool's kind.
fn tool_choice_name(choice: &mut Fields<'_>, kind: &str) -> Result<Option<String>> {
    let mut name = None;
    choice.nested(kind, |inner| {
        name = Some(inner.required("name")?);
        Ok(())
    })?;
    Ok(name)
}

fn response_format(fields: &mut Fields<'_>, request: &mut ModelRequest) -> Result<()> {
    fields.nested("response_format", |format| {
        match format.string("type")?.as_deref() {
            None | Some("text") => {}
            Some("json_object") => request.output = OutputFormat::Json,
            Some("json_schema") => format.nested("json_schema", |inner| {
                request.output = OutputFormat::JsonSchema(JsonSchema {
                    name: inner.string("name")?,
                    description: inner.string("description")?,
                    schema: inner.take("schema").unwrap_or_default(),
                    strict: inner.bool("strict")?,
                });
                Ok(())
            })?,
            Some(other) => format.put_back("type", other.into()),
        }
        Ok(())
    })
}
