//! The command line and the configuration, and the crate that wires all other Windlass crates together.
//!
//! To build your own `windlass` with an additional backend, extend [`default_registry`] and pass the registry to
//! [`cli::main`]. See `examples/custom_backend.rs`.

mod agent_catalog;
pub mod cli;
pub mod config;
mod git_history;
mod git_settings;
mod model_bridge;
mod model_catalog;
mod person_agent;
mod proof_file;
mod registry;
pub mod settings;
mod task_file;
mod telemetry;
mod user_program;

pub use registry::{default_registry, local_registry};
