//! The composite as an [`AgentBackend`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use windlass_core::{
    AgentBackend, AgentHandle, Capabilities, Clock, EditMode, Error, EventStream, Prompt, Result,
    SessionId, SessionOptions, SystemClock, TurnLimits, limits,
};

use super::cooldown::Cooldowns;
use super::session::CompositeSession;
use super::state::{CompositeState, NAME, Node};
use super::turn::CompositeTurn;
use super::{CompositeKind, CompositeProfile};
use crate::model::{CompletionModel, completion_model, with_completion_model};
use crate::session_table::SessionTable;

/// An agent made of other agents. Clones share the sessions and the cool-downs.
#[derive(Clone)]
pub struct Composite {
    pub(super) shared: Arc<CompositeState>,
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
        let cooldowns = Arc::new(Cooldowns::new(
            Arc::clone(&clock),
            nodes.len(),
            profile.cool_down,
        ));
        Ok(Self {
            shared: Arc::new(CompositeState {
                profile,
                nodes,
                clock,
                cooldowns,
                sessions: SessionTable::default(),
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
            // A node is not stalled while its events are held back. The node's own handle detects a stall.
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

impl AgentBackend for Composite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        self.shared.capabilities()
    }

    /// The first node decides. A planner's coder follows a plan with its tools.
    fn edit_mode(&self, model: Option<&str>) -> EditMode {
        match (self.shared.profile.kind, self.shared.nodes.first()) {
            (CompositeKind::PlanExecute, _) | (_, None) => EditMode::Tools,
            (_, Some(node)) => node.agent.edit_mode(model),
        }
    }

    fn has_alternative(&self) -> bool {
        self.shared.profile.kind == CompositeKind::Fallback && self.shared.cooldowns.has_ready()
    }

    /// Every node must be able to read the prompt.
    fn context_window<'a>(&'a self, model: Option<&'a str>) -> BoxFuture<'a, Option<u64>> {
        Box::pin(async move {
            let nodes = self.shared.nodes.iter();
            let windows = join_all(nodes.map(|node| node.agent.context_window(model)));
            windows.await.into_iter().flatten().min()
        })
    }

    /// Starts no node session: the node is not chosen before the first prompt.
    fn new_session(&self, options: SessionOptions) -> BoxFuture<'_, Result<SessionId>> {
        Box::pin(async move {
            self.shared.check(&options)?;
            let id = uuid::Uuid::new_v4().to_string();
            let session = CompositeSession::new(options, self.shared.nodes.len());
            self.shared.sessions.add(&id, Arc::new(session))
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
            let session = self.shared.sessions.get(NAME, id)?;
            Ok(CompositeTurn::start(
                Arc::clone(&self.shared),
                session,
                prompt,
            ))
        })
    }

    fn cancel<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.shared.sessions.get(NAME, id)?.stop();
            Ok(())
        })
    }

    /// The cool-downs are shared: a node that is limited for one task is limited for all.
    fn scoped(&self) -> Option<Arc<dyn AgentBackend>> {
        let shared = Arc::new(self.shared.scoped());
        Some(Arc::new(Self { shared }))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let nodes = self.shared.nodes.iter();
        let closing = nodes.map(|node| node.agent.close());
        Box::pin(async { drop(join_all(closing).await) })
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
