//! The configuration: files, `.env`, environment and flags, laid over each other.
//!
//! It is a function of [`Inputs`] and of the files that they lead to. It never changes the environment, and takes
//! nothing that matters from a file inside a repository before a person has trusted that file's content
//! ([`trust`]). One table, [`KEYS`], says everything about every key.
//!
//! ```
//! use windlass::config::{Config, Inputs};
//!
//! let inputs = Inputs::new(".", None).with_variable("WINDLASS_AGENT", "codex");
//! let config = Config::load(&inputs)?;
//! assert_eq!(config.default_agent(), Some("codex"));
//! # Ok::<(), windlass::config::Error>(())
//! ```

mod agent;
mod alias;
mod document;
mod dotenv;
mod env_file;
mod error;
mod inputs;
mod key;
mod kind;
mod known;
mod load;
mod lookup;
mod names;
mod nearest;
mod notice;
mod origin;
mod places;
pub(crate) mod private;
pub mod reference;
mod setting;
mod show;
mod source;
pub mod trust;
mod values;
mod variables;

pub use agent::AgentConfig;
pub use alias::Alias;
pub use error::{Error, Result};
pub use inputs::{Flag, Inputs};
pub use key::Key;
pub use kind::Kind;
pub use known::{KEYS, Known};
pub use notice::Notice;
pub use origin::{Layer, Origin};
pub use places::Places;
pub use source::Source;
pub use values::{Config, Entry};
