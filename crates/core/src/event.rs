//! The events of a turn, in one format for every agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, ErrorCode, SessionId, Timestamp, TurnId, Usage};

/// One event of a turn.
///
/// In JSON an event is an object with the variant's name as its `type`. Every turn ends with exactly one
/// [terminal](Self::is_terminal) event, and every `ToolStart` has a `ToolEnd`.
/// [`AgentHandle`](crate::AgentHandle) guarantees both for every backend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum AgentEvent {
    /// A chunk of the answer, for display while it is streamed.
    Text(#[serde(with = "text_field")] String),
    /// A chunk of the agent's reasoning.
    Thought(#[serde(with = "text_field")] String),
    /// The agent's own plan. Each event contains the complete plan.
    Plan {
        /// The steps in order.
        entries: Vec<PlanEntry>,
    },
    /// A tool call started.
    ToolStart {
        /// Unique among the open tools of the turn.
        id: String,
        /// The tool's name, as the agent calls it.
        name: String,
        /// The input of the tool.
        input: Value,
    },
    /// A running tool reported progress.
    ToolProgress {
        /// The tool's id.
        id: String,
        /// The update, in the agent's own format.
        update: Value,
    },
    /// A tool call ended.
    ToolEnd {
        /// The id from the `ToolStart`.
        id: String,
        /// The name from the `ToolStart`.
        name: String,
        /// The output of the tool.
        output: Value,
        /// Whether the tool call succeeded.
        success: bool,
        /// The run time of the tool in milliseconds.
        duration_ms: u64,
    },
    /// The agent asks for permission before it acts.
    PermissionRequest {
        /// Identifies the request in the decision.
        id: String,
        /// The tool that needs the permission.
        tool: String,
        /// The input of the tool.
        input: Value,
        /// The options that the agent offers.
        options: Vec<PermissionOption>,
    },
    /// The turn succeeded. Terminal event.
    Result {
        /// The complete answer.
        text: String,
        /// Tokens and cost of the turn, if the agent reports them.
        #[serde(default)]
        usage: Option<Usage>,
        /// Additional data from the agent about the turn.
        #[serde(default)]
        metadata: Value,
    },
    /// The turn failed. Terminal event.
    Error {
        /// The cause of the failure.
        code: ErrorCode,
        /// What happened and what to do next.
        message: String,
        /// Whether a retry may succeed.
        recoverable: bool,
    },
    /// The session no longer exists and must be recreated. Terminal event.
    SessionInvalid {
        /// Why the session is invalid.
        reason: String,
    },
    /// The backend continued in another session.
    SessionChanged {
        /// The session to use from now on.
        new_session_id: String,
    },
    /// An event specific to one agent. A line that no parser recognizes has the kind `unparsed`.
    Custom {
        /// The name of the event kind.
        kind: String,
        /// The data, in the agent's own format.
        payload: Value,
    },
}

/// A step of an agent's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// The description of the step.
    pub step: String,
    /// The status of the step.
    pub status: PlanStatus,
}

/// The status of a step in an agent's plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanStatus {
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
}

/// One of the options an agent offers in a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    /// Identifies the option in the decision.
    pub id: String,
    /// What choosing it means.
    pub kind: PermissionKind,
    /// The agent's label for the option.
    pub label: String,
}

/// The meaning of a permission option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PermissionKind {
    /// Allow this time.
    AllowOnce,
    /// Allow from now on.
    AllowAlways,
    /// Reject this time.
    RejectOnce,
    /// Reject from now on.
    RejectAlways,
}

impl AgentEvent {
    /// Returns `true` if this event ends the turn.
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Result { .. } | Self::Error { .. } | Self::SessionInvalid { .. }
        )
    }

    /// Creates a `Result` event without usage or metadata.
    pub fn result(text: impl Into<String>) -> Self {
        Self::Result {
            text: text.into(),
            usage: None,
            metadata: Value::Null,
        }
    }

    /// Creates a `Custom` event.
    pub fn custom(kind: impl Into<String>, payload: Value) -> Self {
        Self::Custom {
            kind: kind.into(),
            payload,
        }
    }
}

impl From<Error> for AgentEvent {
    /// Converts an error to the terminal event that reports it.
    fn from(error: Error) -> Self {
        match error {
            Error::SessionNotFound { .. } => Self::SessionInvalid {
                reason: error.to_string(),
            },
            _ => Self::Error {
                code: error.code(),
                message: error.to_string(),
                recoverable: error.retry().is_worthwhile(),
            },
        }
    }
}

/// An event with its number, time, session and turn: the form in which events are sent, stored and recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The position in the turn, counted from one, without gaps.
    pub seq: u64,
    /// When the handle sent the event.
    pub at: Timestamp,
    /// The session of the event.
    pub session: SessionId,
    /// The turn of the event.
    pub turn: TurnId,
    /// The event.
    pub event: AgentEvent,
    /// The agent's output line from which the event was parsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Serializes a variant that holds only text as an object with a `text` field next to its `type`.
mod text_field {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize)]
    struct Borrowed<'a> {
        text: &'a str,
    }

    #[derive(Deserialize)]
    struct Owned {
        text: String,
    }

    pub(super) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        Borrowed { text }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<String, D::Error> {
        Ok(Owned::deserialize(source)?.text)
    }
}
