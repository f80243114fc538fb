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
//! turn. Where an agent deviates from the protocol, its preset in [`PRESETS`] says so as data. An agent without
//! a preset needs no code:
//!
//! ```toml
//! [agents.mine]
//! backend = "acp"
//! command = ["my-agent", "--acp"]
//! ```
//!
//! One process serves all sessions with the same working directory, and ends with the last handle. The client
//! offers the agent neither files nor terminals: an agent runs in its own sandbox and accesses them directly.

mod agent;
mod backend;
mod connection;
#[cfg(test)]
mod fixture_tests;
mod launch;
mod outcome;
mod permission;
mod pool;
mod preset;
mod presets;
mod program;
mod resume_guard;
mod router;
mod session_config;
mod sessions;
mod stdio;
mod tool;
mod turn;
mod updates;

pub use backend::{AcpBackend, factory, probe};
pub use preset::{
    AcpStatePaths, LaunchConfig, LaunchContext, Preset, Quirks, UsageSource, VersionProbe,
};
pub use presets::PRESETS;
pub use program::AcpInstallation;
pub use sessions::SessionInfo;

/// Returns the preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().copied().find(|preset| preset.name == name)
}
