//! The wire to one server: its standard input and output, line by line and within limits.

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
use windlass_sandbox::{Child, ExitReason};

use crate::limits::STDERR_TAIL;

/// How many requests of the server may wait for our answer. It has little to ask: we offer it nothing but `ping`.
const MAX_PENDING_RESPONSES: usize = 16;

/// How long a server may take to end once its input has ended, or once it has closed its output.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// How a wire came to its end.
#[derive(Debug, Clone)]
pub(crate) enum TransportEnd {
    /// The server ended, in these words.
    Exited(String),
    /// The server sent a line longer than a line may be.
    LineTooLong,
}

/// What is to be known about a wire while it is used, and after.
#[derive(Debug, Default)]
pub(crate) struct TransportState {
    /// Lines that were no messages.
    pub(crate) noise: AtomicU64,
    pub(crate) end: SetOnce<TransportEnd>,
    /// What the server had said on standard error when the wire was cut.
    pub(crate) said: SetOnce<String>,
}

/// One server's standard input and output. Dropping it ends the server.
pub(crate) struct StdioTransport {
    child: Child,
    input: Arc<Mutex<Option<pipe::Sender>>>,
    /// How long a message may wait for the server to read it.
    patience: Duration,
    /// One permit for each further request that we are ready to answer.
    answers: Arc<Semaphore>,
    /// A message that was read and not yet handed on.
    held: Option<RxJsonRpcMessage<RoleClient>>,
    record: Arc<TransportState>,
}

impl StdioTransport {
    pub(crate) fn new(mut child: Child, record: Arc<TransportState>, patience: Duration) -> Self {
        Self {
            input: Arc::new(Mutex::new(child.stdin.take())),
            child,
            patience,
            answers: Arc::new(Semaphore::new(MAX_PENDING_RESPONSES)),
            held: None,
            record,
        }
    }

    /// The next message that asks or answers something.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = match self.child.stdout.next().await {
                // The answer in it is lost, and whose it was; going on would leave somebody waiting.
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
                // Nobody here listens to news: tools are listed once, and progress sets back no clock.
                Ok(JsonRpcMessage::Notification(_)) => {}
                Ok(message) => return Some(message),
                Err(_) => {
                    self.record.noise.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    fn end<T>(&self, end: TransportEnd) -> Option<T> {
        // Only the first end counts.
        let _ = self.record.end.set(end);
        None
    }

    async fn end_reason(&mut self) -> String {
        let how = match timeout(EXIT_TIMEOUT, self.child.wait()).await {
            Ok(Ok(exit)) if exit.why == ExitReason::Deadline => {
                "lived longer than it may".to_owned()
            }
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
        let answers = Arc::clone(&self.answers);
        let patience = self.patience;
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let open = input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            let Ok(written) = timeout(patience, open.write_all(&line)).await else {
                // After half a line there is no other; whoever waits for its turn is told at once.
                *input = None;
                return Err(io::ErrorKind::TimedOut.into());
            };
            written?;
            if let JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) = message {
                answers.add_permits(1);
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if self.held.is_none() {
            self.held = Some(self.next().await?);
        }
        // A server that asks without reading our answers is not read either, so they cannot pile up.
        if let Some(JsonRpcMessage::Request(_)) = self.held {
            self.answers.acquire().await.ok()?.forget();
        }
        self.held.take()
    }

    async fn close(&mut self) -> io::Result<()> {
        // A server that ends when its input does can tidy up first; one that does not ends when this value is dropped.
        let gently = async {
            self.input.lock().await.take();
            self.child.wait().await
        };
        let _ = timeout(EXIT_TIMEOUT, gently).await;
        Ok(())
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        let _ = self.record.said.set(stderr_suffix(&self.child));
    }
}

/// The last of what the server said on standard error, as the end of a sentence; empty if it said nothing.
fn stderr_suffix(child: &Child) -> String {
    let text = child.stderr().text();
    let tail = text.ceil_char_boundary(text.len().saturating_sub(STDERR_TAIL));
    match text[tail..].trim() {
        "" => String::new(),
        words => format!("; it said: {words}"),
    }
}
