//! Tools for a completed task: review, land and push its change.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_tasks::{AttemptNumber, PushState, Scope, TaskId};

use super::super::operation::{Effect, McpOperation, ToolReply, record};
use super::tasks::{changed, line};
use crate::board::{Board, NewCommentBody, NewReviewBody};
use crate::error::ApiError;

/// The decision of a review.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ReviewDecisionInput {
    #[default]
    Comment,
    RequestChanges,
    Approve,
}

/// The side of a diff.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DiffSideInput {
    Old,
    #[default]
    New,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Comment {
    /// The file.
    path: String,
    /// A line that the diff shows. Without it, the comment is about the file.
    line: Option<u32>,
    /// The side of the diff that the line is on.
    #[serde(default)]
    side: DiffSideInput,
    /// The comment.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReviewTask {
    /// The number of the completed task.
    #[schemars(with = "i64")]
    id: TaskId,
    /// The reviewed version: the number of the attempt. It must be the newest.
    attempt: AttemptNumber,
    /// The decision: request_changes starts a new attempt with the comments, comment decides nothing.
    #[serde(default)]
    decision: ReviewDecisionInput,
    /// The comment on the whole change.
    #[serde(default)]
    text: String,
    /// Comments on files and lines.
    #[serde(default)]
    comments: Vec<Comment>,
}

impl McpOperation for ReviewTask {
    const NAME: &'static str = "review_task";
    const TITLE: &'static str = "Review a change";
    const DESCRIPTION: &'static str = "Comments on the change of a completed task, requests changes, which starts a new \
        attempt, or approves it. The review is stored under the name of the client's token.";
    const NEEDS: &'static [Scope] = &[Scope::Approve];
    const EFFECT: Effect = Effect::Adds;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let comments = self.comments.into_iter().map(|comment| {
            let side = match comment.side {
                DiffSideInput::Old => windlass_tasks::DiffSide::Old,
                DiffSideInput::New => windlass_tasks::DiffSide::New,
            };
            NewCommentBody {
                path: comment.path,
                line: comment.line,
                side,
                text: comment.text,
            }
        });
        let body = NewReviewBody {
            attempt: self.attempt,
            decision: match self.decision {
                ReviewDecisionInput::Comment => windlass_tasks::ReviewDecision::Comment,
                ReviewDecisionInput::RequestChanges => {
                    windlass_tasks::ReviewDecision::RequestChanges
                }
                ReviewDecisionInput::Approve => windlass_tasks::ReviewDecision::Approve,
            },
            text: self.text,
            comments: comments.collect(),
        };
        let (review, task) = board.review(self.id, body).await?;
        let data = json!({ "review": record(&review)?, "task": record(&task)? });
        Ok(ToolReply::new(line(&task), data))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LandTask {
    /// The number of the task.
    #[schemars(with = "i64")]
    id: TaskId,
}

impl McpOperation for LandTask {
    const NAME: &'static str = "land_task";
    const TITLE: &'static str = "Land a change";
    const DESCRIPTION: &'static str = "Lets the change of a task land on its target branch when it is proved: a worker \
        merges it, tests the result, and only then moves the branch.";
    const NEEDS: &'static [Scope] = &[Scope::Approve];
    const EFFECT: Effect = Effect::Replaces;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        changed(&board.store.set_land(self.id, true).await?)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PushTask {
    /// The number of the completed task.
    #[schemars(with = "i64")]
    id: TaskId,
    /// The name of a git remote; the configured one if it is not set.
    remote: Option<String>,
}

impl McpOperation for PushTask {
    const NAME: &'static str = "push_task";
    const TITLE: &'static str = "Push a branch";
    const DESCRIPTION: &'static str = "Pushes the branch of a completed task to a git remote, with the credentials of the \
        user, and opens a pull request if that is configured. Commits of other people are never replaced.";
    const NEEDS: &'static [Scope] = &[Scope::Approve];
    const EFFECT: Effect = Effect::Replaces;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let push = board.push(self.id, self.remote).await?;
        let text = match (push.state, &push.error) {
            (PushState::Pushed, _) => format!("pushed task {} to {}", self.id, push.remote),
            (state, error) => {
                let state = state.as_str();
                let why = error.as_deref().unwrap_or_default();
                format!("task {} was not pushed ({state}): {why}", self.id)
            }
        };
        Ok(ToolReply::new(text, json!({ "push": record(&push)? })))
    }
}
