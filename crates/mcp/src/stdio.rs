//! The stdio transport of one server, line by line and within limits.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmcp::model::JsonRpcMessage;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{Mutex, Semaphore, SetOnce};
use tokio::time::timeout;
use windlass_sandbox::{Child, ExitReason, ExitStatus};

use crate::limits::STDERR_TAIL;

/// The maximum number of server requests that wait for a response. Servers need few: the client offers only
/// `ping`.
const MAX_PENDING_RESPONSES: usize = 16;

/// How long a server may take to exit after its stdin was closed, or after it closed its stdout.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// Why a transport ended.
#[derive(Debug, Clone)]
pub(crate) enum TransportEnd {
    /// The server exited, with a description.
    Exited(String),
    /// The server sent a line that exceeds the limit.
    LineTooLong,
}

/// The state of a transport, readable during and after its use.
#[derive(Debug, Default)]
pub(crate) struct TransportState {
    /// The number of lines that were not protocol messages.
    pub(crate) stray_lines: AtomicU64,
    pub(crate) end: SetOnce<TransportEnd>,
    /// The server's stderr when the transport was closed.
    pub(crate) stderr: SetOnce<String>,
}

/// The stdin and stdout of one server. Dropping it stops the server.
pub(crate) struct StdioTransport {
    child: Child,
    input: Arc<Mutex<Option<pipe::Sender>>>,
    /// How long a write may wait for the server to read.
    write_timeout: Duration,
    /// One permit for each further request that will be answered.
    response_permits: Arc<Semaphore>,
    /// A received message that was not yet returned.
    received: Option<RxJsonRpcMessage<RoleClient>>,
    state: Arc<TransportState>,
}

impl StdioTransport {
    pub(crate) fn new(
        mut child: Child,
        state: Arc<TransportState>,
        write_timeout: Duration,
    ) -> Self {
        Self {
            input: Arc::new(Mutex::new(child.stdin.take())),
            child,
            write_timeout,
            response_permits: Arc::new(Semaphore::new(MAX_PENDING_RESPONSES)),
            received: None,
            state,
        }
    }

    /// Returns the next request or response.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = match self.child.stdout.next().await {
                // The response in the line is lost, and its request is unknown. Continuing would leave a caller
                // waiting.
                Ok(Some(line)) if line.is_truncated() => {
                    return self.end(TransportEnd::LineTooLong);
                }
                Ok(Some(line)) => line,
                Ok(None) | Err(_) => {
                    let how = self.end_reason().await;
                    return self.end(TransportEnd::Exited(how));
                }
            };
            match serde_json::from_slice(line.bytes()) {
                // Notifications are ignored: tools are listed once, and progress does not extend a deadline.
                Ok(JsonRpcMessage::Notification(_)) => {}
                Ok(message) => return Some(message),
                Err(_) => {
                    self.state.stray_lines.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    fn end<T>(&self, end: TransportEnd) -> Option<T> {
        // Only the first end is recorded.
        let _ = self.state.end.set(end);
        None
    }

    async fn end_reason(&mut self) -> String {
        let how = match timeout(EXIT_TIMEOUT, self.child.wait()).await {
            Ok(Ok(exit)) if exit.reason == ExitReason::Deadline => {
                "exceeded its maximum run time".to_owned()
            }
            Ok(Ok(ExitStatus {
                reason: ExitReason::Limit(exceeded),
                ..
            })) => format!("was killed: {exceeded}"),
            Ok(Ok(exit)) => format!("ended with code {}", exit.code),
            Ok(Err(error)) => format!("did not run: {error}"),
            Err(_) => "closed its output".to_owned(),
        };
        how + &stderr_suffix(&self.child)
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let input = Arc::clone(&self.input);
        let response_permits = Arc::clone(&self.response_permits);
        let write_timeout = self.write_timeout;
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let open = input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            let Ok(written) = timeout(write_timeout, open.write_all(&line)).await else {
                // After a partial line no other line can follow. Senders that wait for the lock fail
                // immediately.
                *input = None;
                return Err(io::ErrorKind::TimedOut.into());
            };
            written?;
            if let JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) = message {
                response_permits.add_permits(1);
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if self.received.is_none() {
            self.received = Some(self.next().await?);
        }
        // A server that sends requests without reading the responses is not read either, so that responses
        // cannot accumulate.
        if let Some(JsonRpcMessage::Request(_)) = self.received {
            self.response_permits.acquire().await.ok()?.forget();
        }
        self.received.take()
    }

    async fn close(&mut self) -> io::Result<()> {
        // A server that exits at the end of its stdin can clean up first. Any other server is stopped on
        // drop.
        let exit = async {
            self.input.lock().await.take();
            self.child.wait().await
        };
        let _ = timeout(EXIT_TIMEOUT, exit).await;
        Ok(())
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        let _ = self.state.stderr.set(stderr_suffix(&self.child));
    }
}

/// Returns the tail of the server's stderr, as the end of a sentence; may be empty.
fn stderr_suffix(child: &Child) -> String {
    let text = child.stderr().text();
    let tail = text.ceil_char_boundary(text.len().saturating_sub(STDERR_TAIL));
    match text[tail..].trim() {
        "" => String::new(),
        stderr => format!("; stderr: {stderr}"),
    }
}
