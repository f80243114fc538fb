//! What several APIs say alike in a request: a message's content, a picture's address, the choice of a tool.

use serde_json::Value;

use crate::json::{Fields, JsonPath, Result};
use crate::{ImageSource, ModelRequest, Part, Text, ToolChoice};

/// Content under a key: a string, or a list of parts, each read by `part`.
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

/// A part that is words.
pub(crate) fn text(value: Value, path: &JsonPath<'_>) -> Result<Text> {
    let mut fields = Fields::from_value(value, path)?;
    fields.take("type");
    Ok(Text {
        text: fields.required("text")?,
        extra: fields.into_extra(),
    })
}

/// A picture by its address, which may hold the picture itself.
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

/// Which tool the model must call: one of OpenAI's words, or a tool by its name, which `name` finds for its kind. What is
/// neither stays where it is.
pub(crate) fn tool_choice(
    fields: &mut Fields<'_>,
    request: &mut ModelRequest,
    name: impl Fn(&mut Fields<'_>, &str) -> Result<Option<String>>,
) -> Result<()> {
    let choice = match fields.peek("tool_choice") {
        Some(Value::String(word)) => choice_from_str(word),
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

fn choice_from_str(word: &str) -> Option<ToolChoice> {
    match word {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "required" => Some(ToolChoice::Required),
        _ => None,
    }
}
