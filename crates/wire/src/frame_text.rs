//! The texts of a stream that arrive in parts: read from its frames, and replaced in them. A frame without such a text, or
//! whose text is not replaced, keeps its bytes.

use std::borrow::Cow;

use serde_json::Value;

use crate::relay::{frame_end, sse_fields};
use crate::{Dialect, Framing, json};

/// One text of a response whose parts arrive in several frames.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextChannel {
    /// Whether it is the input of a tool call. The parts of several calls may be interleaved.
    pub is_call: bool,
    /// Distinguishes the texts of one response.
    id: String,
}

/// A part of a text, in one frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramePart {
    /// The text that it is a part of.
    pub channel: TextChannel,
    /// The part.
    pub text: String,
    pointer: String,
}

/// Splits bytes that consist of complete frames. The last one may lack its end.
pub fn split_frames(dialect: Dialect, bytes: &[u8]) -> Vec<&[u8]> {
    let (mut frames, mut rest) = (Vec::new(), bytes);
    while let Some(end) = frame_end(dialect.framing(), rest, 0) {
        let (frame, after) = rest.split_at(end);
        frames.push(frame);
        rest = after;
    }
    if !rest.is_empty() {
        frames.push(rest);
    }
    frames
}

/// Returns the parts of texts in a frame.
pub fn frame_parts(dialect: Dialect, frame: &[u8]) -> Vec<FramePart> {
    let Some(value) = frame_value(dialect, frame) else {
        return Vec::new();
    };
    let parts = pointers(dialect, &value).into_iter();
    let part = |(channel, pointer): (TextChannel, String)| {
        let text = find(&value, &pointer)?.as_str()?.to_owned();
        (!text.is_empty()).then_some(FramePart {
            channel,
            text,
            pointer,
        })
    };
    parts.filter_map(part).collect()
}

/// Finds a value. The names in our pointers have no escapes, which `Value::pointer` would replace in each.
fn find<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    let mut names = pointer.split('/').skip(1);
    names.try_fold(value, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    })
}

/// Returns `true` if `check` holds for the value of each string in the data of a frame. Returns `false` if the strings have
/// escapes, which are not decoded.
pub fn all_strings(dialect: Dialect, frame: &[u8], check: impl Fn(&[u8]) -> bool) -> bool {
    let Some(data) = frame_data(dialect, frame) else {
        return true;
    };
    if memchr::memchr(b'\\', &data).is_some() {
        return false;
    }
    let mut quotes = memchr::memchr_iter(b'"', &data);
    while let Some(start) = quotes.next() {
        let Some(end) = quotes.next() else {
            return false;
        };
        let is_name = data[end + 1..].trim_ascii_start().first() == Some(&b':');
        if !is_name && !check(&data[start + 1..end]) {
            return false;
        }
    }
    true
}

/// Returns the frame with other texts in these parts.
pub fn replace_parts(dialect: Dialect, frame: &[u8], parts: &[FramePart]) -> Vec<u8> {
    let Some(mut value) = frame_value(dialect, frame) else {
        return frame.to_vec();
    };
    for part in parts {
        if let Some(text) = value.pointer_mut(&part.pointer) {
            *text = part.text.as_str().into();
        }
    }
    let data = value.to_string();
    if dialect.framing() == Framing::Lines {
        return format!("{data}\n").into_bytes();
    }
    // The data becomes one line, where the first was.
    let mut out = Vec::with_capacity(frame.len());
    let mut is_written = false;
    for line in frame.split_inclusive(|byte| *byte == b'\n') {
        if !line.starts_with(b"data:") {
            out.extend_from_slice(line);
        } else if !is_written {
            is_written = true;
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(data.as_bytes());
            out.push(b'\n');
        }
    }
    out
}

/// Returns `true` if no text continues after this frame: it ends a block, an item or the response.
pub fn ends_texts(dialect: Dialect, frame: &[u8]) -> bool {
    let (name, data) = match dialect.framing() {
        Framing::Lines => (&b""[..], frame),
        _ => (sse_fields(frame).0, frame),
    };
    let has = |text: &[u8]| memchr::memmem::find(data, text).is_some();
    match dialect {
        Dialect::Chat => has(b"[DONE]") || has(b"\"finish_reason\":\""),
        Dialect::Ollama => has(b"\"done\":true"),
        _ => name.ends_with(b"_stop") || name.ends_with(b".done") || name.ends_with(b"completed"),
    }
}

fn frame_value(dialect: Dialect, frame: &[u8]) -> Option<Value> {
    json::parse(&frame_data(dialect, frame)?).ok()
}

fn frame_data(dialect: Dialect, frame: &[u8]) -> Option<Cow<'_, [u8]>> {
    match dialect.framing() {
        Framing::Lines => Some(Cow::Borrowed(frame.trim_ascii())),
        _ => sse_fields(frame).1,
    }
}

/// Returns where the parts of texts are in the data of a frame.
fn pointers(dialect: Dialect, value: &Value) -> Vec<(TextChannel, String)> {
    let mut found = Vec::new();
    let mut add = |is_call: bool, id: String, pointer: String| {
        found.push((TextChannel { is_call, id }, pointer));
    };
    match dialect {
        Dialect::Chat => {
            let choices = value.get("choices").and_then(Value::as_array);
            for (at, choice) in choices.into_iter().flatten().enumerate() {
                for field in ["content", "reasoning_content", "reasoning", "refusal"] {
                    let pointer = format!("/choices/{at}/delta/{field}");
                    add(false, format!("{at} {field}"), pointer);
                }
                let calls = choice
                    .pointer("/delta/tool_calls")
                    .and_then(Value::as_array);
                for (place, call) in calls.into_iter().flatten().enumerate() {
                    let index = call.get("index").and_then(Value::as_u64);
                    let index = index.unwrap_or(place as u64);
                    let call = format!("/choices/{at}/delta/tool_calls/{place}");
                    add(
                        true,
                        format!("{at} {index}"),
                        format!("{call}/function/arguments"),
                    );
                }
            }
        }
        Dialect::Messages => {
            let index = value.get("index").and_then(Value::as_u64).unwrap_or(0);
            for (field, is_call) in [("text", false), ("thinking", false), ("partial_json", true)] {
                add(
                    is_call,
                    format!("{index} {field}"),
                    format!("/delta/{field}"),
                );
            }
        }
        Dialect::Responses => {
            let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
            let kind = text("type");
            let is_call = kind.contains("call") || kind.contains("input");
            let index = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
            let id = format!(
                "{kind} {} {}",
                index("output_index"),
                index("content_index")
            );
            add(is_call, id, "/delta".to_owned());
        }
        Dialect::Ollama => {
            for field in ["content", "thinking"] {
                add(false, field.to_owned(), format!("/message/{field}"));
            }
        }
        // Its streams are not relayed.
        Dialect::Gemini => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_and_replaced_in_every_dialect() {
        for (dialect, frame, text, is_call) in [
            (
                Dialect::Chat,
                "data: {\"choices\":[{\"delta\":{\"content\":\"ab\"}}]}\n\n",
                "ab",
                false,
            ),
            (
                Dialect::Chat,
                "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"ab\"}}]}}]}\n\n",
                "ab",
                true,
            ),
            (
                Dialect::Messages,
                "event: content_block_delta\ndata: {\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"ab\"}}\n\n",
                "ab",
                false,
            ),
            (
                Dialect::Responses,
                "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"ab\"}\n\n",
                "ab",
                false,
            ),
            (
                Dialect::Ollama,
                "{\"message\":{\"content\":\"ab\"},\"done\":false}\n",
                "ab",
                false,
            ),
        ] {
            let mut parts = frame_parts(dialect, frame.as_bytes());
            assert_eq!(parts.len(), 1, "{frame}");
            assert_eq!(
                (parts[0].text.as_str(), parts[0].channel.is_call),
                (text, is_call)
            );
            assert!(!ends_texts(dialect, frame.as_bytes()), "{frame}");
            parts[0].text = "c\n".to_owned();
            let replaced = replace_parts(dialect, frame.as_bytes(), &parts);
            let expected = frame.replace("\"ab\"", "\"c\\n\"");
            assert_eq!(String::from_utf8(replaced).unwrap(), expected);
        }
    }

    #[test]
    fn other_frames_have_no_parts() {
        for frame in [
            ": ping\n\n",
            "data: [DONE]\n\n",
            "data: {\"choices\":7}\n\n",
            "data: {\n\n",
            "\n\n",
        ] {
            for dialect in Dialect::ALL {
                assert_eq!(frame_parts(dialect, frame.as_bytes()), [], "{frame}");
            }
        }
        let frames = split_frames(Dialect::Chat, b"data: a\n\n: b\r\n\r\ndata: c");
        assert_eq!(frames, [&b"data: a\n\n"[..], b": b\r\n\r\n", b"data: c"]);
    }
}
