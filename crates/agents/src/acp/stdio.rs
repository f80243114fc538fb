//! The wire under the protocol's crate: bounded lines, noise passed over, and news that overtake nothing.
//!
//! A turn's news go straight to the turn, in order, and only then is the line after them looked at. So when the crate says
//! that a turn has its answer, the turn has heard everything that came before it; and an agent that sends faster than
//! anybody reads has to wait.

use std::io;
use std::sync::Arc;

use agent_client_protocol::v1::schema::SessionNotification;
use futures::{Sink, Stream};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;
use windlass_sandbox::{Child, ExitReason};

use super::router::{ConnectionEnd, EXIT_TIMEOUT, SessionMessage, SessionRouter};

/// What a line is.
#[derive(Debug, PartialEq)]
pub(super) enum IncomingMessage {
    /// News about a session.
    Update(Box<SessionNotification>),
    /// Other news, about this session if it says so.
    Notification {
        session: Option<String>,
        method: String,
    },
    /// It wants an answer.
    Request,
    /// An answer, or something else that the protocol's crate knows how to take.
    Response,
    /// No message at all.
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

/// Looks at a line without believing it.
pub(super) fn classify(line: &str) -> IncomingMessage {
    // An array would do as an envelope, and is a batch, which the protocol does not have.
    let envelope = line
        .trim_start()
        .starts_with('{')
        .then(|| serde_json::from_str::<RawMessage<'_>>(line).ok());
    let Some(envelope) = envelope.flatten() else {
        return IncomingMessage::Invalid;
    };
    let is_answer = envelope.result.is_some() || envelope.error.is_some();
    match (envelope.method, envelope.id) {
        (Some(method), None) => {
            let params = envelope.params.map_or("null", RawValue::get);
            if method == "session/update"
                && let Ok(update) = serde_json::from_str(params)
            {
                return IncomingMessage::Update(Box::new(update));
            }
            // One request of ours or of theirs is withdrawn: the crate keeps those.
            if method.starts_with("$/") {
                return IncomingMessage::Response;
            }
            let about = serde_json::from_str::<SessionParam>(params).ok();
            let session = about.map(|about| about.session_id);
            IncomingMessage::Notification { session, method }
        }
        (Some(_), Some(_)) => IncomingMessage::Request,
        (None, Some(_)) if is_answer => IncomingMessage::Response,
        (None, _) => IncomingMessage::Invalid,
    }
}

/// The agent's lines, as far as the protocol's crate is to see them. Dropping it ends the process with all it started.
pub(super) fn incoming(
    child: Child,
    routes: Arc<SessionRouter>,
) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    futures::stream::unfold((child, routes), |(mut child, routes)| async move {
        let line = next(&mut child, &routes).await?;
        Some((Ok(line), (child, routes)))
    })
}

async fn next(child: &mut Child, routes: &SessionRouter) -> Option<String> {
    loop {
        let line = match child.stdout.next().await {
            // The answer in it is lost, and whose it was; going on would leave somebody waiting.
            Ok(Some(line)) if line.is_truncated() => {
                routes.set_end(ConnectionEnd::LineTooLong);
                return None;
            }
            Ok(Some(line)) => line.text(),
            Ok(None) | Err(_) => {
                routes.set_end(end_reason(child).await);
                return None;
            }
        };
        match classify(&line) {
            IncomingMessage::Update(update) => {
                let session = update.session_id.0.to_string();
                routes
                    .deliver(&session, SessionMessage::Update(update, line))
                    .await;
            }
            IncomingMessage::Notification { session, method } => {
                routes.notification(session.as_deref(), &method, &line)
            }
            IncomingMessage::Invalid => routes.stray_line(&line),
            IncomingMessage::Request => {
                // An agent that asks without reading our answers is not read either, so they cannot pile up.
                routes.acquire_response_slot().await;
                return Some(line);
            }
            IncomingMessage::Response => return Some(line),
        }
    }
}

async fn end_reason(child: &mut Child) -> ConnectionEnd {
    let mut code = None;
    let how = match timeout(EXIT_TIMEOUT, child.wait()).await {
        Ok(Ok(exit)) if exit.why == ExitReason::Deadline => "lived longer than it may".to_owned(),
        Ok(Ok(exit)) => {
            code = Some(exit.code);
            format!("ended with exit code {}", exit.code)
        }
        Ok(Err(error)) => format!("did not run: {error}"),
        Err(_) => "closed its output".to_owned(),
    };
    ConnectionEnd::Exited {
        how,
        code,
        stderr: child.stderr().text(),
    }
}

/// The way in. A line that the agent does not read waits, and with it all that comes after.
pub(super) fn outgoing(
    pipe: impl AsyncWrite + Send + Unpin + 'static,
    routes: Arc<SessionRouter>,
) -> impl Sink<String, Error = io::Error> + Send + 'static {
    futures::sink::unfold(
        (pipe, routes),
        |(mut pipe, routes), mut line: String| async move {
            let envelope = serde_json::from_str::<RawMessage<'_>>(&line);
            let is_answer = envelope.is_ok_and(|it| it.method.is_none());
            line.push('\n');
            pipe.write_all(line.as_bytes()).await?;
            if is_answer {
                routes.release_response_slot();
            }
            Ok((pipe, routes))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p12_a_line_is_what_it_is() {
        let check =
            |line: &str, expected: IncomingMessage| assert_eq!(classify(line), expected, "{line}");
        let news = |session: Option<&str>, method: &str| IncomingMessage::Notification {
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
            news(Some("s"), "_x/y"),
        );
        check(
            r#"{"method":"session/update"}"#,
            news(None, "session/update"),
        );
        let unknown = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"new_thing"}}}"#;
        check(unknown, news(Some("s"), "session/update"));
        assert!(matches!(
            classify(&"[".repeat(100_000)),
            IncomingMessage::Invalid
        ));
        let deep = format!(r#"{{"method":"m","params":{}"#, "[".repeat(100_000));
        assert!(matches!(classify(&deep), IncomingMessage::Invalid));
    }
}
