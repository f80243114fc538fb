//! Streams as a whole: bytes to events for a client, events to bytes for a server.

use crate::frame::{ArraySplitter, FrameWriter, LineSplitter, SseSplitter};
use crate::{Dialect, Framing, ModelError, ModelEvent};

/// How an answer is written, beyond what its events say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseStyle {
    /// When the answer was begun, in seconds since 1970.
    pub created: u64,
    /// Whether a streamed chat completion ends with its usage; the other APIs always do.
    pub stream_usage: bool,
    /// How the pieces of a stream are told apart.
    pub framing: Framing,
}

impl ResponseStyle {
    /// The usual style of an API.
    pub fn new(dialect: Dialect, created: u64) -> Self {
        Self {
            created,
            stream_usage: true,
            framing: dialect.framing(),
        }
    }
}

/// Turns frames of one API into events. Its state is that of one answer.
pub(crate) trait Decode: std::fmt::Debug + Send {
    /// Reads one frame; `name` is that of a server-sent event, or empty.
    fn frame(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError>;

    /// Nothing more will come: says what that means for an answer that has not ended itself.
    fn end(&mut self, _out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        Err(ModelError::interrupted())
    }
}

/// Turns events into frames of one API. Its state is that of one answer.
pub(crate) trait Encode: std::fmt::Debug + Send {
    /// Writes what one event means.
    fn event(&mut self, event: &ModelEvent, out: &mut FrameWriter);
}

/// Reads a streamed answer: bytes in, wherever they are split, events out.
///
/// The events end with exactly one [`ModelEvent::Done`] or [`ModelEvent::Error`], whatever the bytes are.
#[derive(Debug)]
pub struct StreamDecoder {
    splitter: Splitter,
    decoder: Box<dyn Decode>,
    ended: bool,
}

impl StreamDecoder {
    /// A reader for one answer.
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

    /// Takes bytes in and gives the events they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<ModelEvent> {
        let mut out = Vec::new();
        if !self.ended {
            let read = self.read(bytes, &mut out);
            self.finish_push(read, &mut out);
        }
        out
    }

    /// Nothing more will come: gives what is left, at least the last event if it is still missing.
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

    /// The last frame may lack its end; if it is no whole frame, the stream was cut.
    fn finish_frames(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let end: &[u8] = match self.splitter {
            Splitter::Sse(_) => b"\n\n",
            Splitter::Lines(_) => b"\n",
            Splitter::Array(_) | Splitter::Undecided => b"",
        };
        self.read(end, out).map_err(|_| ModelError::interrupted())
    }

    /// Ends the stream where it is over, and turns a failure to read into the last event.
    fn finish_push(&mut self, read: Result<(), ModelError>, out: &mut Vec<ModelEvent>) {
        let over = out.iter().position(ModelEvent::is_terminal);
        if let Some(last) = over {
            out.truncate(last + 1);
        } else if let Err(error) = read {
            out.push(ModelEvent::Error(error));
        }
        self.ended = out.last().is_some_and(ModelEvent::is_terminal);
    }
}

/// A failure to read, from the frames or from what is in them.
struct DecodeError(ModelError);

impl From<crate::WireError> for DecodeError {
    fn from(error: crate::WireError) -> Self {
        Self(ModelError::protocol(error))
    }
}

/// The cutter in use.
#[derive(Debug)]
enum Splitter {
    Sse(SseSplitter),
    Lines(LineSplitter),
    Array(ArraySplitter),
    /// Gemini streams in two framings, and the first byte says which.
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

/// Writes a streamed answer: events in, bytes out.
#[derive(Debug)]
pub struct StreamEncoder {
    encoder: Box<dyn Encode>,
    frames: FrameWriter,
    ended: bool,
}

impl StreamEncoder {
    /// A writer for one answer.
    pub fn new(dialect: Dialect, style: ResponseStyle) -> Self {
        Self {
            encoder: dialect.encoder(style),
            frames: FrameWriter::new(style.framing),
            ended: false,
        }
    }

    /// The bytes that one event means; may be none. After the last event there are none.
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
