//! Tools for what a person decides: questions and permission requests.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_core::escape_line;
use windlass_tasks::{ApprovalId, BlockerId, Scope};

use super::super::operation::{Effect, McpOperation, ToolReply, record};
use super::super::paging;
use super::tasks;
use crate::board::Board;
use crate::error::ApiError;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListBlockers {
    /// Include answered questions.
    #[serde(default)]
    all: bool,
    /// The number of questions per page; default 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
    /// The next_cursor of the previous page.
    cursor: Option<String>,
}

impl McpOperation for ListBlockers {
    const NAME: &'static str = "list_blockers";
    const TITLE: &'static str = "List questions";
    const DESCRIPTION: &'static str = "Lists the questions of blocked tasks, oldest first.";
    const NEEDS: &'static [Scope] = &[Scope::Read];
    const EFFECT: Effect = Effect::Reads;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let limit = paging::limit(self.limit);
        let after = paging::parse_cursor(self.cursor.as_deref())?;
        let mut found = board.store.blockers(None, !self.all).await?;
        found.retain(|blocker| after.is_none_or(|after| blocker.id > after));
        let next = paging::cut(&mut found, limit, |blocker| blocker.id);
        let lines = found.iter().map(|blocker| {
            let question = escape_line(&blocker.question);
            format!("{} (task {}): {question}", blocker.id, blocker.task_id)
        });
        let text = lines_or(lines, "no questions");
        let data = json!({ "blockers": record(&found)? });
        Ok(ToolReply::new(text, paging::with_cursor(data, next)))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBlocker {
    /// The number of the question.
    #[schemars(with = "i64")]
    id: BlockerId,
    /// The answer, which the next attempt's prompt includes.
    text: String,
}

impl McpOperation for AnswerBlocker {
    const NAME: &'static str = "answer_blocker";
    const TITLE: &'static str = "Answer a question";
    const DESCRIPTION: &'static str =
        "Answers the question of a blocked task and puts the task into the queue again.";
    const NEEDS: &'static [Scope] = &[Scope::Approve];
    const EFFECT: Effect = Effect::Adds;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        tasks::changed(&board.answer(self.id, self.text).await?)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListApprovals {
    /// Include decided and withdrawn requests.
    #[serde(default)]
    all: bool,
    /// The number of requests per page; default 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
    /// The next_cursor of the previous page.
    cursor: Option<String>,
}

impl McpOperation for ListApprovals {
    const NAME: &'static str = "list_approvals";
    const TITLE: &'static str = "List permission requests";
    const DESCRIPTION: &'static str =
        "Lists the permission requests of running agents with their options, oldest first.";
    const NEEDS: &'static [Scope] = &[Scope::Read];
    const EFFECT: Effect = Effect::Reads;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let limit = paging::limit(self.limit);
        let after = paging::parse_cursor(self.cursor.as_deref())?;
        let mut found = board.store.approvals(!self.all).await?;
        found.retain(|approval| after.is_none_or(|after| approval.id > after));
        let next = paging::cut(&mut found, limit, |approval| approval.id);
        let lines = found.iter().map(|approval| {
            let asked = &approval.request;
            let (agent, tool) = (escape_line(&asked.agent), escape_line(&asked.tool));
            let (id, task) = (approval.id, asked.attempt.task);
            format!("{id} (task {task}): {agent} requests {tool}")
        });
        let text = lines_or(lines, "no permission requests");
        let data = json!({ "approvals": record(&found)? });
        Ok(ToolReply::new(text, paging::with_cursor(data, next)))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DecideApproval {
    /// The number of the permission request.
    #[schemars(with = "i64")]
    id: ApprovalId,
    /// The id of one of its options.
    option: String,
}

impl McpOperation for DecideApproval {
    const NAME: &'static str = "decide_approval";
    const TITLE: &'static str = "Decide a permission request";
    const DESCRIPTION: &'static str = "Chooses an option of a permission request, which allows or denies what an agent \
        wants to do. The first decision is final.";
    const NEEDS: &'static [Scope] = &[Scope::Approve];
    const EFFECT: Effect = Effect::Replaces;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let decided = board.decide(self.id, self.option).await?;
        let option = decided.decision.as_ref();
        let option = option.and_then(|decision| decision.option.as_deref());
        let option = escape_line(option.unwrap_or_default());
        let text = format!("permission request {} is decided: {option}", decided.id);
        Ok(ToolReply::new(
            text,
            json!({ "approval": record(&decided)? }),
        ))
    }
}

fn lines_or(lines: impl Iterator<Item = String>, none: &str) -> String {
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        none.to_owned()
    } else {
        text
    }
}
