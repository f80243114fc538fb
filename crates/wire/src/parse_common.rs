//! Parsing of request fields that several APIs share: a message's content, an image's URL, the tool choice.

use serde_json::Value;

use crate::json::{Fields, JsonPath, Result};
use crate::{ImageSource, ModelRequest, Part, Text, ToolChoice};

/// Parses the content at a key: a string, or a list of parts, each parsed by `part`.
pub(crate) fn content(
    fields: &mut Fields<'_>,
    key: &str,
    part: impl FnMut(Value, &JsonPath<'_>) -> Result<Part>,
) -> Result<Vec<Part>> {
    match fields.take(key) {
        None => Ok(Vec::new()),
        Some(Value::String(text)) if text.is_empty() => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Part::text(text)]),
        Some(list @ Value::Array(_)) => {
            fields.put_back(key, list);
            fields.each(key, part)
        }
        Some(other) => {
            let path = fields.path().key(key);
            Err(path.expected("a string or a list of parts", &other))
        }
    }
}

/// Parses a text part.
pub(crate) fn text(value: Value, path: &JsonPath<'_>) -> Result<Text> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    Ok(Text {
        text: fields.required("text")?,
        extra: fields.into_extra(),
    })
}

/// Parses an image URL, which may be a `data:` URL with the image itself.
pub(crate) fn image_source(url: String) -> ImageSource {
    let inline = url
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
        .filter(|(media_type, _)| !media_type.is_empty());
    match inline {
        Some((media_type, data)) => ImageSource::Inline {
            media_type: media_type.to_owned(),
            data: data.to_owned(),
        },
        None => ImageSource::Url { url },
    }
}

/// Parses the tool choice: one of OpenAI's keywords, or a tool name, which `name` reads for its kind. Any
/// other value stays in the fields.
pub(crate) fn tool_choice(
    fields: &mut Fields<'_>,
    request: &mut ModelRequest,
    name: impl Fn(&mut Fields<'_>, &str) -> Result<Option<String>>,
) -> Result<()> {
    let choice = match fields.peek("tool_choice") {
        Some(Value::String(keyword)) => choice_from_str(keyword),
        Some(Value::Object(_)) => {
            return fields.nested("tool_choice", |choice| {
                let kind = choice.string("type")?.unwrap_or_default();
                if matches!(kind.as_str(), "function" | "custom") {
                    let name = name(choice, &kind)?;
                    request.tool_choice = name.map(|name| ToolChoice::Named { name });
                } else {
                    choice.put_back("type", kind.into());
                }
                Ok(())
            });
        }
        _ => None,
    };
    if choice.is_some() {
        fields.take("tool_choice");
        request.tool_choice = choice;
    }
    Ok(())
}

fn choice_from_str(keyword: &str) -> Option<ToolChoice> {
    match keyword {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "required" => Some(ToolChoice::Required),
        _ => None,
    }
}
