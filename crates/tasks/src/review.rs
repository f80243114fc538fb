//! Reviews of the change of a task.
//!
//! The version of a change is the number of the attempt that made it. A review belongs to one version, so that a
//! change is approved only by a reviewer who saw it.

use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::{AttemptNumber, ProjectId, ReviewId, TaskId};

/// The maximum number of comments in a review.
pub const MAX_REVIEW_COMMENTS: usize = 200;
/// The maximum size of the text of a review or of a comment, in bytes.
pub const MAX_REVIEW_TEXT_BYTES: usize = 16 << 10;
/// The maximum size of a path or of a quoted line in a comment, in bytes.
pub const MAX_REVIEW_QUOTE_BYTES: usize = 4 << 10;
/// The maximum size of the name of an author, in bytes.
pub const MAX_REVIEW_AUTHOR_BYTES: usize = 100;
/// The maximum number of reviews of a task.
pub const MAX_REVIEWS: u32 = 200;
/// How often agents can request changes of a task before a person reviews it.
pub const MAX_AGENT_REQUESTS: u32 = 2;

/// What a reviewer decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// Nothing: the review only has comments.
    #[default]
    Comment,
    /// The change is not good yet. The task is worked on again, with the comments.
    RequestChanges,
    /// The change is good.
    Approve,
}

impl ReviewDecision {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Comment, Self::RequestChanges, Self::Approve];

    /// Returns the name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::RequestChanges => "request_changes",
            Self::Approve => "approve",
        }
    }

    /// Returns the decision with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}

impl fmt::Display for ReviewDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who wrote a review. An agent never approves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorKind {
    /// A person.
    #[default]
    Person,
    /// An agent.
    Agent,
}

impl AuthorKind {
    /// All values.
    pub const ALL: [Self; 2] = [Self::Person, Self::Agent];

    /// Returns the name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
        }
    }

    /// Returns the kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}

/// The side of a diff that a line belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffSide {
    /// The file before the change.
    Old,
    /// The file after the change.
    #[default]
    New,
}

impl DiffSide {
    /// All values.
    pub const ALL: [Self; 2] = [Self::Old, Self::New];

    /// Returns the name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
        }
    }

    /// Returns the side with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}

/// A comment on a file of a change, or on one of its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewComment {
    /// The path, relative to the project's root.
    pub path: String,
    /// The line, counted from one. `None`: the comment is about the whole file.
    #[serde(default)]
    pub line: Option<u32>,
    /// The side of the diff that the line belongs to.
    #[serde(default)]
    pub side: DiffSide,
    /// The text of the line when it was commented.
    #[serde(default)]
    pub quote: Option<String>,
    /// The comment.
    pub text: String,
}

/// A review to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReview {
    /// The task.
    pub task_id: TaskId,
    /// The reviewed version.
    pub attempt: AttemptNumber,
    /// The decision.
    pub decision: ReviewDecision,
    /// The name of the reviewer.
    pub author: String,
    /// Who the reviewer is.
    pub author_kind: AuthorKind,
    /// The comment on the whole change. It may be empty.
    pub text: String,
    /// The comments on files and lines.
    pub comments: Vec<ReviewComment>,
}

/// A stored review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The id.
    pub id: ReviewId,
    /// The project.
    pub project_id: ProjectId,
    /// The task.
    pub task_id: TaskId,
    /// The version that was reviewed: the number of the attempt that made it.
    pub attempt: AttemptNumber,
    /// The decision.
    pub decision: ReviewDecision,
    /// The name of the reviewer.
    pub author: String,
    /// Who the reviewer is.
    pub author_kind: AuthorKind,
    /// The comment on the whole change. It may be empty.
    pub text: String,
    /// The comments on files and lines.
    pub comments: Vec<ReviewComment>,
    /// When it was submitted.
    pub created_at: Timestamp,
}
