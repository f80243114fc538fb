//! Agent backends: programs, ACP servers, models behind HTTP, and composites of other agents.
//!
//! [`program`] has what all agent programs share, with one record for each known program. [`cli`] drives programs by
//! their command line: each adds a profile, which is data, and a parser, which is a pure function from lines to
//! events. [`acp`] speaks the Agent Client Protocol. [`model`] turns a model into an agent, over the one HTTP client in
//! [`http`]. [`composite`] combines several agents into one. [`warm`] keeps sessions and their agents between prompts. [`embed`] has
//! further interfaces for other programs.
//!
//! This crate does not start processes itself (that is `sandbox`), does not download agents, and does not
//! repair the order of an agent's events (that is the handle in `core`).
//!
//! ```no_run
//! use windlass_agents::{AgentContext, codex};
//! use windlass_core::{AgentRegistry, SessionOptions};
//! use windlass_sandbox::{Host, Sandbox};
//!
//! # async fn example() -> anyhow::Result<()> {
//! let sandbox = Sandbox::detect(Host::current()).await?;
//! let context = AgentContext::new(sandbox, "/home/me/.local/state/windlass");
//! let registry = AgentRegistry::new().register("codex", codex::factory(context));
//!
//! let agent = registry.create("codex", &serde_json::json!({ "model": "gpt-5.5" }))?;
//! let session = agent.new_session(SessionOptions::in_dir("/home/me/project")).await?;
//! let events = agent.prompt(&session, "What is this?").await?.collect().await;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "acp")]
pub mod acp;
pub mod bridge;
pub mod cli;
pub mod composite;
mod context;
pub mod direct;
pub mod embed;
pub mod http;
pub mod model;
mod network;
pub mod program;
mod session_table;
mod settings;
pub mod warm;

pub use cli::{claude, codex, composer, cursor, qwen};
pub use context::AgentContext;
pub use embed::invoke;
pub use program::Version;
pub use settings::ProgramSettings;
pub use warm::{WarmLimits, WarmPrompt, WarmSessionManager, WarmTurn};
