//! Server-sent events, as specified in the HTML standard.

use super::{LineSplitter, MAX_EVENT_BYTES};
use crate::WireError;

/// Splits bytes into events. Ids and retry times are ignored: a billed response is never requested again
/// automatically.
#[derive(Debug, Default)]
pub(crate) struct SseSplitter {
    lines: LineSplitter,
    event: Event,
    started: bool,
}

/// The event that the next empty line completes.
#[derive(Debug, Default)]
struct Event {
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
}

impl SseSplitter {
    /// Calls `emit` with name and data of every event that these bytes complete.
    pub(crate) fn push<E: From<WireError>>(
        &mut self,
        bytes: &[u8],
        mut emit: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self {
            lines,
            event,
            started,
        } = self;
        lines.push(bytes, |line| {
            let first = !std::mem::replace(started, true);
            let bom = if first { &b"\xEF\xBB\xBF"[..] } else { b"" };
            let line = line.strip_prefix(bom).unwrap_or(line);
            if !line.is_empty() {
                return Ok(event.field(line)?);
            }
            if event.has_data {
                emit(&event.name, &event.data)?;
            }
            event.clear();
            Ok(())
        })
    }
}

impl Event {
    fn field(&mut self, line: &[u8]) -> Result<(), WireError> {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => self.data(value)?,
            b"event" => self.name = value.to_vec(),
            // A comment has an empty name; other fields are ignored.
            _ => {}
        }
        Ok(())
    }

    fn data(&mut self, value: &[u8]) -> Result<(), WireError> {
        if self.data.len() + value.len() >= MAX_EVENT_BYTES {
            return Err(WireError::TooLong {
                limit: MAX_EVENT_BYTES,
            });
        }
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn clear(&mut self) {
        self.name.clear();
        self.data.clear();
        self.has_data = false;
    }
}
