//! Notifications about tasks.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::Timestamp;

use crate::id::{NotificationId, ProjectId, TaskId};
use crate::push::NewPush;

/// The way to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Channel {
    /// The desktop of the machine that runs the worker.
    Desktop,
    /// An HTTP request.
    Webhook,
    /// A command.
    Command,
}

impl Channel {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Desktop, Self::Webhook, Self::Command];

    /// Returns the name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Webhook => "webhook",
            Self::Command => "command",
        }
    }

    /// Returns the channel with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|channel| channel.as_str() == name)
    }
}

/// The state of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotificationState {
    /// A worker sends it when it is due.
    Pending,
    /// It was sent.
    Sent,
    /// It could not be sent in time.
    Dropped,
}

impl NotificationState {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Sent, Self::Dropped];

    /// Returns the name used in JSON and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sent => "sent",
            Self::Dropped => "dropped",
        }
    }

    /// Returns the state with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// A notification about a task on one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    /// The id.
    pub id: NotificationId,
    /// The project of the task.
    pub project_id: ProjectId,
    /// The task.
    pub task_id: TaskId,
    /// What it is about. There is one notification for each task, cause and channel.
    pub cause: String,
    /// The channel.
    pub channel: Channel,
    /// The message.
    pub body: Value,
    /// The state.
    pub state: NotificationState,
    /// Why the last try failed.
    pub error: Option<String>,
    /// The number of tries.
    pub tries: u32,
    /// When it was stored.
    pub created_at: Timestamp,
    /// The number of the last claim: the fencing token.
    #[serde(skip)]
    pub claim: u32,
}

/// A notification to store.
#[derive(Debug, Clone, PartialEq)]
pub struct NewNotification {
    /// The project of the task.
    pub project_id: ProjectId,
    /// The task.
    pub task_id: TaskId,
    /// What it is about.
    pub cause: String,
    /// The channel.
    pub channel: Channel,
    /// The message.
    pub body: Value,
}

/// A request for a notification that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationClaim {
    /// Only notifications of this project.
    pub project_id: Option<ProjectId>,
    /// Only these channels.
    pub channels: Vec<Channel>,
    /// After this time, another process may claim the notification.
    pub lease: Duration,
}

/// The result of sending a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotificationEnd {
    /// It was sent.
    Sent,
    /// It failed, and is sent again after this time.
    Retry {
        /// The reason.
        error: String,
        /// The time until the next try.
        after: Duration,
    },
    /// It failed, and is not sent again.
    Dropped {
        /// The reason.
        error: String,
    },
}

/// What a follower of the event log derived from the events between two numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FollowStep {
    /// The name of the follower.
    pub follower: String,
    /// The number of the last event before this step.
    pub from: u64,
    /// The number of the last event of this step.
    pub to: u64,
    /// Notifications to store. One that exists is left as it is.
    pub notifications: Vec<NewNotification>,
    /// Pushes to request.
    pub pushes: Vec<NewPush>,
}
