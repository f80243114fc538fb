//! Reviews of changes.

use utoipa::ToSchema;

use crate::board::{DecisionName, SideName};

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum AuthorKind {
    Person,
    Agent,
}

/// A comment on a file, or on one of its lines.
#[derive(ToSchema)]
pub(crate) struct ReviewComment {
    path: String,
    #[schema(required)]
    line: Option<u32>,
    side: SideName,
    /// The text of the line.
    #[schema(required)]
    quote: Option<String>,
    text: String,
}

#[derive(ToSchema)]
pub(crate) struct Review {
    id: i64,
    project_id: i64,
    task_id: i64,
    /// The version that was reviewed: the number of the attempt.
    attempt: u32,
    decision: DecisionName,
    author: String,
    author_kind: AuthorKind,
    /// The comment on the whole change.
    text: String,
    comments: Vec<ReviewComment>,
    /// Milliseconds since the Unix epoch.
    created_at: u64,
}
