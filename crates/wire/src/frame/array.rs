//! Splitting of a JSON list into objects, as they arrive.

use super::MAX_EVENT_BYTES;
use crate::WireError;

/// Splits `[{…}, {…}]` into its objects without waiting for the end of the list.
#[derive(Debug, Default)]
pub(crate) struct ArraySplitter {
    object: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl ArraySplitter {
    /// Calls `emit` for every object that these bytes complete.
    pub(crate) fn push<E: From<WireError>>(
        &mut self,
        bytes: &[u8],
        mut emit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let was_outside = self.depth == 0;
            self.step(*byte);
            if was_outside {
                // Brackets, commas and spaces between the objects.
                start = if self.depth == 1 { at } else { at + 1 };
            } else if self.depth == 0 {
                self.buffer_bytes(&bytes[start..=at])?;
                emit(&self.object)?;
                self.object.clear();
                start = at + 1;
            }
        }
        Ok(self.buffer_bytes(&bytes[start..])?)
    }

    /// Tracks strings and braces. Only braces count, so the list around the objects does not.
    fn step(&mut self, byte: u8) {
        if self.in_string {
            let escaped = std::mem::take(&mut self.escaped);
            match byte {
                b'\\' if !escaped => self.escaped = true,
                b'"' if !escaped => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' if self.depth > 0 => self.in_string = true,
            b'{' => self.depth += 1,
            b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn buffer_bytes(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        if self.object.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(WireError::TooLong {
                limit: MAX_EVENT_BYTES,
            });
        }
        self.object.extend_from_slice(bytes);
        Ok(())
    }
}
