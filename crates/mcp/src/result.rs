//! Converts results of a server.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde::Serialize;
use serde_json::Value;
use windlass_core::cut_middle;
use windlass_core::limits::OUTPUT_BYTES;

/// One part of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ResourceContent {
    /// The URI of the part; a resource may consist of several.
    pub uri: String,
    /// The media type, if the server reports it.
    pub mime_type: Option<String>,
    /// The content.
    pub body: ResourceBody,
}

/// The content of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, in base64 as sent by the server.
    Base64(String),
}

impl ResourceContent {
    /// Converts a part. Returns `None` for a kind that this version does not know.
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

/// Returns the result of a tool: its structured content if there is any, a string if all of it is text,
/// otherwise its content blocks. Returns the message as `Err` if the tool failed.
pub(crate) fn tool_result(result: CallToolResult) -> Result<Value, String> {
    let failed = result.is_error == Some(true);
    let text = || text_content(&result.content);
    let value = match result.structured_content {
        Some(value) if !failed => value,
        _ => text().map_or_else(
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

/// Truncates a value that exceeds the output limit. Truncated JSON is no longer valid, so it becomes text.
fn within_limit(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut_middle(text, OUTPUT_BYTES)),
        value => {
            let text = value.to_string();
            if text.len() <= OUTPUT_BYTES {
                value
            } else {
                Value::String(cut_middle(text, OUTPUT_BYTES))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn convert(result: Value) -> Result<Value, String> {
        tool_result(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn text_is_a_string_and_structured_content_has_precedence() {
        let texts = json!([{ "type": "text", "text": "one" }, { "type": "text", "text": "two" }]);
        assert_eq!(convert(json!({ "content": texts })), Ok(json!("one\ntwo")));
        assert_eq!(
            convert(json!({ "content": texts, "structuredContent": { "sum": 5 } })),
            Ok(json!({ "sum": 5 }))
        );
    }

    #[test]
    fn non_text_content_is_unchanged() {
        let image = json!([{ "type": "image", "data": "AAAA", "mimeType": "image/png" }]);
        assert_eq!(convert(json!({ "content": image })), Ok(image));
    }

    #[test]
    fn tool_failure_returns_its_message() {
        let failure =
            json!({ "content": [{ "type": "text", "text": "no such row" }], "isError": true });
        assert_eq!(convert(failure), Err("no such row".to_owned()));
        assert_eq!(
            convert(json!({ "content": [], "isError": true })),
            Err(String::new())
        );
    }

    #[test]
    fn p12_long_result_keeps_head_and_tail() {
        let text = format!("head{}tail", "é".repeat(OUTPUT_BYTES));
        let long = json!({ "content": [{ "type": "text", "text": text }] });
        let Ok(Value::String(text)) = convert(long) else {
            panic!("no text")
        };
        assert!(
            text.starts_with("head") && text.ends_with("tail") && text.contains(" bytes cut …]")
        );
        assert!(text.len() < OUTPUT_BYTES + 64);

        let wide = json!({ "structuredContent": vec!["x".repeat(100); OUTPUT_BYTES / 50] });
        assert!(matches!(convert(wide), Ok(Value::String(text)) if text.len() < OUTPUT_BYTES + 64));
    }
}
