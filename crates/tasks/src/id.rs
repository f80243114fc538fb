//! The ids of a store's records. Each kind of record has its own type, so that one is never passed for another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Defines ids. Their JSON and their text are those of the integer.
macro_rules! ids {
    ($($(#[$doc:meta])* pub struct $name:ident($integer:ty);)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name($integer);

        impl $name {
            /// Returns the integer.
            pub const fn get(self) -> $integer {
                self.0
            }
        }

        impl From<$integer> for $name {
            fn from(id: $integer) -> Self {
                Self(id)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self).map_err(|_| InvalidId)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

ids! {
    /// The id of a task within its store.
    pub struct TaskId(i64);
    /// The id of a project within its store.
    pub struct ProjectId(i64);
    /// The id of a parent issue within its store.
    pub struct IssueId(i64);
    /// The id of a question that a task needs answered.
    pub struct BlockerId(i64);
    /// The id of a stored permission request.
    pub struct ApprovalId(i64);
    /// The id of a test result.
    pub struct TestResultId(i64);
    /// The id of a correction.
    pub struct CorrectionId(i64);
    /// The id of a message to a task.
    pub struct MessageId(i64);
    /// The id of a review of a change.
    pub struct ReviewId(i64);
    /// The id of an entry of a landing queue.
    pub struct LandingId(i64);
    /// The fencing token of a claim of landings. Writes of an older claim are refused.
    pub struct LandingToken(i64);
    /// The id of a push to a remote repository.
    pub struct PushId(i64);
    /// The id of a notification that is to be sent.
    pub struct NotificationId(i64);
    /// The id of a schedule.
    pub struct ScheduleId(i64);
    /// The id of a model call.
    pub struct ModelCallId(i64);
    /// The id of an access token.
    pub struct TokenId(i64);
    /// The id of an entry of the audit log.
    pub struct AuditId(i64);
    /// The id of a registered worker.
    pub struct WorkerId(i64);
}

/// The error of a text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an id is a whole number, such as 7")]
pub struct InvalidId;

/// The number of an attempt at a task, counted from one.
pub type AttemptNumber = u32;

/// Identifies an attempt. It is the fencing token of every write by the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttemptRef {
    /// The task.
    pub task: TaskId,
    /// The number of the attempt.
    pub number: AttemptNumber,
}

impl fmt::Display for AttemptRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attempt {} at task {}", self.number, self.task)
    }
}
