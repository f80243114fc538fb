//! Messages between subscriber and server, apart from the events.

use axum::extract::ws::{Message, Utf8Bytes};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use windlass_core::task::{EventFilter, ProjectId, TaskId};

/// The subscription in the query of the WebSocket's URL.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Subscription {
    /// Only events of this project.
    #[param(value_type = Option<i64>)]
    pub(crate) project: Option<ProjectId>,
    /// Only events of this task.
    #[param(value_type = Option<i64>)]
    pub(crate) task: Option<TaskId>,
    /// Sends all events after this sequence number; without it, only new events.
    pub(crate) after: Option<u64>,
    /// The projects that the subscriber can see; `None` means all. Set by the server only.
    #[serde(skip)]
    #[param(ignore)]
    pub(crate) visible: Option<Vec<ProjectId>>,
}

impl Subscription {
    /// Returns `true` if an event belongs to the subscription.
    pub(crate) fn matches(&self, project: ProjectId, task: Option<TaskId>) -> bool {
        let visible = self.visible.as_ref();
        visible.is_none_or(|visible| visible.contains(&project))
            && self.project.is_none_or(|wanted| wanted == project)
            && self.task.is_none_or(|wanted| Some(wanted) == task)
    }

    /// Converts to a filter for the store.
    pub(crate) fn filter(&self, after: u64, limit: u32) -> EventFilter {
        EventFilter {
            project_id: self.project,
            task_id: self.task,
            after,
            limit,
        }
    }
}

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
