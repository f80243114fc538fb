//! What happens in a turn, in one vocabulary for every agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, ErrorCode, SessionId, Timestamp, TurnId, Usage};

/// One thing that happened while an agent worked on a prompt.
///
/// In JSON an event is an object whose `type` is the variant's name. Every turn ends with exactly one
/// [terminal](Self::is_terminal) event, and every `ToolStart` has its `ToolEnd`: whoever reads from an
/// [`AgentHandle`](crate::AgentHandle) can rely on it, whatever the agent did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum AgentEvent {
    /// A piece of the answer, for display as it comes.
    Text(#[serde(with = "text_field")] String),
    /// A piece of the agent's reasoning.
    Thought(#[serde(with = "text_field")] String),
    /// The agent's own plan, whole each time it changes.
    Plan {
        /// The steps in order.
        entries: Vec<PlanEntry>,
    },
    /// A tool began to run.
    ToolStart {
        /// Unique among the open tools of the turn.
        id: String,
        /// The tool's name, as the agent calls it.
        name: String,
        /// What the tool was given.
        input: Value,
    },
    /// A running tool has something to say.
    ToolProgress {
        /// The tool's id.
        id: String,
        /// In the agent's own shape.
        update: Value,
    },
    /// A tool came to its end.
    ToolEnd {
        /// The id of its start.
        id: String,
        /// The name of its start.
        name: String,
        /// What the tool gave back.
        output: Value,
        /// Whether the tool did what it was asked.
        success: bool,
        /// How long it ran.
        duration_ms: u64,
    },
    /// The agent asks whether it may do something.
    PermissionRequest {
        /// Names the question in the answer.
        id: String,
        /// The tool that wants to run.
        tool: String,
        /// What the tool would be given.
        input: Value,
        /// The answers that the agent offers.
        options: Vec<PermissionOption>,
    },
    /// The end, as hoped. Terminal.
    Result {
        /// The whole answer.
        text: String,
        /// What the turn consumed, where the agent says so.
        #[serde(default)]
        usage: Option<Usage>,
        /// What else the agent says about the turn.
        #[serde(default)]
        metadata: Value,
    },
    /// The end, by a fault. Terminal.
    Error {
        /// The kind of fault.
        code: ErrorCode,
        /// What happened and what to do next.
        message: String,
        /// Whether trying again may help.
        recoverable: bool,
    },
    /// The end, because the session is gone and must be made anew. Terminal.
    SessionInvalid {
        /// Why.
        reason: String,
    },
    /// The backend went on in another session.
    SessionChanged {
        /// The session to use from now on.
        new_session_id: String,
    },
    /// Something that only this agent has. A line that no parser knows has the kind `unparsed`.
    Custom {
        /// What it is.
        kind: String,
        /// In the agent's own shape.
        payload: Value,
    },
}

/// A step of an agent's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub step: String,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far a step of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
}

/// One of the answers an agent offers to its permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    /// Names the option in the answer.
    pub id: String,
    /// What choosing it means.
    pub kind: PermissionKind,
    /// How the agent words it.
    pub label: String,
}

/// What choosing a permission option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PermissionKind {
    /// Yes, this time.
    AllowOnce,
    /// Yes, from now on.
    AllowAlways,
    /// No, this time.
    RejectOnce,
    /// No, from now on.
    RejectAlways,
}

impl AgentEvent {
    /// Whether the turn ends with this event.
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Result { .. } | Self::Error { .. } | Self::SessionInvalid { .. }
        )
    }

    /// A successful end without usage or metadata.
    pub fn result(text: impl Into<String>) -> Self {
        Self::Result {
            text: text.into(),
            usage: None,
            metadata: Value::Null,
        }
    }

    /// An event of an agent's own kind.
    pub fn custom(kind: impl Into<String>, payload: Value) -> Self {
        Self::Custom {
            kind: kind.into(),
            payload,
        }
    }
}

impl From<Error> for AgentEvent {
    /// The terminal event that says what the error says.
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

/// An event with its place in the world: the form in which events are sent, stored and recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The position in the turn, counted from one, without gaps.
    pub seq: u64,
    /// When the event left the handle.
    pub at: Timestamp,
    /// The session it belongs to.
    pub session: SessionId,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// What happened.
    pub event: AgentEvent,
    /// The agent's own line that the event was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

/// Lets a variant that holds only text be an object with a `text` field beside its `type`.
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
