//! Splitting of byte streams into frames, split at any position, and writing of frames.

mod array;
mod lines;
mod sse;

pub(crate) use array::ArraySplitter;
pub(crate) use lines::LineSplitter;
pub(crate) use sse::SseSplitter;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The maximum length of a stream event. A truncated event would lose a response, an endless one would
/// exhaust memory.
pub const MAX_EVENT_BYTES: usize = 16 << 20;

/// The framing of a streamed response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// Server-sent events, `text/event-stream`.
    Sse,
    /// One JSON object per line, `application/x-ndjson`.
    Lines,
    /// One JSON list of objects, `application/json`: Gemini without `alt=sse`.
    Array,
}

impl Framing {
    /// Returns the media type of the stream.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream",
            Self::Lines => "application/x-ndjson",
            Self::Array => "application/json",
        }
    }
}

/// Writes the frames of a streamed response into a buffer.
#[derive(Debug)]
pub(crate) struct FrameWriter {
    framing: Framing,
    opened: bool,
    bytes: Vec<u8>,
}

impl FrameWriter {
    pub(crate) fn new(framing: Framing) -> Self {
        Self {
            framing,
            opened: false,
            bytes: Vec::new(),
        }
    }

    /// Writes one object.
    pub(crate) fn send(&mut self, value: &Value) {
        self.frame("", value.to_string().as_bytes());
    }

    /// Writes one object with an event name, if the framing has names.
    pub(crate) fn send_named(&mut self, name: &str, value: &Value) {
        self.frame(name, value.to_string().as_bytes());
    }

    /// Writes a frame that is not JSON, such as chat's `[DONE]`.
    pub(crate) fn send_raw(&mut self, data: &str) {
        self.frame("", data.as_bytes());
    }

    fn frame(&mut self, name: &str, data: &[u8]) {
        let (before, after): (&[u8], &[u8]) = match self.framing {
            Framing::Sse => (b"data: ", b"\n\n"),
            Framing::Lines => (b"", b"\n"),
            Framing::Array if self.opened => (b",\r\n", b""),
            Framing::Array => (b"[", b""),
        };
        if self.framing == Framing::Sse && !name.is_empty() {
            self.bytes.extend_from_slice(b"event: ");
            self.bytes.extend_from_slice(name.as_bytes());
            self.bytes.push(b'\n');
        }
        self.bytes.extend_from_slice(before);
        self.bytes.extend_from_slice(data);
        self.bytes.extend_from_slice(after);
        self.opened = true;
    }

    /// Ends the stream.
    pub(crate) fn close(&mut self) {
        if self.framing == Framing::Array {
            let end: &[u8] = if self.opened { b"]" } else { b"[]" };
            self.bytes.extend_from_slice(end);
        }
    }

    /// Takes the bytes written since the last call.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}
