//! What a cassette holds.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AgentEvent, PermissionPolicy, SessionId, SessionOptions};

/// A recording: entries in the order in which they began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cassette {
    /// What was recorded.
    pub entries: Vec<Entry>,
}

impl Cassette {
    /// The turns of agents among the entries, in order.
    pub fn interactions(&self) -> impl Iterator<Item = &Interaction> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Interaction(interaction) => Some(interaction),
            Entry::Exchange(_) => None,
        })
    }

    /// The calls of models among the entries, in order.
    pub fn exchanges(&self) -> impl Iterator<Item = &Exchange> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Exchange(exchange) => Some(exchange),
            Entry::Interaction(_) => None,
        })
    }
}

impl From<Vec<Interaction>> for Cassette {
    fn from(turns: Vec<Interaction>) -> Self {
        Self {
            entries: turns.into_iter().map(Entry::Interaction).collect(),
        }
    }
}

/// One thing that was recorded.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// A turn of an agent.
    Interaction(Interaction),
    /// A call of a model.
    Exchange(Exchange),
}

/// A prompt and what the agent did about it.
///
/// The lines that the agent itself wrote are not kept: they hold clocks of their own, and a secret may be
/// torn between two of them where nobody can find it.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    /// The session of the turn.
    pub session: SessionId,
    /// Whether the session was taken up from an earlier time rather than begun.
    pub resumed: bool,
    /// What the session was opened with.
    pub options: RecordedOptions,
    /// What the agent was told.
    pub prompt: String,
    /// What it did, in order.
    pub events: Vec<TimedEvent>,
    /// When the caller broke the turn off, where it did. The events are then all that came until then.
    pub cut: Option<Duration>,
}

/// The options of a session that matter to what an agent does in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedOptions {
    /// Where the agent works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The model that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The names of the MCP servers. Their commands and environments belong to the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<String>,
    /// What the agent may do without asking.
    #[serde(default, skip_serializing_if = "is_default")]
    pub permissions: PermissionPolicy,
    /// The schema that the answers must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
}

impl From<&SessionOptions> for RecordedOptions {
    fn from(options: &SessionOptions) -> Self {
        let cwd = options.cwd.as_ref();
        Self {
            cwd: cwd.map(|path| path.to_string_lossy().into_owned()),
            model: options.model.clone(),
            mcp_servers: options.mcp_servers.iter().map(|s| s.name.clone()).collect(),
            permissions: options.permissions,
            output_schema: options.output_schema.clone(),
        }
    }
}

/// An event and when it came, counted from the prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedEvent {
    /// The offset from the prompt.
    pub at: Duration,
    /// What happened.
    pub event: AgentEvent,
}

/// A request to a model and the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The model API, in the word that the wire crate has for it.
    pub dialect: String,
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The request's body; text that is no JSON is a JSON string.
    pub body: Value,
    /// The status of the answer.
    pub status: u16,
    /// The headers of the answer that matter, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The answer, cut where its own frames are cut.
    pub chunks: Vec<Chunk>,
    /// When the answer broke off, where it did.
    pub cut: Option<Duration>,
}

/// A piece of a model's answer and when it came, counted from the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The offset from the request.
    pub at: Duration,
    /// The bytes; model APIs speak UTF-8.
    pub text: String,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
