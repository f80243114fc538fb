//! From a process to the turns that it serves.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::schema::{RequestPermissionRequest, SessionNotification};
use serde_json::Value;
use tokio::sync::{Semaphore, SetOnce, mpsc};
use windlass_core::{Aftermath, AgentEvent, ErrorCode};

use super::question::Asked;
use crate::cli::failure;

/// How much may wait for a turn before its agent has to.
const INBOX: usize = 64;
/// How many requests of an agent may wait for our answers.
const OWED_ANSWERS: usize = 64;
/// How long a process may take to end when it has closed its output.
pub(super) const GRACE: Duration = Duration::from_millis(500);

/// Something that a turn is told.
#[derive(Debug)]
pub(super) enum Said {
    /// News, with the line they stood in.
    Update(Box<SessionNotification>, String),
    /// Whatever else the agent said.
    Other(AgentEvent, String),
    /// The agent wants to know whether it may.
    Asked(Box<RequestPermissionRequest>, Asked),
}

/// How a connection came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The process ended, in these words.
    Gone {
        /// How.
        how: String,
        /// Its exit code, where that is known.
        code: Option<i32>,
        /// What it had said on standard error.
        stderr: String,
    },
    /// A line was longer than a line may be.
    OverLong,
}

impl End {
    /// What the process left behind.
    pub(super) fn left(&self) -> Aftermath {
        match self {
            Self::OverLong => Aftermath::default(),
            Self::Gone { code, stderr, .. } => Aftermath {
                exit_code: *code,
                stderr: Some(failure::quiet(stderr)).filter(|said| !said.is_empty()),
                ..Aftermath::default()
            },
        }
    }

    /// What this means to a turn under way.
    pub(super) fn event(&self, agent: &str) -> AgentEvent {
        match self {
            Self::OverLong => AgentEvent::Error {
                code: ErrorCode::OutputLimit,
                message: format!("{agent} sent a line longer than a line may be"),
                recoverable: false,
            },
            Self::Gone { how, stderr, .. } => {
                let said = failure::quiet(stderr);
                let message = match said.is_empty() {
                    true => format!("{agent} {how} before the turn did"),
                    false => format!("{agent} {how} before the turn did: {said}"),
                };
                match failure::failed(None, &message) {
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
pub(super) struct Routes {
    turns: Mutex<HashMap<String, mpsc::Sender<Said>>>,
    /// One permit for each further request that we are ready to answer.
    answers: Semaphore,
    end: SetOnce<End>,
}

impl Routes {
    pub(super) fn new() -> Self {
        Self {
            turns: Mutex::default(),
            answers: Semaphore::new(OWED_ANSWERS),
            end: SetOnce::new(),
        }
    }

    /// Where a turn of this session hears what concerns it.
    pub(super) fn open(&self, session: &str) -> mpsc::Receiver<Said> {
        let (sender, receiver) = mpsc::channel(INBOX);
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
    pub(super) async fn tell(&self, session: &str, said: Said) {
        let turn = self.lock().get(session).cloned();
        if let Some(turn) = turn {
            let _ = turn.send(said).await;
        }
    }

    /// News that no turn waits for: shown where there is room.
    pub(super) fn news(&self, session: Option<&str>, method: &str, line: &str) {
        let kind = match method {
            "session/update" => "unparsed",
            _ => "notification",
        };
        self.show(session, kind, line);
    }

    /// A line that is no message.
    pub(super) fn noise(&self, line: &str) {
        if !line.trim().is_empty() {
            self.show(None, "unparsed", line);
        }
    }

    fn show(&self, session: Option<&str>, kind: &str, line: &str) {
        let payload = serde_json::from_str(line).unwrap_or_else(|_| Value::from(line));
        for (name, turn) in self.lock().iter() {
            if session.is_none_or(|session| session == name) {
                let event = AgentEvent::custom(kind, payload.clone());
                let _ = turn.try_send(Said::Other(event, line.to_owned()));
            }
        }
    }

    /// Waits until one more request may be taken.
    pub(super) async fn owe(&self) {
        if let Ok(permit) = self.answers.acquire().await {
            permit.forget();
        }
    }

    /// A request was answered.
    pub(super) fn paid(&self) {
        if self.answers.available_permits() < OWED_ANSWERS {
            self.answers.add_permits(1);
        }
    }

    /// Only the first end counts.
    pub(super) fn end(&self, end: End) {
        let _ = self.end.set(end);
    }

    /// How the process ended, if it has.
    pub(super) fn ended(&self) -> Option<&End> {
        self.end.get()
    }

    /// Waits until it has ended.
    pub(super) async fn end_of(&self) -> &End {
        self.end.wait().await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<Said>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
