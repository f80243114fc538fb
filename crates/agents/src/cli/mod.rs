//! Agents that are command-line programs: one shared driver, and a profile and a parser for each program.
//!
//! ```text
//! prompt ─► backend ─► turn ─► driver ─► process ─► sandbox
//!                        ▲        │
//!              events ───┴── parser (pure) ◄── lines
//! ```
//!
//! To add an agent, write its file here and add it to [`PROFILES`].

mod backend;
pub mod claude;
pub mod codex;
pub mod composer;
pub mod cursor;
mod driver;
mod gate;
pub(crate) mod installation;
mod parser;
mod plain_text;
mod process;
mod profile;
pub mod qwen;
mod run_context;
mod schema_override;
mod session;
mod session_files;
mod tokens;
pub mod transcript;
mod turn;

pub use backend::{CliBackend, factory, find_program, probe};
pub use gate::PermissionGate;
pub use parser::{InteractiveParser, Parsed, Parser, TurnRequest};
pub use profile::{CliProfile, IoMode, SessionNaming, TempFileKind, Transport};
pub use run_context::{RunContext, SessionStart};
pub use tokens::RunningTotal;

pub use crate::program::ProcessEnd;

/// The profiles of all known programs.
pub const PROFILES: &[&CliProfile] = &[
    &codex::PROFILE,
    &claude::PROFILE,
    &cursor::PROFILE,
    &qwen::PROFILE,
    &composer::PROFILE,
];

/// Returns the profile of a backend. That of `direct` is Claude's.
pub fn profile(backend: &str) -> Option<&'static CliProfile> {
    let is_direct = backend == crate::direct::NAME;
    let name = if is_direct {
        claude::PROFILE.name()
    } else {
        backend
    };
    PROFILES
        .iter()
        .copied()
        .find(|profile| profile.name() == name)
}
