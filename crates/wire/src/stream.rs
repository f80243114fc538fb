//! Streams: bytes to events for a client, events to bytes for a server.

use crate::codec::{Decode, Encode};
use crate::event::name_calls;
use crate::frame::{ArraySplitter, FrameWriter, LineSplitter, SseSplitter};
use crate::{Dialect, Framing, ModelError, ModelEvent, ResponseStyle};

/// Decodes a streamed response: bytes in, split at any position, events out.
///
/// The events end with exactly one [`ModelEvent::Done`] or [`ModelEvent::Error`], for any input.
#[derive(Debug)]
pub struct StreamDecoder {
    splitter: Splitter,
    decoder: Box<dyn Decode>,
    ended: bool,
}

impl StreamDecoder {
    /// Creates a decoder for one response.
    pub fn new(dialect: Dialect) -> Self {
        Self {
            splitter: match dialect.framing() {
                Framing::Lines => Splitter::Lines(LineSplitter::default()),
                _ if dialect == Dialect::Gemini => Splitter::Undecided,
                _ => Splitter::Sse(SseSplitter::default()),
            },
            decoder: dialect.decoder(),
            ended: false,
        }
    }

    /// Adds bytes and returns the events they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<ModelEvent> {
        let mut out = Vec::new();
        if !self.ended {
            let read = self.read(bytes, &mut out);
            self.finish_push(read, &mut out);
        }
        out
    }

    /// Ends the input and returns the remaining events, including the terminal event if it is still missing.
    pub fn finish(mut self) -> Vec<ModelEvent> {
        let mut out = Vec::new();
        if !self.ended {
            let read = self.finish_frames(&mut out);
            self.finish_push(read, &mut out);
        }
        if !self.ended {
            let end = self.decoder.end(&mut out);
            self.finish_push(end, &mut out);
        }
        out
    }

    fn read(&mut self, bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let decoder = &mut self.decoder;
        let mut frame = |name: &[u8], data: &[u8]| {
            if out.last().is_some_and(ModelEvent::is_terminal) {
                return Ok(());
            }
            decoder.frame(name, data, out).map_err(DecodeError)
        };
        self.splitter.decide(bytes);
        match &mut self.splitter {
            Splitter::Undecided => Ok(()),
            Splitter::Sse(sse) => sse.push(bytes, frame),
            Splitter::Array(array) => array.push(bytes, |data| frame(b"", data)),
            Splitter::Lines(lines) => lines.push(bytes, |line| match line.trim_ascii() {
                [] => Ok(()),
                line => frame(b"", line),
            }),
        }
        .map_err(|error: DecodeError| error.0)
    }

    /// Completes the last frame, which may lack its end. If it is incomplete, the stream was interrupted.
    fn finish_frames(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let end: &[u8] = match self.splitter {
            Splitter::Sse(_) => b"\n\n",
            Splitter::Lines(_) => b"\n",
            Splitter::Array(_) | Splitter::Undecided => b"",
        };
        self.read(end, out).map_err(|_| ModelError::interrupted())
    }

    /// Truncates the events after the terminal event, and turns a read error into the terminal event.
    fn finish_push(&mut self, read: Result<(), ModelError>, out: &mut Vec<ModelEvent>) {
        name_calls(out);
        let over = out.iter().position(ModelEvent::is_terminal);
        if let Some(last) = over {
            out.truncate(last + 1);
        } else if let Err(error) = read {
            out.push(ModelEvent::Error(error));
        }
        self.ended = out.last().is_some_and(ModelEvent::is_terminal);
    }
}

/// A decoding error, from the framing or from the content of a frame.
struct DecodeError(ModelError);

impl From<crate::WireError> for DecodeError {
    fn from(error: crate::WireError) -> Self {
        Self(ModelError::protocol(error))
    }
}

/// The active splitter.
#[derive(Debug)]
enum Splitter {
    Sse(SseSplitter),
    Lines(LineSplitter),
    Array(ArraySplitter),
    /// Not chosen yet: Gemini streams in two framings, and the first byte tells which.
    Undecided,
}

impl Splitter {
    fn decide(&mut self, bytes: &[u8]) {
        if let Self::Undecided = self {
            match bytes.trim_ascii_start().first() {
                None => {}
                Some(b'[' | b'{') => *self = Self::Array(ArraySplitter::default()),
                Some(_) => *self = Self::Sse(SseSplitter::default()),
            }
        }
    }
}

/// Encodes a streamed response: events in, bytes out.
#[derive(Debug)]
pub struct StreamEncoder {
    encoder: Box<dyn Encode>,
    frames: FrameWriter,
    ended: bool,
}

impl StreamEncoder {
    /// Creates an encoder for one response.
    pub fn new(dialect: Dialect, style: ResponseStyle) -> Self {
        Self {
            encoder: dialect.encoder(style),
            frames: FrameWriter::new(style.framing),
            ended: false,
        }
    }

    /// Returns the bytes of one event, possibly none. After the terminal event they are always empty.
    pub fn push(&mut self, event: &ModelEvent) -> Vec<u8> {
        if self.ended {
            return Vec::new();
        }
        self.encoder.event(event, &mut self.frames);
        if event.is_terminal() {
            self.ended = true;
            self.frames.close();
        }
        self.frames.take()
    }
}
