//! The command line, the configuration, and the one place where all of Windlass is wired together.
//!
//! A program of your own can be `windlass` with one more backend: build a registry on
//! [`default_registry`] and hand it to [`cli::main`]. `examples/custom_backend.rs` does.

mod agent_catalog;
pub mod cli;
pub mod config;
mod git_history;
mod model_catalog;
mod registry;
pub mod settings;

pub use registry::default_registry;
