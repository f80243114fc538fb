//! Reviews of a change by an agent.

use std::fmt;

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::AgentHandle;
use windlass_tasks::{
    DiffLines, DiffSide, MAX_REVIEW_COMMENTS, MAX_REVIEW_TEXT_BYTES, Proof, ReviewComment,
    ReviewDecision, Task, TaskId,
};

use crate::attempt::call;
use crate::plan::structured_call;
use crate::template::{fence, render, truncate_end, truncate_middle};
use crate::{PlanError, PlanOptions};

/// Maximum size of the diff in the prompt.
const MAX_DIFF_BYTES: usize = 256 << 10;
/// What is left for the text if comments are added to it.
const MAX_SUMMARY_BYTES: usize = MAX_REVIEW_TEXT_BYTES / 2;

/// Reviews the change of a completed task. A worker calls it after the proof.
pub trait ChangeReviewer: fmt::Debug + Send + Sync {
    /// Reviews the newest version, and stores the review. Errors are reported, not returned: a task is complete
    /// without this review.
    fn review(&self, task: TaskId) -> BoxFuture<'_, ()>;
}

/// What an agent found. It never approves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReview {
    /// `Comment` or `RequestChanges`.
    pub decision: ReviewDecision,
    /// The judgement of the whole change.
    pub text: String,
    /// The comments, each on a line or a file of the diff.
    pub comments: Vec<ReviewComment>,
}

/// Lets an agent review a change. The session's directory has the files of the change; the agent can change
/// nothing in it.
pub async fn review_change(
    agent: &AgentHandle,
    task: &Task,
    diff: &str,
    proof: Option<&Proof>,
    options: PlanOptions,
) -> Result<AgentReview, PlanError> {
    let shown = truncate_middle(diff, MAX_DIFF_BYTES);
    let tests = match proof {
        Some(proof) => format!(
            "The tests pass with it: `{}`, {} passed, {} failed.",
            proof.command.join(" "),
            proof.counts.passed,
            proof.counts.failed
        ),
        None => "The project has no tests that judge it.".to_owned(),
    };
    let prompt = render(
        include_str!("prompts/reviewer.md"),
        &[
            ("title", &task.title),
            ("description", &task.description),
            ("fence", &fence(&shown)),
            ("diff", &shown),
            ("tests", &tests),
        ],
    );
    let request = call(agent, "review", prompt, schema());
    let value = structured_call(agent, request, options.read_only()).await?;
    let answer: ReviewAnswer =
        serde_json::from_value(value.clone()).map_err(|error| PlanError::Invalid {
            problem: error.to_string(),
            answer: truncate_end(&value.to_string(), 2000),
        })?;
    Ok(placed(answer, diff))
}

#[derive(Deserialize)]
struct ReviewAnswer {
    verdict: ReviewVerdict,
    summary: String,
    #[serde(default)]
    comments: Vec<AnswerComment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReviewVerdict {
    Comment,
    RequestChanges,
}

#[derive(Deserialize)]
struct AnswerComment {
    path: String,
    #[serde(default)]
    line: Option<u32>,
    text: String,
}

/// Places the comments in the diff. A line that it does not show becomes a comment on the file, and a file that
/// it does not contain a part of the text: nothing that the agent found is lost.
fn placed(answer: ReviewAnswer, diff: &str) -> AgentReview {
    let lines = DiffLines::parse(diff);
    let mut text = truncate_end(answer.summary.trim(), MAX_SUMMARY_BYTES);
    let mut comments = Vec::new();
    let found = answer.comments.into_iter();
    for AnswerComment {
        path,
        line,
        text: said,
    } in found.take(MAX_REVIEW_COMMENTS)
    {
        if said.trim().is_empty() {
            continue;
        }
        let mut comment = ReviewComment {
            path: path.trim_start_matches("./").to_owned(),
            line,
            side: DiffSide::New,
            quote: None,
            text: truncate_end(said.trim(), MAX_SUMMARY_BYTES),
        };
        if lines.place(&mut comment).is_ok() {
            comments.push(comment);
            continue;
        }
        let at = line.map_or_else(String::new, |line| format!("Line {line}: "));
        comment.text.insert_str(0, &at);
        comment.line = None;
        if lines.place(&mut comment).is_ok() {
            comments.push(comment);
        } else {
            text.push_str(&format!("\n\n{path}: {}", comment.text));
        }
    }
    let text = truncate_end(text.trim(), MAX_REVIEW_TEXT_BYTES - 16);
    let is_empty = text.is_empty() && comments.is_empty();
    AgentReview {
        decision: match answer.verdict {
            ReviewVerdict::RequestChanges if !is_empty => ReviewDecision::RequestChanges,
            _ => ReviewDecision::Comment,
        },
        text: if is_empty {
            "No comments.".to_owned()
        } else {
            text
        },
        comments,
    }
}

fn schema() -> Value {
    let comment = json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "a file of the diff" },
            "line": { "type": ["integer", "null"], "minimum": 1, "description": "the line in the new file" },
            "text": { "type": "string" },
        },
        "required": ["path", "line", "text"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "verdict": { "type": "string", "enum": ["comment", "request_changes"] },
            "summary": { "type": "string" },
            "comments": { "type": "array", "items": comment },
        },
        "required": ["verdict", "summary", "comments"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str =
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n";

    #[test]
    fn every_comment_finds_a_place() {
        let answer = json!({
            "verdict": "request_changes",
            "summary": "Wrong.",
            "comments": [
                {"path": "./a.py", "line": 1, "text": "off by one"},
                {"path": "a.py", "line": 90, "text": "unused"},
                {"path": "b.py", "line": 3, "text": "missing"},
                {"path": "a.py", "line": null, "text": " "},
            ],
        });
        let review = placed(serde_json::from_value(answer).unwrap(), DIFF);
        assert_eq!(review.decision, ReviewDecision::RequestChanges);
        let found: Vec<_> = review
            .comments
            .iter()
            .map(|one| (one.line, one.text.as_str()))
            .collect();
        assert_eq!(found, [(Some(1), "off by one"), (None, "Line 90: unused")]);
        assert_eq!(review.comments[0].quote.as_deref(), Some("x = 2"));
        assert_eq!(review.text, "Wrong.\n\nb.py: Line 3: missing");
    }

    #[test]
    fn an_agent_cannot_approve() {
        let answer = json!({"verdict": "approve", "summary": "Fine."});
        assert!(serde_json::from_value::<ReviewAnswer>(answer).is_err());
        assert!(!schema().to_string().contains("approve"));
        let empty = json!({"verdict": "request_changes", "summary": " "});
        let review = placed(serde_json::from_value(empty).unwrap(), DIFF);
        assert_eq!(review.decision, ReviewDecision::Comment);
    }
}
