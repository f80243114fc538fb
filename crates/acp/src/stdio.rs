//! The transport below the protocol's crate: bounded lines, and a window for updates.
//!
//! The crate queues what it sends without a limit. An update therefore takes a slot, which is free again when the
//! update is written: a client that does not read slows its agent down.

use std::io;
use std::sync::Arc;

use futures::{Sink, Stream};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Semaphore;
use windlass_core::limits::PROTOCOL_LINE_BYTES;

/// Maximum number of updates that are not yet written.
const WINDOW: usize = 256;
/// What identifies an update. In a JSON string its quotes would be escaped.
const UPDATE: &str = r#""method":"session/update""#;

/// Limits the updates that are not yet written.
#[derive(Debug)]
pub(crate) struct UpdateWindow(Semaphore);

impl UpdateWindow {
    pub(crate) fn new() -> Self {
        Self(Semaphore::new(WINDOW))
    }

    /// Waits for a slot, which the written update frees.
    pub(crate) async fn acquire(&self) {
        if let Ok(slot) = self.0.acquire().await {
            slot.forget();
        }
    }

    fn release(&self) {
        if self.0.available_permits() < WINDOW {
            self.0.add_permits(1);
        }
    }
}

/// Returns the lines of the client.
pub(crate) fn incoming(
    reader: impl AsyncRead + Send + Unpin + 'static,
) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    futures::stream::unfold(BufReader::new(reader), |mut reader| async move {
        let line = next_line(&mut reader).await.transpose()?;
        Some((line, reader))
    })
}

/// Reads the next line that is not blank. A line that is too long is replaced by one that is not a message, so that
/// the client receives an error.
async fn next_line(reader: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let buffer = reader.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        is_too_long |= line.len() + part.len() > PROTOCOL_LINE_BYTES;
        if is_too_long {
            line.clear();
        } else {
            line.extend_from_slice(part);
        }
        let read = part.len() + usize::from(end.is_some());
        reader.consume(read);
        if end.is_none() {
            continue;
        }
        if std::mem::take(&mut is_too_long) {
            return Ok(Some(format!("a line exceeds {PROTOCOL_LINE_BYTES} bytes")));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
        }
        line.clear();
    }
}

/// Returns the sink that writes to the client.
pub(crate) fn outgoing(
    writer: impl AsyncWrite + Send + Unpin + 'static,
    window: Arc<UpdateWindow>,
) -> impl Sink<String, Error = io::Error> + Send + 'static {
    futures::sink::unfold(
        (writer, window),
        |(mut writer, window), mut line: String| async move {
            line.push('\n');
            writer.write_all(line.as_bytes()).await?;
            writer.flush().await?;
            if line.contains(UPDATE) {
                window.release();
            }
            Ok((writer, window))
        },
    )
}

#[cfg(test)]
mod tests {
    use futures::{SinkExt, StreamExt};

    use super::*;

    #[tokio::test]
    async fn lines_are_bounded_and_blank_lines_are_skipped() {
        let mut text = vec![b'x'; PROTOCOL_LINE_BYTES + 1];
        text.extend_from_slice(b"\n\n  \r\n{\"a\":1}\n\xff\nno line end");
        let lines: Vec<_> = Box::pin(incoming(io::Cursor::new(text))).collect().await;
        let lines: Vec<String> = lines.into_iter().map(Result::unwrap).collect();
        assert_eq!(
            lines,
            ["a line exceeds 16777216 bytes", "{\"a\":1}", "\u{fffd}"]
        );
    }

    #[tokio::test]
    async fn written_update_frees_its_slot() {
        let window = Arc::new(UpdateWindow::new());
        for _ in 0..WINDOW {
            window.acquire().await;
        }
        let mut sink = Box::pin(outgoing(Vec::new(), Arc::clone(&window)));
        let update = r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#;
        sink.send(update.to_owned()).await.unwrap();
        window.acquire().await;
        sink.send(r#"{"text":"\"method\":\"session/update\""}"#.to_owned())
            .await
            .unwrap();
        assert_eq!(window.0.available_permits(), 0);
    }
}
