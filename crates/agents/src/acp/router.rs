//! From a process to the turns that it serves.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::schema::{RequestPermissionRequest, SessionNotification};
use serde_json::Value;
use tokio::sync::{Semaphore, SetOnce, mpsc};
use windlass_core::{AgentEvent, ErrorCode, TurnDiagnostics};

use super::permission::PendingPermission;
use crate::cli::failure;

/// How much may wait for a turn before its agent has to.
const TURN_QUEUE: usize = 64;
/// How many requests of an agent may wait for our answers.
const MAX_PENDING_RESPONSES: usize = 64;
/// How long a process may take to end when it has closed its output.
pub(super) const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// Something that a turn is told.
#[derive(Debug)]
pub(super) enum SessionMessage {
    /// News, with the line they stood in.
    Update(Box<SessionNotification>, String),
    /// Whatever else the agent said.
    Other(AgentEvent, String),
    /// The agent wants to know whether it may.
    PermissionRequest(Box<RequestPermissionRequest>, PendingPermission),
}

/// How a connection came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConnectionEnd {
    /// The process ended, in these words.
    Exited {
        /// How.
        how: String,
        /// Its exit code, where that is known.
        code: Option<i32>,
        /// What it had said on standard error.
        stderr: String,
    },
    /// A line was longer than a line may be.
    LineTooLong,
}

impl ConnectionEnd {
    /// What the process left behind.
    pub(super) fn diagnostics(&self) -> TurnDiagnostics {
        match self {
            Self::LineTooLong => TurnDiagnostics::default(),
            Self::Exited { code, stderr, .. } => TurnDiagnostics {
                exit_code: *code,
                stderr: Some(failure::relevant_stderr(stderr)).filter(|said| !said.is_empty()),
                ..TurnDiagnostics::default()
            },
        }
    }

    /// What this means to a turn under way.
    pub(super) fn to_event(&self, agent: &str) -> AgentEvent {
        match self {
            Self::LineTooLong => AgentEvent::Error {
                code: ErrorCode::OutputLimit,
                message: format!("{agent} sent a line longer than a line may be"),
                recoverable: false,
            },
            Self::Exited { how, stderr, .. } => {
                let said = failure::relevant_stderr(stderr);
                let message = match said.is_empty() {
                    true => format!("{agent} {how} before the turn did"),
                    false => format!("{agent} {how} before the turn did: {said}"),
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
                    told => told,
                }
            }
        }
    }
}

/// The turns under way on one process, and how it is with the process.
#[derive(Debug)]
pub(super) struct SessionRouter {
    turns: Mutex<HashMap<String, mpsc::Sender<SessionMessage>>>,
    /// One permit for each further request that we are ready to answer.
    answers: Semaphore,
    end: SetOnce<ConnectionEnd>,
}

impl SessionRouter {
    pub(super) fn new() -> Self {
        Self {
            turns: Mutex::default(),
            answers: Semaphore::new(MAX_PENDING_RESPONSES),
            end: SetOnce::new(),
        }
    }

    /// Where a turn of this session hears what concerns it.
    pub(super) fn open(&self, session: &str) -> mpsc::Receiver<SessionMessage> {
        let (sender, receiver) = mpsc::channel(TURN_QUEUE);
        self.lock().insert(session.to_owned(), sender);
        receiver
    }

    /// Nobody listens for this session any more.
    pub(super) fn close(&self, session: &str) {
        self.lock().remove(session);
    }

    /// Whether a turn runs on this process.
    pub(super) fn is_busy(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Tells the session's turn. Without one, it was history or came too late; a question is then answered by being
    /// dropped.
    pub(super) async fn deliver(&self, session: &str, said: SessionMessage) {
        let turn = self.lock().get(session).cloned();
        if let Some(turn) = turn {
            let _ = turn.send(said).await;
        }
    }

    /// News that no turn waits for: shown where there is room.
    pub(super) fn notification(&self, session: Option<&str>, method: &str, line: &str) {
        let kind = match method {
            "session/update" => "unparsed",
            _ => "notification",
        };
        self.broadcast_custom(session, kind, line);
    }

    /// A line that is no message.
    pub(super) fn stray_line(&self, line: &str) {
        if !line.trim().is_empty() {
            self.broadcast_custom(None, "unparsed", line);
        }
    }

    fn broadcast_custom(&self, session: Option<&str>, kind: &str, line: &str) {
        let payload = serde_json::from_str(line).unwrap_or_else(|_| Value::from(line));
        for (name, turn) in self.lock().iter() {
            if session.is_none_or(|session| session == name) {
                let event = AgentEvent::custom(kind, payload.clone());
                let _ = turn.try_send(SessionMessage::Other(event, line.to_owned()));
            }
        }
    }

    /// Waits until one more request may be taken.
    pub(super) async fn acquire_response_slot(&self) {
        if let Ok(permit) = self.answers.acquire().await {
            permit.forget();
        }
    }

    /// A request was answered.
    pub(super) fn release_response_slot(&self) {
        if self.answers.available_permits() < MAX_PENDING_RESPONSES {
            self.answers.add_permits(1);
        }
    }

    /// Only the first end counts.
    pub(super) fn set_end(&self, end: ConnectionEnd) {
        let _ = self.end.set(end);
    }

    /// How the process ended, if it has.
    pub(super) fn ended(&self) -> Option<&ConnectionEnd> {
        self.end.get()
    }

    /// Waits until it has ended.
    pub(super) async fn wait_ended(&self) -> &ConnectionEnd {
        self.end.wait().await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<SessionMessage>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
