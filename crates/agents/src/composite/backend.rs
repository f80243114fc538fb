//! The composite as an [`AgentBackend`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::{
    AgentBackend, AgentHandle, Capabilities, Clock, Error, EventStream, Prompt, Result, SessionId,
    SessionOptions, SystemClock, TurnLimits, limits,
};

use super::cooldown::Cooldowns;
use super::session::CompositeSession;
use super::sessions::{CompositeSessions, unknown};
use super::turn::CompositeTurn;
use super::{CompositeKind, CompositeProfile};
use crate::model::{CompletionModel, completion_model, with_completion_model};

/// The backend name of every composite in messages; the nodes have their own names.
pub(super) const NAME: &str = "composite";
/// Separates the node's name from the node's session id in the id of a composite session.
const SESSION_SEPARATOR: char = ':';

/// One agent of a composite.
#[derive(Debug, Clone)]
pub struct Node {
    pub(super) name: String,
    pub(super) agent: AgentHandle,
}

impl Node {
    /// Creates a node with the given name and agent.
    pub fn new(name: impl Into<String>, agent: AgentHandle) -> Self {
        Self {
            name: name.into(),
            agent,
        }
    }
}

/// An agent made of other agents. Clones share the sessions and the cool-downs.
#[derive(Clone)]
pub struct Composite {
    pub(super) shared: Arc<CompositeState>,
}

/// The state that all turns of one composite share.
pub(super) struct CompositeState {
    pub(super) profile: CompositeProfile,
    pub(super) nodes: Vec<Node>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) cooldowns: Cooldowns,
    pub(super) sessions: CompositeSessions,
}

impl Composite {
    /// Creates a composite of these nodes. Fails if their number does not match the kind of the profile.
    pub fn new(profile: CompositeProfile, nodes: Vec<Node>) -> Result<Self> {
        Self::with_clock(profile, nodes, Arc::new(SystemClock::new()))
    }

    /// Like [`new`](Self::new), with the given clock.
    pub fn with_clock(
        profile: CompositeProfile,
        nodes: Vec<Node>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let (is_valid, expected) = match profile.kind {
            CompositeKind::Single => (nodes.len() == 1, "one agent"),
            CompositeKind::Fallback => (!nodes.is_empty(), "at least one agent"),
            CompositeKind::PlanExecute => (nodes.len() == 2, "two agents: a planner and a coder"),
        };
        if !is_valid {
            let problem = format!("{} given, expected {expected}", nodes.len());
            return Err(Error::config("nodes", problem));
        }
        // Oversized events are truncated once, by the composite's own handle.
        let nodes: Vec<Node> = nodes
            .into_iter()
            .map(|Node { name, agent }| {
                let agent = agent.with_limits(TurnLimits {
                    event_bytes: limits::PROTOCOL_LINE_BYTES,
                    ..agent.limits()
                });
                Node { name, agent }
            })
            .collect();
        let cooldowns = Cooldowns::new(Arc::clone(&clock), nodes.len(), profile.cool_down);
        Ok(Self {
            shared: Arc::new(CompositeState {
                profile,
                nodes,
                clock,
                cooldowns,
                sessions: CompositeSessions::default(),
            }),
        })
    }

    /// Wraps the composite in a handle. Each node keeps its own limits. The deadline of the composite is the sum of the
    /// deadlines of its nodes, because they may run sequentially.
    pub fn handle(&self) -> AgentHandle {
        let handle = AgentHandle::wrap(self.clone()).with_clock(Arc::clone(&self.shared.clock));
        let node_limits = self.shared.nodes.iter().map(|node| node.agent.limits());
        let defaults = handle.limits();
        let sum = node_limits.clone().fold(Duration::ZERO, |sum, node| {
            sum.saturating_add(node.deadline)
        });
        let grace = node_limits.map(|node| node.grace).max();
        let handle = handle.with_limits(TurnLimits {
            deadline: sum,
            // A node whose events are held back is not stalled. The node's own handle detects a stall.
            stall: None,
            grace: grace.unwrap_or(defaults.grace) + Duration::from_secs(1),
            ..defaults
        });
        match self.completion_model() {
            Some(model) => with_completion_model(&handle, model),
            None => handle,
        }
    }

    /// Returns the composite as a [`CompletionModel`], if all of its nodes are one and the composite does not plan.
    pub fn completion_model(&self) -> Option<Arc<dyn CompletionModel>> {
        let shared = &self.shared;
        let mut nodes = shared.nodes.iter();
        let all = nodes.all(|node| completion_model(&node.agent).is_some());
        let answers_once = shared.profile.kind != CompositeKind::PlanExecute;
        (all && answers_once).then(|| Arc::new(self.clone()) as Arc<dyn CompletionModel>)
    }
}

impl CompositeState {
    /// Returns the capabilities that every node which may answer has.
    ///
    /// Of a planner and a coder only the coder answers. Usage and cost are reported only if both nodes report them.
    fn capabilities(&self) -> Capabilities {
        let mut all = self.nodes.iter().map(|node| node.agent.capabilities());
        let first = all.next().unwrap_or_default();
        let each = all.fold(first, |a, b| Capabilities {
            streaming: a.streaming && b.streaming,
            load_session: a.load_session && b.load_session,
            tools: a.tools && b.tools,
            permissions: a.permissions && b.permissions,
            native_schema: a.native_schema && b.native_schema,
            mcp: a.mcp && b.mcp,
            // A model name is valid for one agent only.
            model_choice: false,
            usage: a.usage && b.usage,
            cost: a.cost && b.cost,
        });
        match (self.profile.kind, self.nodes.last()) {
            (CompositeKind::PlanExecute, Some(coder)) => Capabilities {
                mcp: each.mcp,
                model_choice: false,
                usage: each.usage,
                cost: each.cost,
                ..coder.agent.capabilities()
            },
            _ => each,
        }
    }

    /// Rejects options that not every node supports.
    fn check(&self, options: &SessionOptions) -> Result<()> {
        let capabilities = self.capabilities();
        let unsupported = |what: &str| Err(Error::unsupported(NAME, what));
        if options.output_schema.is_some() && !capabilities.native_schema {
            return unsupported("enforce a schema with every node: put it into the prompt");
        }
        if !options.mcp_servers.is_empty() && !capabilities.mcp {
            return unsupported("connect every node to MCP servers");
        }
        if options.model.is_some() && !capabilities.model_choice {
            return unsupported("choose a model: set the model of each node instead");
        }
        Ok(())
    }

    /// Returns the composite session id for a node's session.
    pub(super) fn to_composite_id(&self, node: usize, inner: &SessionId) -> Option<SessionId> {
        let name = &self.nodes.get(node)?.name;
        Some(format!("{name}{SESSION_SEPARATOR}{inner}").into())
    }

    /// Splits a composite session id into the node and the node's session id.
    fn parse_composite_id(&self, id: &SessionId) -> Option<(usize, SessionId)> {
        self.nodes.iter().enumerate().find_map(|(index, node)| {
            let rest = id.as_str().strip_prefix(node.name.as_str())?;
            Some((index, rest.strip_prefix(SESSION_SEPARATOR)?.into()))
        })
    }

    async fn load(&self, id: &SessionId, options: SessionOptions) -> Result<()> {
        if !self.capabilities().load_session {
            return Err(Error::unsupported(
                NAME,
                "resume a session: not every node can",
            ));
        }
        self.check(&options)?;
        if let Ok(known) = self.sessions.get(id) {
            let updated = Arc::new(known.with_options(options));
            self.sessions.insert(id.clone(), updated);
            return Ok(());
        }
        // The session was created in another process. The node that answered there has it.
        let Some((node, inner)) = self.parse_composite_id(id) else {
            return Err(unknown(id));
        };
        let agent = &self.nodes[node].agent;
        let loaded = agent.load_session(&inner, options.clone()).await;
        loaded.map_err(|error| match error {
            Error::SessionNotFound { .. } => unknown(id),
            other => other,
        })?;
        let session = CompositeSession::new(options, self.nodes.len());
        session.adopt_node_session(node, inner);
        session.set_announced_id(id);
        self.sessions.insert(id.clone(), Arc::new(session));
        Ok(())
    }
}

impl AgentBackend for Composite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        self.shared.capabilities()
    }

    /// Starts no node session: the node is not chosen before the first prompt.
    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            self.shared.check(&options)?;
            let id = SessionId::from(uuid::Uuid::new_v4().to_string());
            let session = CompositeSession::new(options, self.shared.nodes.len());
            self.shared.sessions.insert(id.clone(), Arc::new(session));
            Ok(id)
        })
    }

    fn load_session<'a>(
        &'a self,
        id: &'a SessionId,
        options: SessionOptions,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.shared.load(id, options))
    }

    fn prompt<'a>(
        &'a self,
        id: &'a SessionId,
        prompt: Prompt,
    ) -> BoxFuture<'a, Result<EventStream>> {
        Box::pin(async move {
            let session = self.shared.sessions.get(id)?;
            Ok(CompositeTurn::start(
                Arc::clone(&self.shared),
                session,
                prompt.text,
            ))
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.shared.sessions.get(id)?.stop();
            Ok(())
        })
    }
}

impl fmt::Debug for Composite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Composite")
            .field("profile", &self.shared.profile)
            .field("nodes", &self.shared.nodes)
            .finish_non_exhaustive()
    }
}
