//! Messages of people to the agent of a task.

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::{AttemptNumber, MessageId, TaskId};

/// The maximum size of a message, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 16 << 10;
/// The maximum number of messages that wait for one task.
pub const MAX_WAITING_MESSAGES: usize = 100;

/// A message of a person to the agent of a task. It is delivered once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMessage {
    /// The id.
    pub id: MessageId,
    /// The task.
    pub task_id: TaskId,
    /// Who wrote it, for display.
    pub author: String,
    /// The text.
    pub text: String,
    /// When it was stored.
    pub created_at: Timestamp,
    /// The attempt that received it. `None` while it waits.
    pub attempt: Option<AttemptNumber>,
}
