//! What every API implements: decoding of frames into events, and encoding of events as frames.

use crate::frame::FrameWriter;
use crate::{Dialect, Framing, ModelError, ModelEvent};

/// Settings for writing a response that are not in its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseStyle {
    /// The start time of the response, in seconds since 1970.
    pub created: u64,
    /// Whether a streamed chat completion ends with its usage. The other APIs always send it.
    pub stream_usage: bool,
    /// The framing of a stream.
    pub framing: Framing,
}

impl ResponseStyle {
    /// Creates the default style of an API.
    pub fn new(dialect: Dialect, created: u64) -> Self {
        Self {
            created,
            stream_usage: true,
            framing: dialect.framing(),
        }
    }
}

/// Decodes frames of one API into events. Its state belongs to one response.
pub(crate) trait Decode: std::fmt::Debug + Send {
    /// Decodes one frame. `name` is the name of a server-sent event, or empty.
    fn frame(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError>;

    /// Handles the end of the stream for a response that has not ended itself.
    fn end(&mut self, _out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        Err(ModelError::interrupted())
    }
}

/// Encodes events as frames of one API. Its state belongs to one response.
pub(crate) trait Encode: std::fmt::Debug + Send {
    /// Writes the frames of one event.
    fn event(&mut self, event: &ModelEvent, out: &mut FrameWriter);
}
