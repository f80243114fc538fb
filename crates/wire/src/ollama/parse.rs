//! Ollama: parsing of requests.

use serde_json::Value;

use super::media_type;
use crate::adapt::{link_results, push_message};
use crate::json::{self, Fields, JsonPath, Result};
use crate::tool_calls::assign_call_ids;
use crate::{
    Dialect, FunctionTool, Image, ImageSource, JsonSchema, Message, ModelRequest, Opaque,
    OutputFormat, Part, Reasoning, Role, Route, ToolCall, ToolDefinition, ToolResult,
};

pub(crate) fn request(body: Value, _route: &Route) -> Result<ModelRequest> {
    let mut fields = Fields::from_value(body, &JsonPath::ROOT)?;
    let mut request = ModelRequest::new(fields.required("model")?);
    request.origin = Some(Dialect::Ollama);
    for message in fields.each("messages", message)? {
        push_message(&mut request.messages, message);
    }
    assign_call_ids(&mut request.messages);
    link_results(&mut request.messages);
    request.tools = fields.each("tools", tool)?;
    request.output = match fields.take("format") {
        None => OutputFormat::Text,
        Some(Value::String(format)) if format.is_empty() => OutputFormat::Text,
        Some(Value::String(_)) => OutputFormat::Json,
        Some(schema) => OutputFormat::JsonSchema(JsonSchema {
            schema,
            ..JsonSchema::default()
        }),
    };
    fields.nested("options", |options| sampling(options, &mut request))?;
    // Unlike in the other APIs, a response is streamed unless the request disables it.
    request.stream = fields.bool("stream")?.unwrap_or(true);
    request.stream_usage = request.stream;
    request.extra = fields.into_extra();
    Ok(request)
}

fn sampling(options: &mut Fields<'_>, request: &mut ModelRequest) -> Result<()> {
    let sampling = &mut request.sampling;
    sampling.temperature = options.f64("temperature")?;
    sampling.top_p = options.f64("top_p")?;
    sampling.top_k = options.u64("top_k")?;
    sampling.seed = options.i64("seed")?;
    sampling.presence_penalty = options.f64("presence_penalty")?;
    sampling.frequency_penalty = options.f64("frequency_penalty")?;
    if let Some(Value::String(one)) = options.peek("stop") {
        let one = one.clone();
        options.put_back("stop", vec![one].into());
    }
    sampling.stop = options.each("stop", json::string)?;
    // A negative number means "no limit" or "until the context is full", which has no common equivalent.
    if options
        .peek("num_predict")
        .is_some_and(|n| json::as_whole_number(n).is_some())
    {
        request.max_tokens = options.u64("num_predict")?;
    }
    Ok(())
}

fn message(value: Value, path: &JsonPath<'_>) -> Result<Message> {
    let mut fields = Fields::from_value(value, path)?;
    let role = match fields.required("role")?.as_str() {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        other => return Err(path.key("role").error(format!("unknown role `{other}`"))),
    };
    let reasoning = fields.string("thinking")?.filter(|text| !text.is_empty());
    let mut parts: Vec<Part> = Vec::new();
    parts.extend(reasoning.map(|text| {
        Part::Reasoning(Reasoning {
            text,
            ..Reasoning::default()
        })
    }));
    let text = fields.string("content")?.filter(|text| !text.is_empty());
    parts.extend(text.map(Part::text));
    parts.extend(fields.each("images", image)?);
    if role == Role::Tool {
        return result(fields, parts);
    }
    parts.extend(fields.each("tool_calls", tool_call)?);
    Ok(Message {
        role,
        parts,
        extra: fields.into_extra(),
    })
}

fn result(mut fields: Fields<'_>, parts: Vec<Part>) -> Result<Message> {
    let result = ToolResult {
        call_id: fields.string("tool_call_id")?.unwrap_or_default(),
        name: fields.string("tool_name")?.unwrap_or_default(),
        parts,
        extra: fields.into_extra(),
        ..ToolResult::default()
    };
    Ok(Message::new(Role::Tool, vec![Part::ToolResult(result)]))
}

fn image(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let data = json::string(value, path)?;
    Ok(Part::Image(Image {
        source: ImageSource::Inline {
            media_type: media_type(&data).to_owned(),
            data,
        },
        extra: Default::default(),
    }))
}

fn tool_call(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let mut fields = Fields::from_value(value, path)?;
    let mut call = ToolCall {
        id: fields.string("id")?.unwrap_or_default(),
        ..ToolCall::default()
    };
    fields.nested("function", |inner| {
        call.name = inner.required("name")?;
        let arguments = inner.take("arguments");
        call.input = arguments.map_or_else(|| "{}".to_owned(), |object| object.to_string());
        Ok(())
    })?;
    call.extra = fields.into_extra();
    Ok(Part::ToolCall(call))
}

fn tool(value: Value, path: &JsonPath<'_>) -> Result<ToolDefinition> {
    if value.get("function").is_none() {
        return Ok(ToolDefinition::Hosted(Opaque {
            dialect: Dialect::Ollama,
            value,
        }));
    }
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    let mut tool = FunctionTool::new("");
    fields.nested("function", |inner| {
        tool.name = inner.required("name")?;
        tool.description = inner.string("description")?;
        tool.schema = inner.take("parameters").unwrap_or(tool.schema.take());
        Ok(())
    })?;
    tool.extra = fields.into_extra();
    Ok(ToolDefinition::Function(tool))
}
