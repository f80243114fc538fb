//! What reader and server say to each other, besides the messages themselves.

use axum::extract::ws::{Message, Utf8Bytes};
use serde::{Deserialize, Serialize};
use windlass_core::task::{EventFilter, ProjectId, TaskId};

/// What a reader asks for in the address of the socket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subscription {
    /// Only messages of this project.
    pub(crate) project: Option<ProjectId>,
    /// Only messages of this task.
    pub(crate) task: Option<TaskId>,
    /// Everything after this number; without it, from now on.
    pub(crate) after: Option<u64>,
}

impl Subscription {
    /// Whether a message is of interest.
    pub(crate) fn matches(&self, project: ProjectId, task: Option<TaskId>) -> bool {
        self.project.is_none_or(|wanted| wanted == project)
            && self.task.is_none_or(|wanted| Some(wanted) == task)
    }

    /// The same as a question to the store.
    pub(crate) fn filter(&self, after: u64, limit: u32) -> EventFilter {
        EventFilter {
            project_id: self.project,
            task_id: self.task,
            after,
            limit,
        }
    }
}

/// What a reader may say.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ClientMessage {
    /// It wants other messages from now on.
    Subscribe {
        #[serde(default)]
        project_id: Option<ProjectId>,
        #[serde(default)]
        task_id: Option<TaskId>,
        #[serde(default)]
        after: Option<u64>,
    },
}

/// What the server says of itself.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ServerNotice<'a> {
    /// The subscription holds; this is the last message there is.
    Hello { last: u64 },
    /// Messages were passed over, because the reader was too slow.
    Lagged { from: u64, to: u64 },
    /// The store cannot be reached: there may be news that nobody here knows.
    Stale { reason: &'a str },
    /// It is back.
    Fresh,
    /// What the reader said was not understood.
    Error { message: &'a str },
}

impl ServerNotice<'_> {
    /// The note as it goes over the wire.
    pub(crate) fn message(&self) -> Message {
        let text = serde_json::to_string(self).unwrap_or_default();
        Message::Text(Utf8Bytes::from(text))
    }
}
