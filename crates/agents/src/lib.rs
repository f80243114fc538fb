//! Agent backends: programs, ACP servers, models behind HTTP, and composites of other agents.
//!
//! A program is described by a profile, which is data, and a parser, which is a pure function from lines to
//! events. [`cli`] has both for each program, and the one driver that they share. [`invoke`] is the lower-level
//! call: one command, its output, its duration. [`model`] turns a model into an agent, over the one HTTP client
//! in [`http`]. [`composite`] combines several agents into one.
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
pub mod cli;
pub mod composite;
mod context;
pub mod direct;
pub mod http;
mod instructions;
pub mod invoke;
pub mod model;
mod network;
mod settings;
mod state_paths;
mod temp_files;
mod version;
pub mod warm;

pub use cli::{claude, codex, composer, cursor, qwen};
pub use context::AgentContext;
pub use network::{NetworkMode, NetworkSetting};
pub use settings::ProgramSettings;
pub use version::Version;
pub use warm::{WarmLimits, WarmSessionManager, WarmTurn};
