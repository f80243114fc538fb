//! Splitting of a byte stream into lines, ended by LF, CR or CRLF.

use super::MAX_EVENT_BYTES;
use crate::WireError;

/// Splits bytes into lines. A partial line is buffered until its end arrives.
#[derive(Debug, Default)]
pub(crate) struct LineSplitter {
    partial: Vec<u8>,
    /// The last byte was a CR: an LF directly after it belongs to the same line end.
    after_cr: bool,
}

impl LineSplitter {
    /// Calls `line` for every line that these bytes complete, without the line end.
    pub(crate) fn push<E: From<WireError>>(
        &mut self,
        mut bytes: &[u8],
        mut line: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                return Ok(self.buffer_bytes(bytes)?);
            };
            if self.partial.is_empty() {
                line(&bytes[..end])?;
            } else {
                self.buffer_bytes(&bytes[..end])?;
                line(&self.partial)?;
                self.partial.clear();
            }
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    fn buffer_bytes(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        if self.partial.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(WireError::TooLong {
                limit: MAX_EVENT_BYTES,
            });
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }
}
