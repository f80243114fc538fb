//! What an agent must be able to do, and what is asked of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use futures::Stream;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::permission::{PermissionRule, Permissions, SessionApprover};
use crate::{AgentEvent, Result, SessionId};

/// Whatever can answer a prompt.
///
/// A backend may be careless: it may panic, hang, end without a terminal event or send two. The
/// [`AgentHandle`](crate::AgentHandle) around it makes the turn well-formed. A backend that cannot
/// leave its thread implements [`LocalBackend`](crate::LocalBackend) instead.
pub trait AgentBackend: Send + Sync {
    /// A short name for logs and messages.
    fn name(&self) -> &'static str;

    /// What the agent can do.
    fn capabilities(&self) -> Capabilities;

    /// Begins a conversation.
    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>>;

    /// Takes up an earlier conversation.
    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>>;

    /// Begins a turn. The stream ends when the turn does; dropping it stops the turn at once.
    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>>;

    /// Asks the agent to end the turn under way. The turn's stream then comes to its end.
    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>>;
}

/// An event on its way from a backend, with the line it was read from where there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct BackendEvent {
    /// What happened.
    pub event: AgentEvent,
    /// The agent's own line.
    pub raw: Option<String>,
}

impl From<AgentEvent> for BackendEvent {
    fn from(event: AgentEvent) -> Self {
        Self { event, raw: None }
    }
}

/// The events of one turn.
pub type EventStream = Pin<Box<dyn Stream<Item = BackendEvent> + Send>>;

/// A stream of events that are all known already.
pub fn ready_events(
    events: impl IntoIterator<Item = AgentEvent, IntoIter: Send + 'static>,
) -> EventStream {
    Box::pin(futures::stream::iter(
        events.into_iter().map(BackendEvent::from),
    ))
}

/// What an agent can do: one value, so that a caller can decide before it asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Text comes in pieces while it is written.
    pub streaming: bool,
    /// An earlier session can be taken up again.
    pub load_session: bool,
    /// The agent uses tools of its own and reports them.
    pub tools: bool,
    /// The agent asks before it acts, and takes an answer.
    pub permissions: bool,
    /// The agent enforces an output schema itself.
    pub native_schema: bool,
    /// The agent connects to the session's MCP servers.
    pub mcp: bool,
    /// The model can be chosen per session.
    pub model_choice: bool,
    /// Token counts come with the result.
    pub usage: bool,
    /// Cost comes with the result.
    pub cost: bool,
}

impl Capabilities {
    /// The names of what is there, in a fixed order.
    pub fn names(&self) -> Vec<&'static str> {
        [
            (self.streaming, "streaming"),
            (self.load_session, "load_session"),
            (self.tools, "tools"),
            (self.permissions, "permissions"),
            (self.native_schema, "native_schema"),
            (self.mcp, "mcp"),
            (self.model_choice, "model_choice"),
            (self.usage, "usage"),
            (self.cost, "cost"),
        ]
        .into_iter()
        .filter_map(|(there, name)| there.then_some(name))
        .collect()
    }
}

/// What a session is begun with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionOptions {
    /// Where the agent works. `None`: where the backend was told to.
    pub cwd: Option<PathBuf>,
    /// The model to use, in the agent's own words.
    pub model: Option<String>,
    /// MCP servers that the agent should connect to.
    pub mcp_servers: Vec<McpServer>,
    /// What the agent may do without asking.
    pub permissions: PermissionPolicy,
    /// Exceptions from that: the first that fits is the answer.
    pub permission_rules: Vec<PermissionRule>,
    /// Whether the agent must change nothing, whatever is set for it.
    pub read_only: bool,
    /// Who decides where the policy is to ask.
    pub approver: SessionApprover,
    /// The JSON schema that the answers must fit.
    pub output_schema: Option<Value>,
    /// Whether it is for one prompt: then no process waits for another one.
    pub once: bool,
}

impl SessionOptions {
    /// Options for work in this folder.
    pub fn in_dir(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: Some(cwd.into()),
            ..Self::default()
        }
    }

    /// What the agent may do, and the exceptions: what its user set for it goes over what the caller asks for, and that it
    /// must change nothing over both.
    pub fn effective_permissions<'a>(
        &'a self,
        set: Option<&'a Permissions>,
    ) -> (PermissionPolicy, &'a [PermissionRule]) {
        match set {
            _ if self.read_only => (PermissionPolicy::Deny, &[]),
            Some(set) => (set.default, &set.rules),
            None => (self.permissions, &self.permission_rules),
        }
    }
}

/// An MCP server that is a program speaking over its standard input and output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// How the agent will call it.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its environment, on top of the allow-list.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Who answers when an agent asks for permission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PermissionPolicy {
    /// Everything inside the sandbox is allowed.
    Allow,
    /// Nothing that needs asking is allowed.
    #[default]
    Deny,
    /// A person decides.
    Ask,
}

/// What the agent is told, and how long it may take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The time from prompt to terminal event. `None`: the handle's own limit.
    pub timeout: Option<Duration>,
}

impl Prompt {
    /// Limits the time of the turn.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl<T: Into<String>> From<T> for Prompt {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            timeout: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_set_goes_over_the_callers_wish_and_nothing_over_read_only() {
        let set = Permissions {
            default: PermissionPolicy::Allow,
            rules: vec![PermissionRule::new(PermissionPolicy::Deny)],
        };
        let mut options = SessionOptions {
            permissions: PermissionPolicy::Ask,
            ..SessionOptions::default()
        };
        assert_eq!(
            options.effective_permissions(None),
            (PermissionPolicy::Ask, &[][..])
        );
        assert_eq!(
            options.effective_permissions(Some(&set)),
            (set.default, &set.rules[..])
        );
        options.read_only = true;
        for set in [None, Some(&set)] {
            assert_eq!(
                options.effective_permissions(set),
                (PermissionPolicy::Deny, &[][..])
            );
        }
    }
}
