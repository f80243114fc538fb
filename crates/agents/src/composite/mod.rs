//! Agents made of other agents: a single node, a list of nodes with fallback, or a planner and a coder.
//!
//! ```text
//!                 ┌─ cooldown    (which nodes are cooling down, shared by all requests)
//! prompt ─► turn ─┼─ session     (each node's own session and the turns it missed)
//!                 └─ hold_buffer (holds a node's events until its output starts)
//! ```
//!
//! A [`Composite`] accesses its nodes only as [`AgentHandle`](windlass_core::AgentHandle)s, so a node can be a program,
//! an ACP agent, a model behind HTTP, or another composite. Each node that runs becomes a step of the turn's trace.
//! If every node is a [`CompletionModel`](crate::model::CompletionModel), the composite is one too.
//!
//! ```no_run
//! use windlass_agents::composite::{Composite, CompositeKind, CompositeProfile, Node};
//! # fn example(codex: windlass_core::AgentHandle, ollama: windlass_core::AgentHandle) -> windlass_core::Result<()> {
//! let profile = CompositeProfile::new(CompositeKind::Fallback);
//! let agent = Composite::new(profile, vec![Node::new("codex", codex), Node::new("ollama", ollama)])?;
//! let handle = agent.handle();
//! # Ok(())
//! # }
//! ```

mod backend;
mod completion;
mod cooldown;
mod hold_buffer;
mod plan;
mod profile;
mod session;
mod state;
mod turn;

pub use backend::Composite;
pub use profile::{CompositeKind, CompositeProfile, FallbackCause};
pub use state::Node;
