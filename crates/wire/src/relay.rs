//! Relays a streamed response to a client of the same API. The frames pass as they are; only those that may contain usage,
//! an error or the end are decoded.

use std::borrow::Cow;

use memchr::memmem;

use crate::codec::Decode;
use crate::frame::MAX_EVENT_BYTES;
use crate::{Dialect, Framing, ModelError, ModelEvent, WireError};

/// Relays the frames of one streamed response, split at any position.
#[derive(Debug)]
pub struct StreamRelay {
    dialect: Dialect,
    decoder: Box<dyn Decode>,
    /// Whether the client wants the usage at the end of a chat completion.
    stream_usage: bool,
    /// The beginning of the frame that the next bytes complete.
    partial: Vec<u8>,
    /// The number of its bytes in which no frame ends.
    searched: usize,
    ended: bool,
}

/// What a relay made of some bytes.
#[derive(Debug, Default)]
pub struct RelayedFrames {
    /// The complete frames, for the client.
    pub bytes: Vec<u8>,
    /// The usage, and the terminal event.
    pub events: Vec<ModelEvent>,
}

impl StreamRelay {
    /// Creates a relay for one response, or `None` for an API with more than one framing.
    pub fn new(dialect: Dialect, stream_usage: bool) -> Option<Self> {
        (dialect != Dialect::Gemini).then(|| Self {
            dialect,
            decoder: dialect.decoder(),
            stream_usage,
            partial: Vec::new(),
            searched: 0,
            ended: false,
        })
    }

    /// Adds bytes and returns the frames that they complete. An error of the server is a frame too, and an event.
    pub fn push(&mut self, bytes: &[u8]) -> Result<RelayedFrames, ModelError> {
        let mut out = RelayedFrames::default();
        let joined = (!self.partial.is_empty()).then(|| {
            self.partial.extend_from_slice(bytes);
            std::mem::take(&mut self.partial)
        });
        let all = joined.as_deref().unwrap_or(bytes);
        let (mut start, mut searched) = (0, self.searched);
        while let Some(end) = frame_end(self.dialect.framing(), &all[start..], searched) {
            self.frame(&all[start..start + end], false, &mut out);
            start += end;
            searched = 0;
        }
        let rest = all.len() - start;
        if rest > MAX_EVENT_BYTES {
            let limit = MAX_EVENT_BYTES;
            return Err(ModelError::protocol(WireError::TooLong { limit }));
        }
        // The end of a frame has at most three bytes.
        self.searched = rest.saturating_sub(3);
        self.partial = match joined {
            Some(joined) if start == 0 => joined,
            Some(joined) => joined[start..].to_vec(),
            None => bytes[start..].to_vec(),
        };
        Ok(out)
    }

    /// Ends the input. The last frame may lack its end; if it is incomplete, or the response has not ended itself, the response
    /// was interrupted. Its usage is known even then.
    pub fn finish(mut self) -> (RelayedFrames, Result<(), ModelError>) {
        let mut out = RelayedFrames::default();
        let rest = std::mem::take(&mut self.partial);
        if !rest.is_empty() {
            self.frame(&rest, true, &mut out);
        }
        let ended = if matches!(out.events.last(), Some(ModelEvent::Error(_))) {
            out.events.pop();
            Err(ModelError::interrupted())
        } else if self.ended {
            Ok(())
        } else {
            self.decoder.end(&mut out.events)
        };
        out.events.retain(is_relevant);
        if ended.is_err() {
            out.bytes.clear();
        }
        (out, ended)
    }

    /// Relays a frame. The last one is always decoded, because it may be incomplete.
    fn frame(&mut self, frame: &[u8], is_last: bool, out: &mut RelayedFrames) {
        let mut is_dropped = false;
        let (name, data) = match self.dialect.framing() {
            Framing::Lines => match frame.trim_ascii() {
                [] => (&b""[..], None),
                line => (&b""[..], Some(Cow::Borrowed(line))),
            },
            _ => sse_fields(frame),
        };
        let is_read =
            |data: &Cow<'_, [u8]>| !self.ended && (is_last || self.may_matter(name, data));
        if let Some(data) = data.filter(is_read) {
            let mut events = Vec::new();
            if let Err(error) = self.decoder.frame(name, &data, &mut events) {
                events.push(ModelEvent::Error(error));
            }
            let is_usage = |event: &ModelEvent| matches!(event, ModelEvent::Usage(_));
            is_dropped = self.dialect == Dialect::Chat
                && !self.stream_usage
                && events.iter().any(is_usage)
                && value_start(&data, b"\"choices\"") == Some(b"[]");
            events.retain(is_relevant);
            self.ended = events.last().is_some_and(ModelEvent::is_terminal);
            out.events.append(&mut events);
        }
        if !is_dropped {
            out.bytes.extend_from_slice(frame);
        }
    }

    /// Returns `true` if a frame may contain usage, a stop reason, an error or the end.
    fn may_matter(&self, name: &[u8], data: &[u8]) -> bool {
        let has = |key: &[u8], except: &[u8]| {
            value_start(data, key).is_some_and(|value| !except.starts_with(value))
        };
        match self.dialect {
            Dialect::Chat => {
                data == b"[DONE]"
                    || has(b"\"usage\"", b"null")
                    || has(b"\"finish_reason\"", b"null")
                    || has(b"\"error\"", b"null")
            }
            Dialect::Ollama => has(b"\"done\"", b"false") || has(b"\"error\"", b"null"),
            // Their frames have names.
            _ => name == b"message_delta" || !name.ends_with(b"delta"),
        }
    }
}

/// Returns the end of the first complete frame. It is not within the bytes that were searched before.
pub(crate) fn frame_end(framing: Framing, bytes: &[u8], searched: usize) -> Option<usize> {
    let mut ends = memchr::memchr_iter(b'\n', &bytes[searched..]).map(|at| searched + at);
    if framing == Framing::Lines {
        return ends.next().map(|at| at + 1);
    }
    // An empty line ends a frame; lines end with `\n` or `\r\n`.
    ends.find_map(|at| match &bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

fn is_relevant(event: &ModelEvent) -> bool {
    matches!(event, ModelEvent::Usage(_)) || event.is_terminal()
}

/// Returns the name and the data of a server-sent event, if it has data.
pub(crate) fn sse_fields(frame: &[u8]) -> (&[u8], Option<Cow<'_, [u8]>>) {
    let (mut name, mut data) = (&b""[..], None::<Cow<'_, [u8]>>);
    for line in frame.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let value = if line == b"data" {
            Some(&b""[..])
        } else {
            line.strip_prefix(b"data:")
        };
        if let Some(value) = value {
            let value = value.trim_ascii();
            match &mut data {
                None => data = Some(Cow::Borrowed(value)),
                Some(data) => {
                    data.to_mut().push(b'\n');
                    data.to_mut().extend_from_slice(value);
                }
            }
        } else if let Some(value) = line.strip_prefix(b"event:") {
            name = value.trim_ascii();
        }
    }
    (name, data)
}

/// Returns the first two bytes of the value of a key, without spaces before it.
pub(crate) fn value_start<'d>(data: &'d [u8], key: &[u8]) -> Option<&'d [u8]> {
    let after = &data[memmem::find(data, key)? + key.len()..];
    let value = after
        .trim_ascii_start()
        .strip_prefix(b":")?
        .trim_ascii_start();
    Some(&value[..value.len().min(2)])
}
