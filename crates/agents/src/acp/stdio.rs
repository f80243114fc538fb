//! The transport below the protocol's crate: bounded lines, filtered output, ordered notifications.
//!
//! A turn's notifications are delivered directly to the turn, in order, before the next line is read. So when
//! the crate reports the response of a turn, the turn has received everything before it; and an agent that
//! sends faster than the turn reads has to wait.

use std::io;
use std::sync::Arc;

use agent_client_protocol::v1::schema::SessionNotification;
use futures::{Sink, Stream};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;
use windlass_sandbox::{Child, ExitReason, ExitStatus};

use crate::network;

use super::router::{ConnectionEnd, EXIT_TIMEOUT, SessionMessage, SessionRouter};

/// The kind of a line.
#[derive(Debug, PartialEq)]
pub(super) enum IncomingMessage {
    /// A notification about a session.
    Update(Box<SessionNotification>),
    /// Another notification, with its session if it names one.
    Notification {
        session: Option<String>,
        method: String,
    },
    /// A request that needs a response.
    Request,
    /// A response, or another message that the protocol's crate handles.
    Response,
    /// Not a message.
    Invalid,
}

#[derive(Deserialize)]
struct RawMessage<'a> {
    method: Option<String>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionParam {
    session_id: String,
}

/// Classifies a line without trusting its content.
pub(super) fn classify(line: &str) -> IncomingMessage {
    // An array would parse as an envelope, but it is a batch, which the protocol does not have.
    let message = line
        .trim_start()
        .starts_with('{')
        .then(|| serde_json::from_str::<RawMessage<'_>>(line).ok());
    let Some(message) = message.flatten() else {
        return IncomingMessage::Invalid;
    };
    let is_response = message.result.is_some() || message.error.is_some();
    match (message.method, message.id) {
        (Some(method), None) => {
            let params = message.params.map_or("null", RawValue::get);
            if method == "session/update"
                && let Ok(update) = serde_json::from_str(params)
            {
                return IncomingMessage::Update(Box::new(update));
            }
            // A cancelled request, ours or the agent's: the crate handles it.
            if method.starts_with("$/") {
                return IncomingMessage::Response;
            }
            let param = serde_json::from_str::<SessionParam>(params).ok();
            let session = param.map(|param| param.session_id);
            IncomingMessage::Notification { session, method }
        }
        (Some(_), Some(_)) => IncomingMessage::Request,
        (None, Some(_)) if is_response => IncomingMessage::Response,
        (None, _) => IncomingMessage::Invalid,
    }
}

/// Returns the lines that the protocol's crate should see. Dropping the stream kills the process tree.
pub(super) fn incoming(
    child: Child,
    router: Arc<SessionRouter>,
) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    futures::stream::unfold((child, router), |(mut child, router)| async move {
        let line = next(&mut child, &router).await?;
        Some((Ok(line), (child, router)))
    })
}

async fn next(child: &mut Child, router: &SessionRouter) -> Option<String> {
    loop {
        let line = child.stdout.next().await;
        for event in network::blocked_events(child) {
            router.event(&event);
        }
        let line = match line {
            // The truncated line may be the response to any request, so continuing would leave a caller
            // waiting.
            Ok(Some(line)) if line.is_truncated() => {
                router.set_end(ConnectionEnd::LineTooLong);
                return None;
            }
            Ok(Some(line)) => line.text(),
            Ok(None) | Err(_) => {
                router.set_end(end_reason(child).await);
                return None;
            }
        };
        match classify(&line) {
            IncomingMessage::Update(update) => {
                let session = update.session_id.0.to_string();
                router
                    .deliver(&session, SessionMessage::Update(update, line))
                    .await;
            }
            IncomingMessage::Notification { session, method } => {
                router.notification(session.as_deref(), &method, &line)
            }
            IncomingMessage::Invalid => router.stray_line(&line),
            IncomingMessage::Request => {
                // An agent that sends requests without reading the responses is not read either, so they cannot
                // pile up.
                router.acquire_response_slot().await;
                return Some(line);
            }
            IncomingMessage::Response => return Some(line),
        }
    }
}

async fn end_reason(child: &mut Child) -> ConnectionEnd {
    let mut code = None;
    let how = match timeout(EXIT_TIMEOUT, child.wait()).await {
        Ok(Ok(exit)) if exit.reason == ExitReason::Deadline => {
            "exceeded its maximum lifetime".to_owned()
        }
        Ok(Ok(ExitStatus {
            reason: ExitReason::Limit(exceeded),
            ..
        })) => format!("was killed: {exceeded}"),
        Ok(Ok(exit)) => {
            code = Some(exit.code);
            format!("ended with exit code {}", exit.code)
        }
        Ok(Err(error)) => format!("did not start: {error}"),
        Err(_) => "closed its output".to_owned(),
    };
    ConnectionEnd::Exited {
        how,
        code,
        stderr: child.stderr().text(),
    }
}

/// The agent's standard input, until it is closed. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct AgentStdin(Arc<tokio::sync::Mutex<Option<pipe::Sender>>>);

impl AgentStdin {
    pub(super) fn new(pipe: pipe::Sender) -> Self {
        Self(Arc::new(tokio::sync::Mutex::new(Some(pipe))))
    }

    /// Closes it: an agent exits then, after it has stored its sessions.
    pub(super) async fn close(&self) {
        self.0.lock().await.take();
    }

    async fn write(&self, line: &str) -> io::Result<()> {
        let mut pipe = self.0.lock().await;
        let pipe = pipe.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(line.as_bytes()).await
    }
}

/// Returns the sink that writes to the agent. A line that the agent does not read blocks the lines after it.
pub(super) fn outgoing(
    stdin: AgentStdin,
    router: Arc<SessionRouter>,
) -> impl Sink<String, Error = io::Error> + Send + 'static {
    futures::sink::unfold(
        (stdin, router),
        |(stdin, router), mut line: String| async move {
            let message = serde_json::from_str::<RawMessage<'_>>(&line);
            let is_response = message.is_ok_and(|it| it.method.is_none());
            line.push('\n');
            stdin.write(&line).await?;
            if is_response {
                router.release_response_slot();
            }
            Ok((stdin, router))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p12_lines_are_classified() {
        let check =
            |line: &str, expected: IncomingMessage| assert_eq!(classify(line), expected, "{line}");
        let notification = |session: Option<&str>, method: &str| IncomingMessage::Notification {
            session: session.map(str::to_owned),
            method: method.to_owned(),
        };
        check("Starting up…", IncomingMessage::Invalid);
        check("", IncomingMessage::Invalid);
        check("[]", IncomingMessage::Invalid);
        check(
            r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#,
            IncomingMessage::Invalid,
        );
        check(
            r#"{"level":"info","msg":"hello"}"#,
            IncomingMessage::Invalid,
        );
        check(r#"{"jsonrpc":"2.0","id":1}"#, IncomingMessage::Invalid);
        check(r#"{"result":{},"id":"a-b"}"#, IncomingMessage::Response);
        check(
            r#"{"id":7,"error":{"code":1,"message":"x"}}"#,
            IncomingMessage::Response,
        );
        check(
            r#"{"method":"$/cancel_request","params":{"requestId":1}}"#,
            IncomingMessage::Response,
        );
        check(
            r#"{"method":"fs/read_text_file","id":0,"params":{}}"#,
            IncomingMessage::Request,
        );
        check(
            r#"{"method":"m","id":{"odd":true}}"#,
            IncomingMessage::Request,
        );
        check(
            r#"{"method":"_x/y","params":{"sessionId":"s"}}"#,
            notification(Some("s"), "_x/y"),
        );
        check(
            r#"{"method":"session/update"}"#,
            notification(None, "session/update"),
        );
        let unknown = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"new_thing"}}}"#;
        check(unknown, notification(Some("s"), "session/update"));
        assert!(matches!(
            classify(&"[".repeat(100_000)),
            IncomingMessage::Invalid
        ));
        let deep = format!(r#"{{"method":"m","params":{}"#, "[".repeat(100_000));
        assert!(matches!(classify(&deep), IncomingMessage::Invalid));
    }
}
