//! Messages of people to the agent: the note of the project, and messages to a running attempt.

use std::fmt::Write as _;

use parking_lot::Mutex;
use windlass_tasks::{AgentMessage, MessageId};

use super::{AttemptContext, AttemptResult, retry_transient};
use crate::template::fence;
use crate::template::{render, truncate_end};

/// Maximum number of earlier messages in a prompt.
const MAX_MESSAGES: usize = 20;
/// Maximum size of each earlier message in a prompt.
const MAX_MESSAGE_BYTES: usize = 4 << 10;

/// The last message that this attempt's agent has received.
#[derive(Debug, Default)]
pub(super) struct MessageCursor(Mutex<Option<MessageId>>);

impl AttemptContext<'_> {
    /// Returns the note of the project, as a section of a prompt.
    pub(super) async fn note(&self) -> AttemptResult<String> {
        let runner = self.runner;
        let note = || runner.store.project_note(self.project.id);
        Ok(note_section(&retry_transient(&*runner.clock, note).await?))
    }

    /// Returns all messages of people to the agents of this task so far, as a section of the first
    /// prompt.
    pub(super) async fn all_messages(&self) -> AttemptResult<String> {
        self.take_messages().await?;
        let runner = self.runner;
        let all = || runner.store.messages(self.at.task);
        let all = retry_transient(&*runner.clock, all).await?;
        let skipped = all.len().saturating_sub(MAX_MESSAGES);
        Ok(match &all[skipped..] {
            [] => String::new(),
            messages => format!("## Messages from people\n\n{}", text(messages)),
        })
    }

    /// Returns the messages of people since the agent's last turn, as a prompt. `None` without messages.
    pub(super) async fn new_messages(&self) -> AttemptResult<Option<String>> {
        let new = self.take_messages().await?;
        Ok((!new.is_empty()).then(|| message_prompt(&text(&new))))
    }

    async fn take_messages(&self) -> AttemptResult<Vec<AgentMessage>> {
        let runner = self.runner;
        let seen = *self.messages.0.lock();
        let all = || runner.store.messages(self.at.task);
        let all = retry_transient(&*runner.clock, all).await?;
        let is_new = |message: &AgentMessage| match message.attempt {
            None => true,
            // A response that was lost.
            Some(attempt) => attempt == self.at.number && Some(message.id) > seen,
        };
        if !all.iter().any(is_new) {
            return Ok(Vec::new());
        }
        let take = || runner.store.take_messages(self.at, seen);
        let new = retry_transient(&*runner.clock, take).await?;
        if let Some(last) = new.last() {
            *self.messages.0.lock() = Some(last.id);
        }
        for message in &new {
            let line = format!("{}: {}", message.author, message.text);
            self.report_activity("message", line).await;
        }
        Ok(new)
    }
}

/// Returns the note of a project as a section of a prompt.
pub(crate) fn note_section(note: &str) -> String {
    let note = note.trim();
    if note.is_empty() {
        return String::new();
    }
    render(
        include_str!("../prompts/note.md"),
        &[("note", note), ("fence", &fence(note))],
    )
}

/// Returns the prompt with the messages of people since the agent's last turn.
fn message_prompt(messages: &str) -> String {
    render(
        include_str!("../prompts/message.md"),
        &[("messages", messages)],
    )
}

fn text(messages: &[AgentMessage]) -> String {
    let mut text = String::new();
    for message in messages {
        let body = truncate_end(message.text.trim(), MAX_MESSAGE_BYTES);
        let _ = writeln!(text, "**{}:** {body}\n", message.author);
    }
    text.trim_end().to_owned()
}
