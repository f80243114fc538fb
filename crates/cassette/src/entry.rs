//! The contents of a cassette.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::{AgentEvent, PermissionPolicy, SessionId, SessionOptions};

/// A recording: entries in the order in which they started.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cassette {
    /// The recorded entries.
    pub entries: Vec<Entry>,
}

impl Cassette {
    /// Returns the agent turns among the entries, in order.
    pub fn interactions(&self) -> impl Iterator<Item = &Interaction> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Interaction(interaction) => Some(interaction),
            Entry::Exchange(_) => None,
        })
    }

    /// Returns the model calls among the entries, in order.
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

/// One recorded entry.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Entry {
    /// A turn of an agent.
    Interaction(Interaction),
    /// A model call.
    Exchange(Exchange),
}

/// A prompt and the events of its turn.
///
/// The agent's own output lines are not stored: they contain their own timestamps, and a secret may be
/// split between two of them where it cannot be found.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    /// The session of the turn.
    pub session: SessionId,
    /// Whether the session was resumed instead of created.
    pub resumed: bool,
    /// The options of the session.
    pub options: RecordedOptions,
    /// The prompt.
    pub prompt: String,
    /// The events, in order.
    pub events: Vec<TimedEvent>,
    /// When the caller cancelled the turn, if it did. The events are then those received until that time.
    pub cut: Option<Duration>,
}

/// The options of a session that affect the agent's behavior.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedOptions {
    /// The agent's working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The requested model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The names of the MCP servers. Their commands and environments are specific to the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<String>,
    /// What the agent may do without asking.
    #[serde(default, skip_serializing_if = "is_default")]
    pub permissions: PermissionPolicy,
    /// The schema that the answers must match.
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

/// An event with its time, counted from the prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedEvent {
    /// The offset from the prompt.
    pub at: Duration,
    /// The event.
    pub event: AgentEvent,
}

/// A request to a model and the response.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The model API, by the name that the wire crate uses.
    pub dialect: String,
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The body of the request. Text that is not JSON is a JSON string.
    pub body: Value,
    /// The status of the response.
    pub status: u16,
    /// The relevant headers of the response, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The response, split at its own frames.
    pub chunks: Vec<Chunk>,
    /// When the response was interrupted, if it was.
    pub cut: Option<Duration>,
}

/// A chunk of a model's response with its time, counted from the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The offset from the request.
    pub at: Duration,
    /// The text; model APIs use UTF-8.
    pub text: String,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
