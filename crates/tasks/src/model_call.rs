//! The model calls of agents: what each used and cost, and limits on what may be spent.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::Timestamp;

use crate::id::{ModelCallId, ProjectId, TaskId};

/// The work that a model call belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallLabels {
    /// The project.
    pub project: Option<ProjectId>,
    /// The task.
    pub task: Option<TaskId>,
    /// The number of the task's attempt.
    pub attempt: Option<u32>,
    /// The configured name of the agent.
    pub agent: String,
    /// The host of the provider.
    pub account: String,
    /// The person who asked for the work.
    pub person: Option<String>,
}

/// A model call that is about to be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewModelCall {
    /// The work that it belongs to.
    pub labels: CallLabels,
    /// The API, such as `chat`.
    pub api: String,
    /// The requested model, if it is known.
    pub model: Option<String>,
    /// The most that it can cost, in billionths of a dollar. `None` if a price is unknown.
    pub reserved_nanos: Option<i64>,
}

/// The tokens of a model call. The totals include their parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTokens {
    /// All input tokens.
    pub input: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write: u64,
    /// All output tokens.
    pub output: u64,
    /// Output tokens used for reasoning.
    pub reasoning: u64,
}

/// How a model call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It is running, or its process was killed.
    Open,
    /// The response was passed on completely.
    Done,
    /// The response ended early: the agent or the provider disconnected.
    Interrupted,
    /// The provider answered with an error, or not at all.
    Failed,
    /// A limit refused it. It was not sent.
    Refused,
}

impl CallStatus {
    /// Returns the name, as used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }
}

/// The end of a model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCallEnd {
    /// How it ended.
    pub status: CallStatus,
    /// The HTTP status of the provider, if it answered.
    pub http_status: Option<u16>,
    /// The model that answered, if the response names one.
    pub model: Option<String>,
    /// The tokens, if the response reports them.
    pub tokens: Option<CallTokens>,
    /// The cost in billionths of a dollar. `None` if the tokens or a price are unknown; what was reserved then counts.
    pub cost_nanos: Option<i64>,
    /// The time from the request to the end of the response.
    pub duration: Duration,
}

/// The calls that share a spending limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpendScope {
    /// One call.
    Call,
    /// The calls of one attempt.
    Attempt,
    /// The calls of one task.
    Task,
    /// The calls of one agent on one day.
    Agent,
    /// The calls of one project on one day.
    Project,
    /// The calls of one person on one day.
    Person,
    /// All calls of one day.
    Day,
}

impl SpendScope {
    /// All scopes, the smallest first.
    pub const ALL: [Self; 7] = [
        Self::Call,
        Self::Attempt,
        Self::Task,
        Self::Agent,
        Self::Project,
        Self::Person,
        Self::Day,
    ];

    /// Returns the name, as used in JSON and in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Attempt => "attempt",
            Self::Task => "task",
            Self::Agent => "agent",
            Self::Project => "project",
            Self::Person => "person",
            Self::Day => "day",
        }
    }
}

/// A limit on what the calls of a scope may cost together. A day is one of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendLimit {
    /// The calls.
    pub scope: SpendScope,
    /// The limit, in billionths of a dollar.
    pub nanos: i64,
}

/// Whether a model call may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallAdmission {
    /// It may be sent. Its end must be stored under this id.
    Admitted {
        /// The id.
        id: ModelCallId,
        /// The scopes of which it brought the reserved sum to 80 % of the limit or more.
        notices: Vec<SpendScope>,
    },
    /// A limit does not allow it.
    Refused {
        /// The limit.
        limit: SpendLimit,
        /// What the other calls of the scope cost or have reserved, in billionths of a dollar.
        spent_nanos: i64,
    },
}

/// What the rows of a usage report stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageKey {
    /// Models.
    Model,
    /// Agents.
    Agent,
    /// Tasks.
    Task,
    /// Projects.
    Project,
    /// Persons.
    Person,
    /// Accounts.
    Account,
    /// Days of UTC.
    Day,
}

/// Which calls a usage report counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageQuery {
    /// What its rows stand for.
    pub by: UsageKey,
    /// Only calls since this time.
    pub since: Option<Timestamp>,
    /// Only calls for this project.
    pub project: Option<ProjectId>,
}

impl UsageQuery {
    /// Counts all calls.
    pub fn all(by: UsageKey) -> Self {
        Self {
            by,
            since: None,
            project: None,
        }
    }
}

impl std::ops::AddAssign<&Self> for UsageTotal {
    fn add_assign(&mut self, other: &Self) {
        self.calls += other.calls;
        self.tokens.input += other.tokens.input;
        self.tokens.cache_read += other.tokens.cache_read;
        self.tokens.cache_write += other.tokens.cache_write;
        self.tokens.output += other.tokens.output;
        self.tokens.reasoning += other.tokens.reasoning;
        self.unknown_tokens += other.unknown_tokens;
        self.cost_nanos += other.cost_nanos;
        self.unknown_cost += other.unknown_cost;
        self.not_done += other.not_done;
        self.duration += other.duration;
    }
}

/// The sums of the calls of one row of a usage report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageTotal {
    /// The model, agent or other value, as text; an id or a day is a number. `None` for calls without one.
    pub key: Option<String>,
    /// The number of calls that were sent.
    pub calls: u64,
    /// Their known tokens.
    pub tokens: CallTokens,
    /// The number of calls with unknown tokens.
    pub unknown_tokens: u64,
    /// Their known cost in billionths of a dollar.
    pub cost_nanos: i64,
    /// The number of calls with an unknown cost.
    pub unknown_cost: u64,
    /// The number of calls that did not end as `done`.
    pub not_done: u64,
    /// Their time, summed.
    pub duration: Duration,
}
