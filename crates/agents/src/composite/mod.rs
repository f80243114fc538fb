//! Agents made of other agents: one, several of which the next stands in for the last, or a planner and a coder.
//!
//! ```text
//!                 ┌─ cooling (who rests, shared by all requests)
//! prompt ─► turn ─┼─ seats   (each node's own session, what it has missed)
//!                 └─ hold    (nothing is shown of a node that another takes over from)
//! ```
//!
//! A [`Composite`] sees its nodes only as [`AgentHandle`](windlass_core::AgentHandle)s, so a node can be a program, an
//! ACP agent, a model behind HTTP, or a composite again. Each node that was asked becomes a step of the turn's trace.
//! Where every node answers whole conversations ([`Answers`](crate::model::Answers)), so does the composite.
//!
//! ```no_run
//! use windlass_agents::composite::{Composite, Kind, Node, Profile};
//! # fn example(codex: windlass_core::AgentHandle, ollama: windlass_core::AgentHandle) -> windlass_core::Result<()> {
//! let profile = Profile::new(Kind::Fallback);
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
mod sessions;
mod turn;

pub use backend::{Composite, Node};
pub use profile::{CompositeKind, CompositeProfile, FallbackCause};
