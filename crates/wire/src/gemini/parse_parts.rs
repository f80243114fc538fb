//! Gemini: parsing of the parts of a request's content.

use serde_json::Value;

use crate::json::{Fields, JsonPath, Result};
use crate::{
    Dialect, Image, ImageSource, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult,
};

/// Parses one part. Its keys determine its kind.
pub(super) fn part(value: Value, path: &JsonPath<'_>, role: Role) -> Result<Part> {
    let is_thought = value.get("thought").and_then(Value::as_bool) == Some(true);
    if value.get("functionCall").is_some() {
        return call(value, path);
    }
    if value.get("functionResponse").is_some() {
        return result(value, path);
    }
    if value.get("text").is_some() {
        return if is_thought {
            reasoning(value, path)
        } else {
            text(value, path)
        };
    }
    // An assistant's images are its responses; no other API accepts them as such.
    if role != Role::Assistant && is_image(&value) {
        return image(value, path);
    }
    if !value.is_object() {
        return Err(path.expected("an object", &value));
    }
    Ok(opaque(value))
}

fn opaque(value: Value) -> Part {
    Part::Opaque(Opaque {
        dialect: Dialect::Gemini,
        value,
    })
}

fn text(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("thought");
    Ok(Part::Text(Text {
        text: fields.required("text")?,
        extra: fields.into_extra(),
    }))
}

fn reasoning(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("thought");
    Ok(Part::Reasoning(Reasoning {
        text: fields.required("text")?,
        signature: fields.string("thoughtSignature")?,
        redacted: false,
        extra: fields.into_extra(),
    }))
}

fn call(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let mut fields = Fields::from_value(value, path)?;
    let mut call = ToolCall {
        signature: fields.string("thoughtSignature")?,
        ..ToolCall::default()
    };
    fields.nested("functionCall", |inner| {
        call.id = inner.string("id")?.unwrap_or_default();
        call.name = inner.required("name")?;
        let args = inner.take("args");
        call.input = args.map_or_else(|| "{}".to_owned(), |args| args.to_string());
        Ok(())
    })?;
    call.extra = fields.into_extra();
    Ok(Part::ToolCall(call))
}

fn result(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let mut fields = Fields::from_value(value, path)?;
    let mut result = ToolResult::default();
    fields.nested("functionResponse", |inner| {
        result.call_id = inner.string("id")?.unwrap_or_default();
        result.name = inner.required("name")?;
        let (output, is_error) = function_output(inner.take("response").unwrap_or_default());
        result.is_error = is_error;
        if !output.is_empty() {
            result.parts.push(Part::text(output));
        }
        result.parts.extend(inner.each("parts", |value, path| {
            if is_image(&value) {
                return image(value, path);
            }
            Ok(opaque(value))
        })?);
        Ok(())
    })?;
    result.extra = fields.into_extra();
    Ok(Part::ToolResult(result))
}

/// Returns a function's output and whether it is an error: a text under one of two conventional names, or an
/// object.
fn function_output(response: Value) -> (String, bool) {
    let only = |key: &str| match response.as_object() {
        Some(map) if map.len() == 1 => map.get(key).and_then(Value::as_str),
        _ => None,
    };
    if let Some(text) = only("output") {
        return (text.to_owned(), false);
    }
    if let Some(text) = only("error") {
        return (text.to_owned(), true);
    }
    let is_empty =
        response.is_null() || response.as_object().is_some_and(serde_json::Map::is_empty);
    (
        if is_empty {
            String::new()
        } else {
            response.to_string()
        },
        false,
    )
}

fn is_image(value: &Value) -> bool {
    let media_type = |key: &str| {
        value
            .pointer(&format!("/{key}/mimeType"))
            .and_then(Value::as_str)
    };
    let found = media_type("inlineData").or_else(|| media_type("fileData"));
    found.is_some_and(|media_type| media_type.starts_with("image/"))
}

fn image(value: Value, path: &JsonPath<'_>) -> Result<Part> {
    let mut fields = Fields::from_value(value, path)?;
    let mut source = ImageSource::Url { url: String::new() };
    fields.nested("inlineData", |inner| {
        source = ImageSource::Inline {
            media_type: inner.required("mimeType")?,
            data: inner.required("data")?,
        };
        Ok(())
    })?;
    fields.nested("fileData", |inner| {
        source = ImageSource::Url {
            url: inner.required("fileUri")?,
        };
        Ok(())
    })?;
    Ok(Part::Image(Image {
        source,
        extra: fields.into_extra(),
    }))
}
