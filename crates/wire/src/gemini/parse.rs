//! Gemini: parsing of requests.

use serde_json::Value;

use super::parse_parts;
use crate::adapt::{link_results, push_message, split_by_role};
use crate::json::{self, Fields, JsonPath, Result};
use crate::tool_calls::assign_call_ids;
use crate::{
    Dialect, FunctionTool, JsonSchema, Message, ModelRequest, Opaque, OutputFormat, Part, Role,
    Route, Text, ToolChoice, ToolDefinition,
};

/// Field names in both spellings: Google's JSON accepts either, and its own examples use both.
const SPELLINGS: [(&str, &str); 3] = [
    ("system_instruction", "systemInstruction"),
    ("generation_config", "generationConfig"),
    ("tool_config", "toolConfig"),
];

pub(crate) fn request(body: Value, route: &Route) -> Result<ModelRequest> {
    let mut fields = Fields::from_value(body, &JsonPath::ROOT)?;
    for (snake, camel) in SPELLINGS {
        fields.rename(snake, camel);
    }
    let model = match &route.model {
        Some(model) => model.clone(),
        None => fields.required("model")?,
    };
    let mut request = ModelRequest::new(model);
    request.origin = Some(Dialect::Gemini);
    request.instructions = instructions(&mut fields)?;
    for message in fields.each("contents", content)?.into_iter().flatten() {
        push_message(&mut request.messages, message);
    }
    assign_call_ids(&mut request.messages);
    link_results(&mut request.messages);
    request.tools = fields.each("tools", tools)?.into_iter().flatten().collect();
    tool_choice(&mut fields, &mut request)?;
    fields.nested("generationConfig", |config| {
        generation(config, &mut request)
    })?;
    request.stream = route.stream.unwrap_or_default();
    request.stream_usage = request.stream;
    request.extra = fields.into_extra();
    Ok(request)
}

/// Takes the instructions. Parts other than text are ignored.
fn instructions(fields: &mut Fields<'_>) -> Result<Vec<Text>> {
    let mut texts = Vec::new();
    fields.nested("systemInstruction", |content| {
        let parts = content.each("parts", |part, path| {
            parse_parts::part(part, path, Role::System)
        })?;
        texts.extend(parts.into_iter().filter_map(|part| match part {
            Part::Text(text) if !text.text.is_empty() => Some(text),
            _ => None,
        }));
        Ok(())
    })?;
    Ok(texts)
}

/// Parses one content. One that has results and other parts becomes a message of the tools and one of the
/// user.
fn content(value: Value, path: &JsonPath<'_>) -> Result<Vec<Message>> {
    let mut fields = Fields::from_value(value, path)?;
    let role = match fields.string("role")?.as_deref() {
        Some("user" | "function") | None => Role::User,
        Some("model") => Role::Assistant,
        Some(other) => return Err(path.key("role").error(format!("unknown role `{other}`"))),
    };
    let parts = fields.each("parts", |part, path| parse_parts::part(part, path, role))?;
    let extra = fields.into_extra();
    Ok(split_by_role(role, parts, extra))
}

/// Parses one entry of the tools: functions, and switches for hosted tools.
fn tools(value: Value, path: &JsonPath<'_>) -> Result<Vec<ToolDefinition>> {
    let mut fields = Fields::from_value(value, path)?;
    fields.rename("function_declarations", "functionDeclarations");
    let mut tools = fields.each("functionDeclarations", function)?;
    let rest = fields.into_extra();
    if !rest.is_empty() {
        tools.push(ToolDefinition::Hosted(Opaque {
            dialect: Dialect::Gemini,
            value: rest.into(),
        }));
    }
    Ok(tools)
}

fn function(value: Value, path: &JsonPath<'_>) -> Result<ToolDefinition> {
    let mut fields = Fields::from_value(value, path)?;
    let mut tool = FunctionTool::new(fields.required("name")?);
    tool.description = fields.string("description")?;
    if let Some(schema) = schema(&mut fields, "parametersJsonSchema", "parameters") {
        tool.schema = schema;
    }
    tool.extra = fields.into_extra();
    Ok(ToolDefinition::Function(tool))
}

/// Takes a schema, as JSON Schema or in Google's older format, which writes the types in capitals.
fn schema(fields: &mut Fields<'_>, plain: &str, google: &str) -> Option<Value> {
    fields.take(plain).or_else(|| {
        let mut schema = fields.take(google)?;
        lower_types(&mut schema);
        Some(schema)
    })
}

fn lower_types(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(name) if key == "type" => *name = name.to_lowercase(),
                    other => lower_types(other),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(lower_types),
        _ => {}
    }
}

fn tool_choice(fields: &mut Fields<'_>, request: &mut ModelRequest) -> Result<()> {
    fields.nested("toolConfig", |config| {
        config.nested("functionCallingConfig", |config| {
            let mut allowed = config.each("allowedFunctionNames", json::string)?;
            request.tool_choice = match config.string("mode")?.as_deref() {
                Some("AUTO") => Some(ToolChoice::Auto),
                Some("NONE") => Some(ToolChoice::None),
                Some("ANY") if allowed.len() == 1 => {
                    allowed.pop().map(|name| ToolChoice::Named { name })
                }
                Some("ANY") => Some(ToolChoice::Required),
                Some(other) => {
                    config.put_back("mode", other.into());
                    None
                }
                None => None,
            };
            if !allowed.is_empty() {
                config.put_back("allowedFunctionNames", allowed.into());
            }
            Ok(())
        })
    })
}

fn generation(config: &mut Fields<'_>, request: &mut ModelRequest) -> Result<()> {
    let sampling = &mut request.sampling;
    sampling.temperature = config.f64("temperature")?;
    sampling.top_p = config.f64("topP")?;
    sampling.top_k = config.u64("topK")?;
    sampling.seed = config.i64("seed")?;
    sampling.stop = config.each("stopSequences", json::string)?;
    sampling.presence_penalty = config.f64("presencePenalty")?;
    sampling.frequency_penalty = config.f64("frequencyPenalty")?;
    request.max_tokens = config.u64("maxOutputTokens")?;
    let schema = schema(config, "responseJsonSchema", "responseSchema");
    request.output = match (config.string("responseMimeType")?.as_deref(), schema) {
        (_, Some(schema)) => OutputFormat::JsonSchema(JsonSchema {
            schema,
            ..JsonSchema::default()
        }),
        (Some("application/json"), None) => OutputFormat::Json,
        (Some("text/plain") | None, None) => OutputFormat::Text,
        (Some(other), None) => {
            config.put_back("responseMimeType", other.into());
            OutputFormat::Text
        }
    };
    Ok(())
}
