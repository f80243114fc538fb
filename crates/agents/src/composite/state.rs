//! The state that all turns of one composite share.

use std::sync::Arc;

use windlass_core::{AgentHandle, Capabilities, Clock, Error, Result, SessionId, SessionOptions};

use super::cooldown::Cooldowns;
use super::session::CompositeSession;
use super::{CompositeKind, CompositeProfile};
use crate::session_table::SessionTable;

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

/// One configured composite: its nodes, their cool-downs and its sessions.
pub(super) struct CompositeState {
    pub(super) profile: CompositeProfile,
    pub(super) nodes: Vec<Node>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) cooldowns: Arc<Cooldowns>,
    pub(super) sessions: SessionTable<CompositeSession>,
}

impl CompositeState {
    /// Returns the same composite with its own nodes and without sessions.
    pub(super) fn scoped(&self) -> Self {
        let node = |node: &Node| Node::new(&node.name, node.agent.scoped());
        Self {
            profile: self.profile.clone(),
            nodes: self.nodes.iter().map(node).collect(),
            clock: Arc::clone(&self.clock),
            cooldowns: Arc::clone(&self.cooldowns),
            sessions: SessionTable::default(),
        }
    }

    /// Returns the capabilities that every node which may answer has.
    ///
    /// Of a planner and a coder only the coder answers. Usage and cost are reported only if both nodes report them.
    pub(super) fn capabilities(&self) -> Capabilities {
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
    pub(super) fn check(&self, options: &SessionOptions) -> Result<()> {
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

    pub(super) async fn load(&self, id: &SessionId, options: SessionOptions) -> Result<()> {
        if !self.capabilities().load_session {
            return Err(Error::unsupported(
                NAME,
                "resume a session: not every node can",
            ));
        }
        self.check(&options)?;
        if let Ok(known) = self.sessions.get(NAME, id) {
            let updated = Arc::new(known.with_options(options));
            return self.sessions.replace(id.clone(), updated);
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
        self.sessions.replace(id.clone(), Arc::new(session))
    }
}

/// Builds the error for an unknown session.
fn unknown(id: &SessionId) -> Error {
    Error::SessionNotFound {
        backend: NAME.to_owned(),
        session: id.clone(),
    }
}
