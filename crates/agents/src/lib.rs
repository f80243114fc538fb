//! Every way to reach an agent: as a program, or as a model behind HTTP.
//!
//! An agent that is a program is a profile, which is data, and a parser, which is a pure function from lines to events;
//! [`cli`] holds both for each agent, and the one driver that they share. [`invoke`] is the plain call underneath: one
//! command, its output, its duration. [`model`] makes an agent of a model, over the one HTTP client in [`http`].
//! [`composite`] makes one agent of several.
//!
//! What it does not do: it starts no process itself (that is `sandbox`), downloads no agent, and does not repair what
//! an agent gets wrong about the order of events (that is the handle in `core`).
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
mod settings;
mod state_paths;
mod temp_files;
mod version;
pub mod warm;

pub use cli::{claude, codex, composer, cursor, qwen};
pub use context::AgentContext;
pub use settings::ProgramSettings;
pub use version::Version;
pub use warm::{WarmLimits, WarmSessionManager, WarmTurn};
