//! Agents that speak the Agent Client Protocol (ACP): any agent by its command, known ones by name.
//!
//! ```text
//! prompt ─► backend ─► pool ─► connection ─► stdio ─► sandbox
//!              │                   │           │
//!            turn ◄── queue ◄── router ◄── lines (bounded)
//!              ▼
//!           updates (pure) ─► events
//! ```
//!
//! The protocol's own crate pairs requests with responses. Below it, `stdio.rs` bounds every line, skips lines
//! that are not messages, and delivers a turn's notifications before the crate sees the response that ends the
//! turn. Where an agent deviates from the protocol, its preset in [`PRESETS`] describes that as data. An agent without
//! a preset needs no code:
//!
//! ```toml
//! [agents.mine]
//! backend = "acp"
//! command = ["my-agent", "--acp"]
//! ```
//!
//! One process serves all sessions of one scope with the same working directory, and ends with that scope. The client
//! offers the agent neither files nor terminals: an agent runs in its own sandbox and accesses them directly.

mod agent;
mod backend;
mod connection;
#[cfg(test)]
mod fixture_tests;
mod installation;
mod outcome;
#[cfg(test)]
mod outcome_tests;
mod permission;
mod preset;
mod presets;
mod recognize;
mod resume_guard;
mod router;
mod session;
mod session_config;
mod stdio;
mod tool;
mod turn;
mod updates;

pub use backend::{AcpBackend, factory, find_program, probe};
pub use preset::{LaunchConfig, LaunchContext, Preset, Quirks, UsageSource};
pub use presets::PRESETS;
pub use session::SessionInfo;

/// Returns the preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().copied().find(|preset| preset.name() == name)
}
