//! Agents on the command line: one driver for all, and for each a profile and a parser.
//!
//! ```text
//! prompt ─► backend ─► turn ─► process ─► launch ─► sandbox
//!                        ▲        │
//!              events ───┴── parser (pure) ◄── lines
//! ```
//!
//! To add an agent, write its file here and add it to [`PROFILES`].

mod backend;
mod call;
pub mod claude;
pub mod codex;
pub mod composer;
pub mod cursor;
mod driver;
pub(crate) mod failure;
mod gate;
mod kept;
pub(crate) mod launch;
mod parking;
mod parser;
mod plain;
mod process;
mod profile;
pub(crate) mod program;
pub mod qwen;
mod sessions;
mod tokens;
pub mod transcript;
mod turn;
pub(crate) mod versions;

pub use backend::{CliBackend, factory, probe};
pub use call::{Call, Command, Endpoint, Start};
pub use gate::Gate;
pub use parser::{Dialog, Ended, Heard, Parser, Question};
pub use profile::{Door, Home, Naming, Paper, Profile, Transport};
pub use program::Found;
pub use tokens::Total;

/// Every agent there is a profile of.
pub const PROFILES: &[&Profile] = &[
    &codex::PROFILE,
    &claude::PROFILE,
    &cursor::PROFILE,
    &qwen::PROFILE,
    &composer::PROFILE,
];
