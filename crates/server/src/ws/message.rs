//! Messages between subscriber and server, apart from the events.

use axum::extract::ws::{Message, Utf8Bytes};
use serde::{Deserialize, Serialize};
use windlass_tasks::{ProjectId, TaskId};

/// A message from a subscriber.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ClientMessage {
    /// Changes the subscription.
    Subscribe {
        #[serde(default)]
        project_id: Option<ProjectId>,
        #[serde(default)]
        task_id: Option<TaskId>,
        #[serde(default)]
        after: Option<u64>,
    },
}

/// A notice from the server.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ServerNotice<'a> {
    /// The subscription is active; `last` is the latest event.
    Hello { last: u64 },
    /// Events were skipped because the subscriber was too slow.
    Lagged { from: u64, to: u64 },
    /// The store cannot be reached: there may be new events that are not delivered.
    Stale { reason: &'a str },
    /// The store can be reached again.
    Fresh,
    /// The subscriber's message is invalid.
    Error { message: &'a str },
}

impl ServerNotice<'_> {
    /// Encodes the notice as a WebSocket message.
    pub(crate) fn message(&self) -> Message {
        let text = serde_json::to_string(self).unwrap_or_default();
        Message::Text(Utf8Bytes::from(text))
    }
}
