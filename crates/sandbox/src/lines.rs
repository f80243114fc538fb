//! Lines from a child, each within a size limit.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::unix::pipe;

use crate::head_tail::{CappedOutput, HeadTailBuffer};

/// How much to read from the pipe in one call: the capacity of a pipe.
const CHUNK: usize = 64 << 10;

/// One line without its line ending; [`CappedOutput::is_truncated`] reports whether it was too
/// long.
pub type OutputLine = CappedOutput;

/// Reads lines on demand, so that a child with too much output blocks until the reader catches up.
#[derive(Debug)]
pub struct BoundedLines<R = pipe::Receiver> {
    source: R,
    chunk: Box<[u8]>,
    /// The part of `chunk` that has not been read.
    unread: std::ops::Range<usize>,
    line: HeadTailBuffer,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    /// Creates a reader of the lines of `source` that retains at most `limit` bytes of each line.
    pub fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            chunk: vec![0; CHUNK].into_boxed_slice(),
            unread: 0..0,
            line: HeadTailBuffer::new(limit),
        }
    }

    /// Returns the next line, or `None` at the end. A last line without a newline counts.
    ///
    /// The method is cancel safe: the next call starts with the data read so far.
    pub async fn next(&mut self) -> io::Result<Option<OutputLine>> {
        loop {
            if self.unread.is_empty() {
                let count = self.source.read(&mut self.chunk).await?;
                if count == 0 {
                    return Ok((!self.line.is_empty()).then(|| self.line.take()));
                }
                self.unread = 0..count;
            }
            let unread = &self.chunk[self.unread.clone()];
            let Some(end) = memchr::memchr(b'\n', unread) else {
                self.line.push(unread);
                self.unread = 0..0;
                continue;
            };
            self.line.push(&unread[..end]);
            self.unread.start += end + 1;
            let mut line = self.line.take();
            line.trim_cr();
            return Ok(Some(line));
        }
    }

    /// Returns the next bytes as they come, without a division into lines; nothing at the end. What was read of a line is
    /// not returned again.
    ///
    /// The method is cancel safe.
    pub async fn next_bytes(&mut self) -> io::Result<&[u8]> {
        if self.unread.is_empty() {
            let count = self.source.read(&mut self.chunk).await?;
            self.unread = 0..count;
        }
        let unread = std::mem::take(&mut self.unread);
        Ok(&self.chunk[unread])
    }

    /// Reads to the end.
    pub(crate) async fn drain(&mut self, all: &mut HeadTailBuffer) -> io::Result<()> {
        all.push(&self.chunk[self.unread.clone()]);
        self.unread = 0..0;
        loop {
            match self.source.read(&mut self.chunk).await? {
                0 => return Ok(()),
                count => all.push(&self.chunk[..count]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn read(input: &[u8], limit: usize) -> Vec<String> {
        let mut lines = BoundedLines::new(input, limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line.text());
        }
        all
    }

    #[tokio::test]
    async fn last_line_needs_no_newline() {
        assert_eq!(
            read(b"one\r\ntwo\n\nlast", 64).await,
            ["one", "two", "", "last"]
        );
        assert_eq!(read(b"", 64).await, [""; 0]);
    }

    #[tokio::test]
    async fn bytes_continue_after_the_last_line() {
        let mut lines = BoundedLines::new(&b"one\r\n\r\nthe\nrest"[..], 64);
        for expected in ["one", ""] {
            assert_eq!(lines.next().await.unwrap().unwrap().text(), expected);
        }
        assert_eq!(lines.next_bytes().await.unwrap(), b"the\nrest");
        assert_eq!(lines.next_bytes().await.unwrap(), b"");
    }

    #[tokio::test]
    async fn p12_too_long_line_is_truncated_and_marked() {
        let lines = read(b"0123456789abcdef\nnext\n", 8).await;
        assert_eq!(lines, ["0123[… 8 bytes cut …]cdef", "next"]);
    }

    #[tokio::test]
    async fn p12_invalid_utf8_and_nul_survive() {
        assert_eq!(read(b"a\xffb\0c\n", 64).await, ["a\u{fffd}b\0c"]);
    }

    proptest! {
        #[test]
        fn p12_lines_do_not_depend_on_chunking(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..20),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let whole = chunks.concat();
                let (mut near, far) = tokio::io::duplex(7);
                let writer = tokio::spawn(async move {
                    use tokio::io::AsyncWriteExt;
                    for chunk in chunks {
                        near.write_all(&chunk).await.unwrap();
                    }
                });
                let mut lines = BoundedLines::new(far, 16);
                let mut actual = Vec::new();
                while let Some(line) = lines.next().await.unwrap() {
                    assert!(line.bytes().len() <= 16);
                    actual.push(line.text());
                }
                writer.await.unwrap();
                assert_eq!(actual, read(&whole, 16).await);
            });
        }
    }
}
