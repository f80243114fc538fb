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
    /// What a frame may matter for.
    keys: Vec<KeyFinder>,
    /// Whether the client wants the usage at the end of a chat completion.
    stream_usage: bool,
    /// The beginning of the frame that the next bytes complete.
    partial: Vec<u8>,
    /// The number of its bytes in which no frame ends.
    searched: usize,
    ended: bool,
}

/// Finds a key whose value may matter. Each frame is searched for the same keys.
#[derive(Debug)]
struct KeyFinder {
    finder: memmem::Finder<'static>,
    /// The value that does not matter.
    except: &'static [u8],
}

impl KeyFinder {
    fn is_set(&self, data: &[u8]) -> bool {
        let Some(at) = self.finder.find(data) else {
            return false;
        };
        let value = start_after_key(&data[at + self.finder.needle().len()..]);
        value.is_some_and(|value| !self.except.starts_with(value))
    }
}

/// Returns the keys of an API whose frames have no names.
fn keys(dialect: Dialect) -> Vec<KeyFinder> {
    let keys: &[(&'static str, &'static str)] = match dialect {
        Dialect::Chat => &[
            ("\"usage\"", "null"),
            ("\"finish_reason\"", "null"),
            ("\"error\"", "null"),
        ],
        Dialect::Ollama => &[("\"done\"", "false"), ("\"error\"", "null")],
        _ => &[],
    };
    let finder = |(key, except): &(&'static str, &'static str)| KeyFinder {
        finder: memmem::Finder::new(*key),
        except: except.as_bytes(),
    };
    keys.iter().map(finder).collect()
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
            keys: keys(dialect),
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
        match self.dialect {
            Dialect::Chat if data == b"[DONE]" => true,
            Dialect::Chat | Dialect::Ollama => self.keys.iter().any(|key| key.is_set(data)),
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
    let mut rest = frame;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        rest = rest.get(end + 1..).unwrap_or_default();
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
    start_after_key(&data[memmem::find(data, key)? + key.len()..])
}

/// Returns the first two bytes of the value that follows a key.
fn start_after_key(after: &[u8]) -> Option<&[u8]> {
    let value = after
        .trim_ascii_start()
        .strip_prefix(b":")?
        .trim_ascii_start();
    Some(&value[..value.len().min(2)])
}
