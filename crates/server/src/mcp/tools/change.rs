//! Tools for the change of a task: show it and merge it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_tasks::{AttemptNumber, Scope, TaskId};

use super::super::operation::{Effect, McpOperation, ToolReply, record};
use super::super::text_page::{PageSize, TextPage};
use crate::board::Board;
use crate::error::ApiError;

/// The maximum size of a page, in bytes.
const PAGE_BYTES: usize = 32 << 10;
/// The number of lines per page if the client sets none.
const DEFAULT_LINES: u32 = 400;
/// The maximum number of lines per page.
const MAX_LINES: u32 = 2_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DiffTask {
    /// The number of the task.
    #[schemars(with = "i64")]
    id: TaskId,
    /// The change of this attempt, whatever its outcome. Default: the change on the task's branch, or the last one that is
    /// kept.
    attempt: Option<AttemptNumber>,
    /// The first line, counted from 0: the next_offset of the previous page.
    #[serde(default)]
    offset: u32,
    /// The number of lines per page; default 400.
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<u32>,
}

impl McpOperation for DiffTask {
    const NAME: &'static str = "diff_task";
    const TITLE: &'static str = "Show a change";
    const DESCRIPTION: &'static str = "Returns the change of a task as a git diff, page by page.";
    const NEEDS: &'static [Scope] = &[Scope::Read];
    const EFFECT: Effect = Effect::Reads;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        let diff = board.diff(self.id, self.attempt).await?;
        let lines = self.limit.unwrap_or(DEFAULT_LINES).clamp(1, MAX_LINES);
        let size = PageSize {
            lines: lines as usize,
            bytes: PAGE_BYTES,
        };
        let page = TextPage::new(&diff, self.offset as usize, size);
        let mut text = page.text.clone();
        if let Some(next) = page.next {
            let total = page.total;
            text.push_str(&format!("[more: offset {next} of {total} lines]"));
        }
        let data = json!({
            "task_id": self.id,
            "diff": page.text,
            "lines": page.total,
            "next_offset": page.next,
        });
        Ok(ToolReply::new(text, data))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MergeTask {
    /// The number of the completed task.
    #[schemars(with = "i64")]
    id: TaskId,
    /// Accepts the warnings in the proof of a task that needs a review.
    #[serde(default)]
    accept: bool,
}

impl McpOperation for MergeTask {
    const NAME: &'static str = "merge_task";
    const TITLE: &'static str = "Merge a change";
    const DESCRIPTION: &'static str = "Merges the branch of a completed task into the current branch of the project's \
        repository. Nothing is merged if there are conflicts or uncommitted edits in the way.";
    const NEEDS: &'static [Scope] = &[Scope::Approve];
    const EFFECT: Effect = Effect::Replaces;

    async fn run(self, board: &Board) -> Result<ToolReply, ApiError> {
        if self.accept {
            board.store.accept(self.id).await?;
        }
        let (task, merged) = board.merge(self.id).await?;
        let text = match (merged["status"].as_str(), merged["into"].as_str()) {
            (Some("merged"), Some(into)) => format!("merged task {} into {into}", task.id),
            _ => format!("task {}: already up to date", task.id),
        };
        let data = json!({ "task_id": task.id, "merge": record(&merged)? });
        Ok(ToolReply::new(text, data))
    }
}
