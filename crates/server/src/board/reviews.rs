//! Reviews of a task's change.

use serde::Deserialize;
use utoipa::ToSchema;
use windlass_tasks::{
    AttemptNumber, AuthorKind, DiffLines, DiffSide, NewReview, Review, ReviewComment,
    ReviewDecision, Scope, Task, TaskId,
};

use super::Board;
use crate::error::ApiError;

/// A review to submit.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewReview)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewReviewBody {
    /// The reviewed version: the number of the attempt. It must be the newest.
    #[schema(value_type = u32)]
    pub(crate) attempt: AttemptNumber,
    #[serde(default)]
    #[schema(value_type = DecisionName, required = false)]
    pub(crate) decision: ReviewDecision,
    /// The comment on the whole change.
    #[serde(default)]
    #[schema(required = false)]
    pub(crate) text: String,
    #[serde(default)]
    #[schema(required = false)]
    pub(crate) comments: Vec<NewCommentBody>,
}

/// A comment on a file or a line of the diff.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewReviewComment)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewCommentBody {
    pub(crate) path: String,
    /// A line that the diff shows. Without it, the comment is about the file.
    pub(crate) line: Option<u32>,
    #[serde(default)]
    #[schema(value_type = SideName, required = false)]
    pub(crate) side: DiffSide,
    pub(crate) text: String,
}

/// The JSON of [`ReviewDecision`].
#[expect(dead_code, reason = "it only describes the values")]
#[derive(ToSchema)]
#[schema(as = ReviewDecision, rename_all = "snake_case")]
pub(crate) enum DecisionName {
    Comment,
    RequestChanges,
    Approve,
}

/// The JSON of [`DiffSide`].
#[expect(dead_code, reason = "it only describes the values")]
#[derive(ToSchema)]
#[schema(as = DiffSide, rename_all = "snake_case")]
pub(crate) enum SideName {
    Old,
    New,
}

impl NewReviewBody {
    /// Returns the scope that the decision needs.
    pub(crate) fn needs(&self) -> Scope {
        match self.decision {
            ReviewDecision::Comment => Scope::Work,
            ReviewDecision::RequestChanges | ReviewDecision::Approve => Scope::Approve,
        }
    }
}

impl Board {
    /// Submits a review of the newest version, with each comment on a line of its diff.
    pub(crate) async fn review(
        &self,
        id: TaskId,
        body: NewReviewBody,
    ) -> Result<(Review, Task), ApiError> {
        let mut comments: Vec<ReviewComment> = body.comments.into_iter().map(comment).collect();
        if !comments.is_empty() {
            let diff = self.diff(id, Some(body.attempt)).await?;
            let lines = DiffLines::parse(&diff);
            for comment in &mut comments {
                lines.place(comment).map_err(ApiError::bad_request)?;
            }
        }
        let review = NewReview {
            task_id: id,
            attempt: body.attempt,
            decision: body.decision,
            author: self.author.clone(),
            author_kind: AuthorKind::Person,
            text: body.text,
            comments,
        };
        Ok(self.store.add_review(review).await?)
    }
}

fn comment(body: NewCommentBody) -> ReviewComment {
    ReviewComment {
        path: body.path,
        line: body.line,
        side: body.side,
        quote: None,
        text: body.text,
    }
}
