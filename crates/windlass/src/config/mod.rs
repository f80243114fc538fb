//! The configuration, merged from files, `.env`, the environment and flags.
//!
//! It depends only on [`Inputs`] and on the files that they lead to. It never changes the environment. Keys that need
//! trust are ignored in a file inside a repository until a person has trusted the file's content ([`trust`]). One
//! table, [`KEYS`], defines every key; its rows are the fields of [`Config`].
//!
//! ```
//! use windlass::config::{Config, Inputs};
//!
//! let inputs = Inputs::new(".", None).with_variable("WINDLASS_AGENT", "codex");
//! let config = Config::load(&inputs)?;
//! assert_eq!(config.default_agent.as_deref(), Some("codex"));
//! # Ok::<(), windlass::config::Error>(())
//! ```

mod agent;
mod alias;
mod dotenv;
mod env_file;
mod env_vars;
mod error;
mod inputs;
mod key;
mod key_table;
mod kind;
mod known_secrets;
mod load;
mod lookup;
mod names;
mod notice;
mod origin;
mod paths;
pub(crate) mod private_dir;
mod redact;
pub mod reference;
mod resolve;
mod setting;
mod source;
mod suggest;
mod toml_file;
pub mod trust;
mod trust_store;
mod value_type;
mod values;

pub use agent::AgentConfig;
pub use alias::Alias;
pub use error::{Error, Result};
pub use inputs::{Flag, Inputs};
pub use key::Key;
pub use key_table::{
    AgentKeys, AliasSettings, ChangeSettings, CommitKeys, CompositeSettings, GatewaySettings,
    GeneralSettings, KEYS, KeySpec, LandSettings, LimitSettings, NotifySettings, PolicySettings,
    PriceKeys, PublishSettings, ReviewSettings, RoutingSettings, RunSettings, SandboxSettings,
    ServeSettings, SpendSettings, StoreKeys, TaskSettings, TelemetrySettings, TestsSettings, Trust,
    WorkerSettings, WorkspaceSettings,
};
pub use kind::ValueKind;
pub use notice::Notice;
pub use origin::{Layer, Origin};
pub use paths::ConfigPaths;
pub use source::SourceFile;
pub use value_type::{
    AutoLand, FolderAccess, LandStrategy, SandboxMechanism, TestCommand, ToolCalls,
};
pub use values::{Config, ConfigEntry};
