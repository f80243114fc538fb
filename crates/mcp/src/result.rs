//! What a server answered, as a value for whoever asked.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde::Serialize;
use serde_json::Value;
use windlass_core::limits::OUTPUT_BYTES;

/// One part of a resource, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResourceContent {
    /// Where it is; a resource may be made of others.
    pub uri: String,
    /// Its media type, if the server knows it.
    pub mime_type: Option<String>,
    /// What is in it.
    pub body: ResourceBody,
}

/// What is in a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, in base64 as the server sent them.
    Base64(String),
}

impl ResourceContent {
    /// What came from the server; `None` for a kind that a later protocol may bring.
    pub(crate) fn new(contents: ResourceContents) -> Option<Self> {
        let (uri, mime_type, body) = match contents {
            ResourceContents::TextResourceContents {
                uri,
                mime_type,
                text,
                ..
            } => (uri, mime_type, ResourceBody::Text(text)),
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => (uri, mime_type, ResourceBody::Base64(blob)),
            _ => return None,
        };
        Some(Self {
            uri,
            mime_type,
            body,
        })
    }
}

/// A tool's answer: its structured content if it has any, a string if all of it is text, else its blocks as they came;
/// or, if the tool says that it failed, what it said.
pub(crate) fn tool_result(result: CallToolResult) -> Result<Value, String> {
    let failed = result.is_error == Some(true);
    let words = || text_content(&result.content);
    let value = match result.structured_content {
        Some(value) if !failed => value,
        _ => words().map_or_else(
            || serde_json::to_value(&result.content).unwrap_or_default(),
            Value::String,
        ),
    };
    match (failed, within_limit(value)) {
        (false, value) => Ok(value),
        (true, Value::String(message)) => Err(message),
        (true, blocks) => Err(blocks.to_string()),
    }
}

fn text_content(blocks: &[ContentBlock]) -> Option<String> {
    let texts: Option<Vec<&str>> = blocks
        .iter()
        .map(|block| block.as_text().map(|text| text.text.as_str()))
        .collect();
    texts.map(|texts| texts.join("\n"))
}

/// Cuts what is longer than a tool's output may be; what is no longer whole is no longer JSON, so it becomes text.
fn within_limit(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(truncate(text)),
        value => {
            let text = value.to_string();
            if text.len() <= OUTPUT_BYTES {
                value
            } else {
                Value::String(truncate(text))
            }
        }
    }
}

fn truncate(text: String) -> String {
    if text.len() <= OUTPUT_BYTES {
        return text;
    }
    let head = text.floor_char_boundary(OUTPUT_BYTES / 2);
    let tail = text.ceil_char_boundary(text.len() - OUTPUT_BYTES / 2);
    format!(
        "{}[… {} bytes cut …]{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(result: Value) -> Result<Value, String> {
        tool_result(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn text_is_a_string_and_structure_goes_before_it() {
        let texts = json!([{ "type": "text", "text": "one" }, { "type": "text", "text": "two" }]);
        assert_eq!(answer(json!({ "content": texts })), Ok(json!("one\ntwo")));
        assert_eq!(
            answer(json!({ "content": texts, "structuredContent": { "sum": 5 } })),
            Ok(json!({ "sum": 5 }))
        );
    }

    #[test]
    fn what_is_not_text_stays_as_it_is() {
        let image = json!([{ "type": "image", "data": "AAAA", "mimeType": "image/png" }]);
        assert_eq!(answer(json!({ "content": image })), Ok(image));
    }

    #[test]
    fn a_failure_is_its_words() {
        let failure =
            json!({ "content": [{ "type": "text", "text": "no such row" }], "isError": true });
        assert_eq!(answer(failure), Err("no such row".to_owned()));
        assert_eq!(
            answer(json!({ "content": [], "isError": true })),
            Err(String::new())
        );
    }

    #[test]
    fn p12_a_long_answer_keeps_its_head_and_its_tail() {
        let text = format!("head{}tail", "é".repeat(OUTPUT_BYTES));
        let long = json!({ "content": [{ "type": "text", "text": text }] });
        let Ok(Value::String(kept)) = answer(long) else {
            panic!("no text")
        };
        assert!(
            kept.starts_with("head") && kept.ends_with("tail") && kept.contains(" bytes cut …]")
        );
        assert!(kept.len() < OUTPUT_BYTES + 64);

        let wide = json!({ "structuredContent": vec!["x".repeat(100); OUTPUT_BYTES / 50] });
        assert!(matches!(answer(wide), Ok(Value::String(kept)) if kept.len() < OUTPUT_BYTES + 64));
    }
}
