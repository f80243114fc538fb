//! Keeps the beginning and the end of something too long, and counts what fell out between.

use std::collections::VecDeque;

/// A buffer that takes any amount and holds at most `limit` bytes: the first half and the latest
/// half.
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

    /// What is held now, leaving the buffer empty for the next use.
    pub(crate) fn take(&mut self) -> CappedOutput {
        let mut bytes = std::mem::take(&mut self.head);
        let cut_at = bytes.len();
        let (front, back) = self.tail.as_slices();
        bytes.extend_from_slice(front);
        bytes.extend_from_slice(back);
        self.tail = VecDeque::new();
        CappedOutput {
            bytes,
            cut_at,
            dropped: std::mem::take(&mut self.dropped),
        }
    }

    /// A copy of what is held now.
    pub(crate) fn snapshot(&self) -> CappedOutput {
        let mut bytes = self.head.clone();
        bytes.extend(&self.tail);
        CappedOutput {
            bytes,
            cut_at: self.head.len(),
            dropped: self.dropped,
        }
    }
}

/// Output that was read in full and kept within a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CappedOutput {
    bytes: Vec<u8>,
    cut_at: usize,
    dropped: u64,
}

impl CappedOutput {
    /// How many bytes are missing from the middle; zero when everything is here.
    pub fn dropped_bytes(&self) -> u64 {
        self.dropped
    }

    /// Whether anything is missing.
    pub fn is_truncated(&self) -> bool {
        self.dropped > 0
    }

    /// The bytes that were kept, head and tail joined without a mark.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The text, with U+FFFD for what is not UTF-8 and a mark where bytes are missing.
    pub fn text(&self) -> String {
        if !self.is_truncated() {
            return String::from_utf8_lossy(&self.bytes).into_owned();
        }
        let (head, tail) = self.bytes.split_at(self.cut_at);
        format!(
            "{}[… {} bytes cut …]{}",
            String::from_utf8_lossy(head),
            self.dropped,
            String::from_utf8_lossy(tail)
        )
    }

    /// Removes a carriage return left at the very end by a CRLF line.
    pub(crate) fn trim_cr(&mut self) {
        if self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
            self.cut_at = self.cut_at.min(self.bytes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(limit: usize, pieces: &[&str]) -> String {
        let mut buffer = HeadTailBuffer::new(limit);
        for piece in pieces {
            buffer.push(piece.as_bytes());
        }
        assert_eq!(buffer.snapshot().text(), {
            let mut twin = HeadTailBuffer::new(limit);
            pieces.iter().for_each(|piece| twin.push(piece.as_bytes()));
            twin.take().text()
        });
        buffer.take().text()
    }

    #[test]
    fn everything_is_kept_up_to_the_limit() {
        assert_eq!(kept(8, &["abcd", "efgh"]), "abcdefgh");
    }

    #[test]
    fn p12_the_middle_is_cut_and_said_so() {
        assert_eq!(kept(8, &["abcdefghij"]), "abcd[… 2 bytes cut …]ghij");
        assert_eq!(
            kept(8, &["abc", "def", "ghi", "jkl"]),
            "abcd[… 4 bytes cut …]ijkl"
        );
    }

    #[test]
    fn p12_a_character_split_by_the_cut_survives_as_a_replacement() {
        assert_eq!(
            kept(4, &["aé", "xx", "é."]),
            "a\u{fffd}[… 4 bytes cut …]\u{fffd}."
        );
    }

    #[test]
    fn taking_empties_the_buffer() {
        let mut buffer = HeadTailBuffer::new(4);
        buffer.push(b"abcdefgh");
        buffer.take();
        buffer.push(b"xy");
        assert_eq!(buffer.take().text(), "xy");
    }
}
