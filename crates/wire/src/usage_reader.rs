//! Reads the model and the usage of a response on the side, while its bytes pass unchanged.

use serde_json::Value;

use crate::frame::{ArraySplitter, LineSplitter, MAX_EVENT_BYTES, SseSplitter};
use crate::json;
use crate::relay::value_start;
use crate::{
    Dialect, ErrorKind, ModelError, ModelEvent, TokenUsage, WireError, chat, gemini, messages,
    ollama, responses,
};

/// The longest name of a model that is kept.
const MAX_MODEL_BYTES: usize = 200;

/// What a response reported about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportedUsage {
    /// The model that answered.
    pub model: Option<String>,
    /// The tokens, if the response has reported them.
    pub usage: Option<TokenUsage>,
    /// Whether these are the counts of the whole response. The first counts of a stream are not.
    pub is_final: bool,
    /// The error with which the provider ended a stream that had started.
    pub error: Option<ModelError>,
}

/// Reads one response, whole or streamed, split at any position. It never fails: what cannot be read is not reported.
#[derive(Debug)]
pub struct UsageReader {
    dialect: Dialect,
    source: ReadMode,
    found: ReportedUsage,
}

#[derive(Debug)]
enum ReadMode {
    Sse(SseSplitter),
    Lines(LineSplitter),
    Array(ArraySplitter),
    /// JSON whose first byte has not arrived: a document or a list.
    Undecided,
    Document(Vec<u8>),
    /// The response is not in its format, or too long.
    Unreadable,
}

impl UsageReader {
    /// Creates a reader for a response with this content type.
    pub fn new(dialect: Dialect, content_type: &str) -> Self {
        let is = |kind: &str| {
            let start = content_type.trim_start().get(..kind.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(kind))
        };
        let source = if is("text/event-stream") {
            ReadMode::Sse(SseSplitter::default())
        } else if is("application/x-ndjson") {
            ReadMode::Lines(LineSplitter::default())
        } else {
            ReadMode::Undecided
        };
        Self {
            dialect,
            source,
            found: ReportedUsage::default(),
        }
    }

    /// Reads the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if matches!(self.source, ReadMode::Undecided) {
            self.source = match bytes.trim_ascii_start().first() {
                None => return,
                Some(b'[') => ReadMode::Array(ArraySplitter::default()),
                Some(_) => ReadMode::Document(Vec::new()),
            };
        }
        let (dialect, found) = (self.dialect, &mut self.found);
        let mut frame = |data: &[u8]| {
            read_frame(dialect, data.trim_ascii(), found);
            Ok(())
        };
        let read: Result<(), WireError> = match &mut self.source {
            ReadMode::Sse(sse) => sse.push(bytes, |_, data| frame(data)),
            ReadMode::Lines(lines) => lines.push(bytes, frame),
            ReadMode::Array(array) => array.push(bytes, frame),
            ReadMode::Document(document) if document.len() + bytes.len() <= MAX_EVENT_BYTES => {
                document.extend_from_slice(bytes);
                Ok(())
            }
            ReadMode::Document(_) => Err(WireError::TooLong {
                limit: MAX_EVENT_BYTES,
            }),
            ReadMode::Undecided | ReadMode::Unreadable => Ok(()),
        };
        if read.is_err() {
            self.source = ReadMode::Unreadable;
        }
    }

    /// Returns what the response has reported. The last frame may lack its end.
    pub fn finish(mut self) -> ReportedUsage {
        match std::mem::replace(&mut self.source, ReadMode::Unreadable) {
            ReadMode::Document(document) => {
                if let Ok(body) = json::parse(&document) {
                    read_object(self.dialect, &body, &mut self.found);
                    self.found.is_final = self.found.usage.is_some();
                }
            }
            source @ (ReadMode::Sse(_) | ReadMode::Lines(_)) => {
                self.source = source;
                self.push(b"\n\n");
            }
            _ => {}
        }
        self.found
    }
}

/// Reads a frame, if it may have something that is not known yet.
fn read_frame(dialect: Dialect, data: &[u8], found: &mut ReportedUsage) {
    if may_be_error(data)
        && let Some(error) = stream_error(dialect, data)
    {
        found.error = Some(error);
    }
    let key: &[u8] = match dialect {
        Dialect::Chat | Dialect::Responses | Dialect::Messages => b"\"usage\"",
        Dialect::Gemini => b"\"usageMetadata\"",
        Dialect::Ollama => b"\"eval_count\"",
    };
    let has_usage = value_start(data, key).is_some_and(|value| !value.starts_with(b"n"));
    if !has_usage && found.model.is_some() {
        return;
    }
    if let Ok(frame) = json::parse(data) {
        read_object(dialect, &frame, found);
    }
}

/// Returns `true` if a frame has an error, or the name of one as its type.
fn may_be_error(data: &[u8]) -> bool {
    let has_error = value_start(data, b"\"error\"").is_some_and(|value| !value.starts_with(b"n"));
    has_error || value_start(data, b"\"type\"") == Some(b"\"e")
}

/// Returns the provider's error, if the frame is one.
fn stream_error(dialect: Dialect, data: &[u8]) -> Option<ModelError> {
    let mut events = Vec::new();
    let decoded = dialect.decoder().frame(b"", data, &mut events);
    let error = decoded.err().or_else(|| {
        events.into_iter().find_map(|event| match event {
            ModelEvent::Error(error) => Some(error),
            _ => None,
        })
    });
    error.filter(|error| error.kind != ErrorKind::Protocol)
}

/// Reads one JSON object of a response: a document, or the data of a frame.
fn read_object(dialect: Dialect, object: &Value, found: &mut ReportedUsage) {
    // The events of some APIs have the response inside.
    let inner = match dialect {
        Dialect::Responses => object.get("response"),
        Dialect::Messages => object.get("message"),
        _ => None,
    };
    let body = inner.unwrap_or(object);
    let model = match dialect {
        Dialect::Gemini => "modelVersion",
        _ => "model",
    };
    let model = body.get(model).and_then(Value::as_str);
    let model = model.filter(|model| !model.is_empty() && model.len() <= MAX_MODEL_BYTES);
    if let Some(model) = model {
        found.model = Some(model.to_owned());
    }
    let key = match dialect {
        Dialect::Gemini => "usageMetadata",
        _ => "usage",
    };
    let reported = body.get(key).filter(|value| value.is_object());
    let usage = match (dialect, reported) {
        (Dialect::Ollama, _) if body.get("eval_count").is_some() => ollama::usage(body),
        (Dialect::Chat, Some(usage)) => chat::usage(usage),
        (Dialect::Responses, Some(usage)) => responses::usage(usage),
        (Dialect::Gemini, Some(usage)) => gemini::usage(usage),
        (Dialect::Messages, Some(usage)) => {
            messages::merged_usage(found.usage.unwrap_or_default(), usage)
        }
        _ => return,
    };
    found.usage = Some(usage);
    // The first event of a messages stream has the input tokens only.
    found.is_final = dialect != Dialect::Messages || inner.is_none();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dialect: Dialect, kind: &str, text: &str, size: usize) -> ReportedUsage {
        let mut reader = UsageReader::new(dialect, kind);
        for part in text.as_bytes().chunks(size) {
            reader.push(part);
        }
        reader.finish()
    }

    #[track_caller]
    fn check(dialect: Dialect, kind: &str, text: &str, model: &str, usage: TokenUsage) {
        for size in [1, 2, 7, text.len()] {
            let found = read(dialect, kind, text, size);
            assert_eq!(found.model.as_deref(), Some(model), "{text} by {size}");
            assert_eq!(found.usage, Some(usage), "{text} by {size}");
            assert!(found.is_final, "{text} by {size}");
        }
    }

    fn tokens(input: u64, read: u64, write: u64, output: u64, reasoning: u64) -> TokenUsage {
        TokenUsage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: write,
            reasoning_tokens: reasoning,
        }
    }

    const SSE: &str = "text/event-stream; charset=utf-8";
    const JSON: &str = "application/json";

    #[test]
    fn usage_is_read_from_documents_of_every_dialect() {
        check(
            Dialect::Chat,
            JSON,
            r#" {"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
            "m",
            tokens(9, 4, 0, 5, 2),
        );
        check(
            Dialect::Responses,
            JSON,
            r#"{"model":"m","output":[],"usage":{"input_tokens":9,"output_tokens":5,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":2}}}"#,
            "m",
            tokens(9, 4, 0, 5, 2),
        );
        check(
            Dialect::Messages,
            JSON,
            r#"{"model":"m","content":[],"usage":{"input_tokens":2,"cache_read_input_tokens":4,"cache_creation_input_tokens":3,"output_tokens":5}}"#,
            "m",
            tokens(9, 4, 3, 5, 0),
        );
        let gemini = r#"{"candidates":[],"modelVersion":"m","usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2}}"#;
        check(Dialect::Gemini, JSON, gemini, "m", tokens(9, 4, 0, 5, 2));
        check(
            Dialect::Gemini,
            JSON,
            &format!("[{gemini},\r\n{gemini}]"),
            "m",
            tokens(9, 4, 0, 5, 2),
        );
        check(
            Dialect::Ollama,
            JSON,
            r#"{"model":"m","done":true,"prompt_eval_count":9,"eval_count":5}"#,
            "m",
            tokens(9, 0, 0, 5, 0),
        );
    }

    #[test]
    fn usage_is_read_from_streams_of_every_dialect() {
        check(
            Dialect::Chat,
            SSE,
            "data: {\"model\":\"m\",\"choices\":[{}],\"usage\":null}\n\ndata: {\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5}}\r\n\r\ndata: [DONE]\n\n",
            "m",
            tokens(9, 0, 0, 5, 0),
        );
        check(
            Dialect::Responses,
            SSE,
            "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"model\":\"m\",\"usage\":null}}\n\nevent: response.completed\ndata: {\"response\":{\"model\":\"m\",\"usage\":{\"input_tokens\":9,\"output_tokens\":5}}}",
            "m",
            tokens(9, 0, 0, 5, 0),
        );
        check(
            Dialect::Messages,
            SSE,
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":5}}\n\n",
            "m",
            tokens(9, 4, 0, 5, 0),
        );
        check(
            Dialect::Ollama,
            "application/x-ndjson",
            "{\"model\":\"m\",\"done\":false}\n{\"model\":\"m\",\"done\":true,\"prompt_eval_count\":9,\"eval_count\":5}\n",
            "m",
            tokens(9, 0, 0, 5, 0),
        );
    }

    #[test]
    fn interrupted_stream_has_no_final_usage() {
        let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n";
        let found = read(Dialect::Messages, SSE, start, 5);
        assert_eq!(found.usage, Some(tokens(5, 0, 0, 1, 0)));
        assert!(!found.is_final);
        let without = "data: {\"model\":\"m\",\"choices\":[{}]}\n\ndata: [DONE]\n\n";
        let found = read(Dialect::Chat, SSE, without, 5);
        assert_eq!((found.model.as_deref(), found.usage), (Some("m"), None));
    }

    #[test]
    fn error_inside_a_stream_is_read() {
        let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
        let error = read(Dialect::Messages, SSE, overloaded, 5).error;
        assert_eq!(error.unwrap().kind, ErrorKind::Overloaded);
        let limited = "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Please try again in 3s\"}}}\n\n";
        let error = read(Dialect::Responses, SSE, limited, 5).error;
        assert_eq!(error.unwrap().kind, ErrorKind::RateLimited);
        let limited = "data: {\"error\":{\"code\":\"rate_limit_exceeded\",\"type\":\"tokens\",\"message\":\"slow down\"}}\n\n";
        let error = read(Dialect::Chat, SSE, limited, 5).error;
        assert_eq!(error.unwrap().kind, ErrorKind::RateLimited);
        // Text about an error is none.
        let text = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"{\\\"error\\\": {}}\"}}],\"error\":null}\n\n";
        assert_eq!(read(Dialect::Chat, SSE, text, 5).error, None);
    }

    #[test]
    fn unreadable_response_reports_nothing() {
        for text in [
            "",
            " ",
            "<html>",
            "{",
            "[",
            "{}",
            "[[[[",
            "null",
            "{\"usage\":7}",
        ] {
            for dialect in Dialect::ALL {
                for kind in [SSE, JSON, "application/x-ndjson", ""] {
                    let found = read(dialect, kind, text, 1);
                    assert_eq!(found, ReportedUsage::default(), "{dialect} {kind} {text}");
                }
            }
        }
        let deep = "[".repeat(100_000);
        assert_eq!(read(Dialect::Gemini, JSON, &deep, 999).usage, None);
    }
}
