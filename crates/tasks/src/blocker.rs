//! Questions for a person, and their answers.

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::{BlockerId, ProjectId, TaskId};

/// A question for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blocker {
    /// The id.
    pub id: BlockerId,
    /// The project.
    pub project_id: ProjectId,
    /// The waiting task.
    pub task_id: TaskId,
    /// The attempt that asked.
    pub attempt: u32,
    /// The question.
    pub question: String,
    /// When the question was asked.
    pub created_at: Timestamp,
    /// The answer, if there is one.
    pub answer: Option<Answer>,
}

/// A person's answer to a blocker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The text of the answer.
    pub text: String,
    /// When it was given.
    pub at: Timestamp,
}
