//! Lines from a child, each within a limit however long the child makes it.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::ChildStdout;

use crate::head_tail::{CappedOutput, HeadTailBuffer};

/// How much is read from the pipe at once: as much as a pipe holds.
const CHUNK: usize = 64 << 10;

/// One line without its line end; [`Kept::is_cut`] says whether it was over-long.
pub type OutputLine = CappedOutput;

/// Reads lines only when asked, so a child that floods waits for its reader.
#[derive(Debug)]
pub struct BoundedLines<R = ChildStdout> {
    source: R,
    chunk: Box<[u8]>,
    /// The part of `chunk` not yet handed out.
    unread: std::ops::Range<usize>,
    line: HeadTailBuffer,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    /// Lines of `source`, of which at most `limit` bytes each are kept.
    pub fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            chunk: vec![0; CHUNK].into_boxed_slice(),
            unread: 0..0,
            line: HeadTailBuffer::new(limit),
        }
    }

    /// The next line, or `None` at the end. A last line without a newline counts.
    ///
    /// Dropping the future loses nothing: what was read stays for the next call.
    pub async fn next(&mut self) -> io::Result<Option<OutputLine>> {
        loop {
            if self.unread.is_empty() {
                let count = self.source.read(&mut self.chunk).await?;
                if count == 0 {
                    return Ok((!self.line.is_empty()).then(|| self.line.take()));
                }
                self.unread = 0..count;
            }
            let waiting = &self.chunk[self.unread.clone()];
            let Some(end) = memchr::memchr(b'\n', waiting) else {
                self.line.push(waiting);
                self.unread = 0..0;
                continue;
            };
            self.line.push(&waiting[..end]);
            self.unread.start += end + 1;
            let mut line = self.line.take();
            line.trim_cr();
            return Ok(Some(line));
        }
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
    async fn the_last_line_needs_no_newline() {
        assert_eq!(
            read(b"one\r\ntwo\n\nlast", 64).await,
            ["one", "two", "", "last"]
        );
        assert_eq!(read(b"", 64).await, [""; 0]);
    }

    #[tokio::test]
    async fn p12_an_over_long_line_is_cut_and_said_so() {
        let lines = read(b"0123456789abcdef\nnext\n", 8).await;
        assert_eq!(lines, ["0123[… 8 bytes cut …]cdef", "next"]);
    }

    #[tokio::test]
    async fn p12_invalid_utf8_and_nul_survive() {
        assert_eq!(read(b"a\xffb\0c\n", 64).await, ["a\u{fffd}b\0c"]);
    }

    proptest! {
        #[test]
        fn p12_any_bytes_in_any_pieces_give_the_same_lines(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..20),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let whole = pieces.concat();
                let (mut near, far) = tokio::io::duplex(7);
                let writer = tokio::spawn(async move {
                    use tokio::io::AsyncWriteExt;
                    for piece in pieces {
                        near.write_all(&piece).await.unwrap();
                    }
                });
                let mut lines = BoundedLines::new(far, 16);
                let mut found = Vec::new();
                while let Some(line) = lines.next().await.unwrap() {
                    assert!(line.bytes().len() <= 16);
                    found.push(line.text());
                }
                writer.await.unwrap();
                assert_eq!(found, read(&whole, 16).await);
            });
        }
    }
}
