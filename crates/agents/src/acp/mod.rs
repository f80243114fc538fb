//! Agents that speak the Agent Client Protocol: any of them by its command, the known ones by name.
//!
//! ```text
//! prompt ─► backend ─► pool ─► connection ─► wire ─► sandbox
//!              │                   │           │
//!            turn ◄── inbox ◄── routes ◄── lines (bounded)
//!              ▼
//!           updates (pure) ─► events
//! ```
//!
//! The protocol's own crate pairs requests with answers. Beneath it lies our wire (`wire.rs`), which bounds every line, passes over
//! what is no message, and hands a turn its news before the crate sees the turn's answer. What an agent does otherwise than
//! the others stands as data in [`PRESETS`]; an agent that is not there needs no code:
//!
//! ```toml
//! [agents.mine]
//! backend = "acp"
//! command = ["my-agent", "--acp"]
//! ```
//!
//! One process serves all sessions that work in the same folder, and ends with the last handle. Neither files nor terminals
//! are offered to it: an agent has walls of its own, and what it does inside them it does itself.

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

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().copied().find(|preset| preset.name == name)
}
