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
#[cfg(test)]
mod captures;
mod connection;
mod launch;
mod minute;
mod outcome;
mod pool;
mod preset;
mod presets;
mod program;
mod question;
mod routes;
mod sessions;
mod setup;
mod tool;
mod turn;
mod updates;
mod wire;

pub use backend::{AcpBackend, factory, probe};
pub use preset::{Home, Outfit, Preset, Probe, Shims, UsageIn, Wish};
pub use presets::PRESETS;
pub use program::Found;
pub use sessions::Listed;

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().copied().find(|preset| preset.name == name)
}
