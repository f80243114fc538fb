//! Routes the messages of a process to its turns.

use std::collections::HashMap;
use std::time::Duration;

use agent_client_protocol::v1::schema::{RequestPermissionRequest, SessionNotification};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Semaphore, SetOnce, mpsc};
use windlass_core::{AgentEvent, ErrorCode, TurnDiagnostics};

use super::permission::PendingPermission;
use crate::program::failure;

/// Maximum number of messages queued for a turn; beyond it, the agent has to wait.
const TURN_QUEUE: usize = 64;
/// Maximum number of an agent's requests that wait for our responses.
const MAX_PENDING_RESPONSES: usize = 64;
/// Time that a process has to exit after it closed its output.
pub(super) const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// A message for a turn.
#[derive(Debug)]
pub(super) enum SessionMessage {
    /// An update, with its line.
    Update(Box<SessionNotification>, String),
    /// Any other output of the agent.
    Other(AgentEvent, String),
    /// A permission request.
    PermissionRequest(Box<RequestPermissionRequest>, PendingPermission),
}

/// How a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// The process exited.
    Exited {
        /// Describes the exit, as the predicate of a sentence.
        how: String,
        /// Its exit code, if known.
        code: Option<i32>,
        /// Its output on standard error.
        stderr: String,
    },
    /// A line exceeded the maximum length.
    LineTooLong,
}

impl ConnectionEnd {
    /// Returns the diagnostics of the process.
    pub(super) fn diagnostics(&self) -> TurnDiagnostics {
        match self {
            Self::LineTooLong => TurnDiagnostics::default(),
            Self::Exited { code, stderr, .. } => TurnDiagnostics {
                exit_code: *code,
                stderr: Some(failure::relevant_stderr(stderr)).filter(|stderr| !stderr.is_empty()),
                ..TurnDiagnostics::default()
            },
        }
    }

    /// Returns the terminal event of a turn that was running when the connection ended.
    pub(super) fn to_event(&self, agent: &str) -> AgentEvent {
        match self {
            Self::LineTooLong => AgentEvent::Error {
                code: ErrorCode::OutputLimit,
                message: format!("{agent} sent a line that exceeds the maximum length"),
                recoverable: false,
            },
            Self::Exited { how, stderr, .. } => {
                let stderr = failure::relevant_stderr(stderr);
                let message = if stderr.is_empty() {
                    format!("{agent} {how} before the turn ended")
                } else {
                    format!("{agent} {how} before the turn ended: {stderr}")
                };
                match failure::error_event(None, &message) {
                    AgentEvent::Error {
                        code: ErrorCode::BackendError,
                        message,
                        ..
                    } => AgentEvent::Error {
                        code: ErrorCode::SessionOrphaned,
                        message,
                        recoverable: true,
                    },
                    event => event,
                }
            }
        }
    }
}

/// The running turns of one process, and how the process ended.
#[derive(Debug)]
pub(super) struct SessionRouter {
    turns: Mutex<HashMap<String, mpsc::Sender<SessionMessage>>>,
    /// One permit per request that may still be accepted.
    response_slots: Semaphore,
    end: SetOnce<ConnectionEnd>,
}

impl SessionRouter {
    pub(super) fn new() -> Self {
        Self {
            turns: Mutex::default(),
            response_slots: Semaphore::new(MAX_PENDING_RESPONSES),
            end: SetOnce::new(),
        }
    }

    /// Registers a turn of this session, and returns the receiver of its messages.
    pub(super) fn open(&self, session: &str) -> mpsc::Receiver<SessionMessage> {
        let (sender, receiver) = mpsc::channel(TURN_QUEUE);
        self.turns.lock().insert(session.to_owned(), sender);
        receiver
    }

    /// Removes the turn of this session.
    pub(super) fn close(&self, session: &str) {
        self.turns.lock().remove(session);
    }

    /// Delivers a message to the session's turn. Without a turn, the message is replayed history or came too
    /// late, and is dropped; dropping a permission request answers it as cancelled.
    pub(super) async fn deliver(&self, session: &str, message: SessionMessage) {
        let turn = self.turns.lock().get(session).cloned();
        if let Some(turn) = turn {
            let _ = turn.send(message).await;
        }
    }

    /// Delivers a notification that no turn waits for, if there is space in the queue.
    pub(super) fn notification(&self, session: Option<&str>, method: &str, line: &str) {
        let kind = match method {
            "session/update" => "unparsed",
            _ => "notification",
        };
        self.broadcast_custom(session, kind, line);
    }

    /// Delivers a line that is not a message.
    pub(super) fn stray_line(&self, line: &str) {
        if !line.trim().is_empty() {
            self.broadcast_custom(None, "unparsed", line);
        }
    }

    /// Delivers an event of the process to every turn, if there is space in the queue.
    pub(super) fn event(&self, event: &AgentEvent) {
        for turn in self.turns.lock().values() {
            let _ = turn.try_send(SessionMessage::Other(event.clone(), String::new()));
        }
    }

    fn broadcast_custom(&self, session: Option<&str>, kind: &str, line: &str) {
        let payload = serde_json::from_str(line).unwrap_or_else(|_| Value::from(line));
        for (name, turn) in self.turns.lock().iter() {
            if session.is_none_or(|session| session == name) {
                let event = AgentEvent::custom(kind, payload.clone());
                let _ = turn.try_send(SessionMessage::Other(event, line.to_owned()));
            }
        }
    }

    /// Waits until one more request may be accepted.
    pub(super) async fn acquire_response_slot(&self) {
        if let Ok(permit) = self.response_slots.acquire().await {
            permit.forget();
        }
    }

    /// Releases a slot after a request was answered.
    pub(super) fn release_response_slot(&self) {
        if self.response_slots.available_permits() < MAX_PENDING_RESPONSES {
            self.response_slots.add_permits(1);
        }
    }

    /// Records how the connection ended. Only the first call has an effect.
    pub(super) fn set_end(&self, end: ConnectionEnd) {
        let _ = self.end.set(end);
    }

    /// Returns how the process ended, if it has.
    pub(super) fn ended(&self) -> Option<&ConnectionEnd> {
        self.end.get()
    }

    /// Waits until the process has ended.
    pub(super) async fn wait_ended(&self) -> &ConnectionEnd {
        self.end.wait().await
    }
}
