//! Responses: parsing of requests.

use serde_json::Value;

use super::parse_items;
use crate::adapt::link_results;
use crate::json::{Fields, JsonPath, Result};
use crate::parse_common::tool_choice;
use crate::{
    Dialect, FreeformTool, FunctionTool, Grammar, JsonSchema, Message, ModelRequest, Opaque,
    OutputFormat, Part, Role, Route, Text, ToolDefinition,
};

pub(crate) fn request(body: Value, _route: &Route) -> Result<ModelRequest> {
    let mut fields = Fields::from_value(body, &JsonPath::ROOT)?;
    let mut request = ModelRequest::new(fields.required("model")?);
    request.origin = Some(Dialect::Responses);
    let instructions = fields
        .string("instructions")?
        .filter(|text| !text.is_empty());
    request.instructions.extend(instructions.map(Text::new));
    request.messages = input(&mut fields)?;
    link_results(&mut request.messages);
    request.tools = fields.each("tools", tool)?;
    tool_choice(&mut fields, &mut request, |choice, _| {
        choice.required("name").map(Some)
    })?;
    request.parallel_tools = fields.bool("parallel_tool_calls")?;
    fields.nested("text", |text| {
        text.nested("format", |format| output(format, &mut request))
    })?;
    request.sampling.temperature = fields.f64("temperature")?;
    request.sampling.top_p = fields.f64("top_p")?;
    request.max_tokens = fields.u64("max_output_tokens")?;
    request.stream = fields.bool("stream")?.unwrap_or_default();
    request.stream_usage = request.stream;
    request.extra = fields.into_extra();
    Ok(request)
}

/// Takes the conversation: a string, or a list of items.
fn input(fields: &mut Fields<'_>) -> Result<Vec<Message>> {
    let mut messages = Vec::new();
    match fields.take("input") {
        None => {}
        Some(Value::String(text)) if text.is_empty() => {}
        Some(Value::String(text)) => {
            messages.push(Message::new(Role::User, vec![Part::text(text)]));
        }
        Some(list @ Value::Array(_)) => {
            fields.put_back("input", list);
            fields.each("input", |item, path| {
                parse_items::push(item, path, &mut messages)
            })?;
        }
        Some(other) => {
            let path = fields.path().key("input");
            return Err(path.expected("a string or a list of items", &other));
        }
    }
    Ok(messages)
}

fn tool(value: Value, path: &JsonPath<'_>) -> Result<ToolDefinition> {
    match value.get("type").and_then(Value::as_str) {
        Some("function") => function(value, path),
        Some("custom") => freeform(value, path),
        Some(_) => Ok(ToolDefinition::Hosted(Opaque {
            dialect: Dialect::Responses,
            value,
        })),
        None => Err(path.key("type").error("missing")),
    }
}

fn function(value: Value, path: &JsonPath<'_>) -> Result<ToolDefinition> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    let mut tool = FunctionTool::new(fields.required("name")?);
    tool.description = fields.string("description")?;
    tool.strict = fields.bool("strict")?;
    tool.schema = fields.take("parameters").unwrap_or(tool.schema.take());
    tool.extra = fields.into_extra();
    Ok(ToolDefinition::Function(tool))
}

fn freeform(value: Value, path: &JsonPath<'_>) -> Result<ToolDefinition> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    let mut grammar = None;
    fields.nested("format", |format| {
        if format.string("type")?.as_deref() == Some("grammar") {
            grammar = Some(Grammar {
                syntax: format.required("syntax")?,
                definition: format.required("definition")?,
            });
        }
        Ok(())
    })?;
    Ok(ToolDefinition::Freeform(FreeformTool {
        name: fields.required("name")?,
        description: fields.string("description")?,
        grammar,
        extra: fields.into_extra(),
    }))
}

fn output(format: &mut Fields<'_>, request: &mut ModelRequest) -> Result<()> {
    match format.string("type")?.as_deref() {
        None | Some("text") => {}
        Some("json_object") => request.output = OutputFormat::Json,
        Some("json_schema") => {
            request.output = OutputFormat::JsonSchema(JsonSchema {
                name: format.string("name")?,
                description: format.string("description")?,
                schema: format.take("schema").unwrap_or_default(),
                strict: format.bool("strict")?,
            });
        }
        Some(other) => format.put_back("type", other.into()),
    }
    Ok(())
}
