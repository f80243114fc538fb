//! Keeps the beginning and the end of long output, and counts the bytes dropped in between.

use std::collections::VecDeque;

use windlass_core::cut_mark;

/// A buffer that accepts any amount of data and holds at most `limit` bytes: the first half and the
/// most recent half.
#[derive(Debug)]
pub(crate) struct HeadTailBuffer {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl HeadTailBuffer {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            head: Vec::new(),
            tail: VecDeque::new(),
            dropped: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let head_room = (self.limit - self.limit / 2).saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at(head_room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.push_tail(rest);
    }

    fn push_tail(&mut self, bytes: &[u8]) {
        let room = self.limit / 2;
        let skipped = bytes.len().saturating_sub(room);
        let overflow = (self.tail.len() + bytes.len() - skipped).saturating_sub(room);
        self.tail.drain(..overflow);
        self.tail.extend(&bytes[skipped..]);
        self.dropped += (skipped + overflow) as u64;
    }

    /// Returns the content and empties the buffer.
    pub(crate) fn take(&mut self) -> CappedOutput {
        let mut bytes = std::mem::take(&mut self.head);
        let head_len = bytes.len();
        let (front, back) = self.tail.as_slices();
        bytes.extend_from_slice(front);
        bytes.extend_from_slice(back);
        self.tail = VecDeque::new();
        CappedOutput {
            bytes,
            head_len,
            dropped: std::mem::take(&mut self.dropped),
        }
    }

    /// Returns a copy of the content.
    pub(crate) fn snapshot(&self) -> CappedOutput {
        let mut bytes = self.head.clone();
        bytes.extend(&self.tail);
        CappedOutput {
            bytes,
            head_len: self.head.len(),
            dropped: self.dropped,
        }
    }
}

/// Output that was read completely but retained only up to a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CappedOutput {
    bytes: Vec<u8>,
    head_len: usize,
    dropped: u64,
}

impl CappedOutput {
    /// Returns the number of bytes missing from the middle; zero if the output is complete.
    pub fn dropped_bytes(&self) -> u64 {
        self.dropped
    }

    /// Returns `true` if bytes are missing.
    pub fn is_truncated(&self) -> bool {
        self.dropped > 0
    }

    /// Returns the retained bytes: head and tail, joined without a marker.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the text, with U+FFFD for invalid UTF-8 and a marker where bytes are missing.
    pub fn text(&self) -> String {
        if !self.is_truncated() {
            return String::from_utf8_lossy(&self.bytes).into_owned();
        }
        let (head, tail) = self.bytes.split_at(self.head_len);
        format!(
            "{}{}{}",
            String::from_utf8_lossy(head),
            cut_mark(self.dropped),
            String::from_utf8_lossy(tail)
        )
    }

    /// Removes the carriage return that a CRLF line leaves at the end.
    pub(crate) fn trim_cr(&mut self) {
        if self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
            self.head_len = self.head_len.min(self.bytes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capped(limit: usize, chunks: &[&str]) -> String {
        let mut buffer = HeadTailBuffer::new(limit);
        for chunk in chunks {
            buffer.push(chunk.as_bytes());
        }
        assert_eq!(buffer.snapshot().text(), {
            let mut twin = HeadTailBuffer::new(limit);
            chunks.iter().for_each(|chunk| twin.push(chunk.as_bytes()));
            twin.take().text()
        });
        buffer.take().text()
    }

    #[test]
    fn content_within_limit_is_complete() {
        assert_eq!(capped(8, &["abcd", "efgh"]), "abcdefgh");
    }

    #[test]
    fn p12_middle_is_dropped_and_marked() {
        assert_eq!(capped(8, &["abcdefghij"]), "abcd[… 2 bytes cut …]ghij");
        assert_eq!(
            capped(8, &["abc", "def", "ghi", "jkl"]),
            "abcd[… 4 bytes cut …]ijkl"
        );
    }

    #[test]
    fn p12_split_character_becomes_replacement_character() {
        assert_eq!(
            capped(4, &["aé", "xx", "é."]),
            "a\u{fffd}[… 4 bytes cut …]\u{fffd}."
        );
    }

    #[test]
    fn take_empties_the_buffer() {
        let mut buffer = HeadTailBuffer::new(4);
        buffer.push(b"abcdefgh");
        buffer.take();
        buffer.push(b"xy");
        assert_eq!(buffer.take().text(), "xy");
    }
}
