//! A composite as an agent like any other.

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

/// What every composite is called in messages; the nodes have names of their own.
pub(super) const NAME: &str = "composite";
/// What parts a node's name from its session in the name of a composite's session.
const SESSION_SEPARATOR: char = ':';

/// One of the agents that a composite is made of.
#[derive(Debug, Clone)]
pub struct Node {
    pub(super) name: String,
    pub(super) agent: AgentHandle,
}

impl Node {
    /// This agent, under this name.
    pub fn new(name: impl Into<String>, agent: AgentHandle) -> Self {
        Self {
            name: name.into(),
            agent,
        }
    }
}

/// An agent made of others. Clones share sessions and who rests.
#[derive(Clone)]
pub struct Composite {
    pub(super) shared: Arc<CompositeState>,
}

/// What all turns of one composite share.
pub(super) struct CompositeState {
    pub(super) profile: CompositeProfile,
    pub(super) nodes: Vec<Node>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) cooling: Cooldowns,
    pub(super) sessions: CompositeSessions,
}

impl Composite {
    /// These agents, working together as the profile says.
    pub fn new(profile: CompositeProfile, nodes: Vec<Node>) -> Result<Self> {
        Self::with_clock(profile, nodes, Arc::new(SystemClock::new()))
    }

    /// The same, taking time from elsewhere.
    pub fn with_clock(
        profile: CompositeProfile,
        nodes: Vec<Node>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let (fits, wanted) = match profile.kind {
            CompositeKind::Single => (nodes.len() == 1, "one agent"),
            CompositeKind::Fallback => (!nodes.is_empty(), "at least one agent"),
            CompositeKind::PlanExecute => (
                nodes.len() == 2,
                "two agents: one that plans, one that does",
            ),
        };
        if !fits {
            let problem = format!("{} are named, expected {wanted}", nodes.len());
            return Err(Error::config("nodes", problem));
        }
        // What is too large is cut once, at the composite's own handle.
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
        let cooling = Cooldowns::new(Arc::clone(&clock), nodes.len(), profile.cool_down);
        Ok(Self {
            shared: Arc::new(CompositeState {
                profile,
                nodes,
                clock,
                cooling,
                sessions: CompositeSessions::default(),
            }),
        })
    }

    /// The composite behind a handle. Each node keeps to its own limits; all together may take as long as they may one
    /// after the other.
    pub fn handle(&self) -> AgentHandle {
        let handle = AgentHandle::wrap(self.clone()).with_clock(Arc::clone(&self.shared.clock));
        let of_nodes = self.shared.nodes.iter().map(|node| node.agent.limits());
        let usual = handle.limits();
        let sum = of_nodes.clone().fold(Duration::ZERO, |sum, node| {
            sum.saturating_add(node.deadline)
        });
        let grace = of_nodes.map(|node| node.grace).max();
        let handle = handle.with_limits(TurnLimits {
            deadline: sum,
            // A node that is kept back is not silent; its own handle knows when it is.
            stall: None,
            grace: grace.unwrap_or(usual.grace) + Duration::from_secs(1),
            ..usual
        });
        match self.completion_model() {
            Some(answers) => with_completion_model(&handle, answers),
            None => handle,
        }
    }

    /// The composite as one that takes whole conversations, if all its nodes are such.
    pub fn completion_model(&self) -> Option<Arc<dyn CompletionModel>> {
        let shared = &self.shared;
        let mut nodes = shared.nodes.iter();
        let all = nodes.all(|node| completion_model(&node.agent).is_some());
        let is_one = shared.profile.kind != CompositeKind::PlanExecute;
        (all && is_one).then(|| Arc::new(self.clone()) as Arc<dyn CompletionModel>)
    }
}

impl CompositeState {
    /// What every node can do that may come to answer.
    ///
    /// Of a planner and a coder, only the second is heard; what both do is told where both can tell it.
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
            // A model's name is one agent's own word.
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

    /// Refuses what not every node could do.
    fn check(&self, options: &SessionOptions) -> Result<()> {
        let can = self.capabilities();
        let refuse = |what: &str| {
            Err(Error::Unsupported {
                backend: NAME.to_owned(),
                what: what.to_owned(),
            })
        };
        if options.output_schema.is_some() && !can.native_schema {
            return refuse("enforce a schema with every node: put it into the prompt");
        }
        if !options.mcp_servers.is_empty() && !can.mcp {
            return refuse("connect every node to MCP servers");
        }
        if options.model.is_some() && !can.model_choice {
            return refuse("choose a model: each node has its own, set there");
        }
        Ok(())
    }

    /// The name under which a node's session is a session of the composite.
    pub(super) fn to_composite_id(&self, node: usize, inner: &SessionId) -> Option<SessionId> {
        let name = &self.nodes.get(node)?.name;
        Some(format!("{name}{SESSION_SEPARATOR}{inner}").into())
    }

    /// The node and its session that such a name means.
    fn from_composite_id(&self, id: &SessionId) -> Option<(usize, SessionId)> {
        self.nodes.iter().enumerate().find_map(|(place, node)| {
            let rest = id.as_str().strip_prefix(node.name.as_str())?;
            Some((place, rest.strip_prefix(SESSION_SEPARATOR)?.into()))
        })
    }

    async fn load(&self, id: &SessionId, options: SessionOptions) -> Result<()> {
        if !self.capabilities().load_session {
            return Err(Error::Unsupported {
                backend: NAME.to_owned(),
                what: "take up a session: not every node can".to_owned(),
            });
        }
        self.check(&options)?;
        if let Ok(known) = self.sessions.get(id) {
            let again = Arc::new(known.with_options(options));
            self.sessions.insert(id.clone(), again);
            return Ok(());
        }
        // A session of another process: the node that answered there has it.
        let Some((node, inner)) = self.from_composite_id(id) else {
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

    /// No node is asked yet: which one it will be is not known before the first prompt.
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
