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
use windlass_sandbox::{Child, Why};

use crate::limits::STDERR_TAIL;

/// How many requests of the server may wait for our answer. It has little to ask: we offer it nothing but `ping`.
const OWED_ANSWERS: usize = 16;

/// How long a server may take to end once its input has ended, or once it has closed its output.
const GRACE: Duration = Duration::from_millis(500);

/// How a wire came to its end.
#[derive(Debug, Clone)]
pub(crate) enum End {
    /// The server ended, in these words.
    Gone(String),
    /// The server sent a line longer than a line may be.
    OverLong,
}

/// What is to be known about a wire while it is used, and after.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Lines that were no messages.
    pub(crate) noise: AtomicU64,
    pub(crate) end: SetOnce<End>,
    /// What the server had said on standard error when the wire was cut.
    pub(crate) said: SetOnce<String>,
}

/// One server's standard input and output. Dropping it ends the server.
pub(crate) struct Pipes {
    child: Child,
    input: Arc<Mutex<Option<pipe::Sender>>>,
    /// How long a message may wait for the server to read it.
    patience: Duration,
    /// One permit for each further request that we are ready to answer.
    answers: Arc<Semaphore>,
    /// A message that was read and not yet handed on.
    held: Option<RxJsonRpcMessage<RoleClient>>,
    record: Arc<Record>,
}

impl Pipes {
    pub(crate) fn new(mut child: Child, record: Arc<Record>, patience: Duration) -> Self {
        Self {
            input: Arc::new(Mutex::new(child.stdin.take())),
            child,
            patience,
            answers: Arc::new(Semaphore::new(OWED_ANSWERS)),
            held: None,
            record,
        }
    }

    /// The next message that asks or answers something.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = match self.child.stdout.next().await {
                // The answer in it is lost, and whose it was; going on would leave somebody waiting.
                Ok(Some(line)) if line.is_cut() => return self.end(End::OverLong),
                Ok(Some(line)) => line,
                Ok(None) | Err(_) => {
                    let how = self.how_it_ended().await;
                    return self.end(End::Gone(how));
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

    fn end<T>(&self, end: End) -> Option<T> {
        // Only the first end counts.
        let _ = self.record.end.set(end);
        None
    }

    async fn how_it_ended(&mut self) -> String {
        let how = match timeout(GRACE, self.child.wait()).await {
            Ok(Ok(exit)) if exit.why == Why::Deadline => "lived longer than it may".to_owned(),
            Ok(Ok(exit)) => format!("ended with code {}", exit.code),
            Ok(Err(error)) => format!("did not run: {error}"),
            Err(_) => "closed its output".to_owned(),
        };
        how + &said(&self.child)
    }
}

impl Transport<RoleClient> for Pipes {
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
        let _ = timeout(GRACE, gently).await;
        Ok(())
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        let _ = self.record.said.set(said(&self.child));
    }
}

/// The last of what the server said on standard error, as the end of a sentence; empty if it said nothing.
fn said(child: &Child) -> String {
    let text = child.stderr().text();
    let tail = text.ceil_char_boundary(text.len().saturating_sub(STDERR_TAIL));
    match text[tail..].trim() {
        "" => String::new(),
        words => format!("; it said: {words}"),
    }
}
