//! Agents that are command-line programs: one shared driver, and a profile and a parser for each program.
//!
//! ```text
//! prompt ─► backend ─► turn ─► process ─► launch ─► sandbox
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
pub(crate) mod failure;
mod gate;
mod idle;
pub(crate) mod launch;
mod parser;
mod plain_text;
mod process;
mod profile;
pub(crate) mod program;
pub mod qwen;
mod run_context;
mod session_files;
mod sessions;
mod tokens;
pub mod transcript;
mod turn;
pub(crate) mod version_cache;

pub use backend::{CliBackend, factory, probe};
pub use gate::PermissionGate;
pub use parser::{InteractiveParser, Parsed, Parser, ProcessEnd, TurnRequest};
pub use profile::{CliProfile, CliStatePaths, IoMode, SessionNaming, TempFileKind, Transport};
pub use program::CliInstallation;
pub use run_context::{CommandLine, Endpoint, RunContext, SessionStart};
pub use tokens::RunningTotal;

/// The profiles of all known programs.
pub const PROFILES: &[&CliProfile] = &[
    &codex::PROFILE,
    &claude::PROFILE,
    &cursor::PROFILE,
    &qwen::PROFILE,
    &composer::PROFILE,
];
