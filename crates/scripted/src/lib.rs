//! A model that plays a script or a recording, so that real agents run offline.
//!
//! An unmodified Codex or Claude Code with a [`ScriptedModel`] as its model runs offline, and executes the
//! script's intents with its own tools. One [`script`] drives any agent: a [`script::Intent`] names an
//! action, and each request is answered with a call of the tool that the agent offers for it. All five
//! dialects of `windlass-wire` are supported, streaming and not, under any base path. Other requests of
//! agents (model lists, titles, token counts) are answered without using a turn.
//!
//! The scripted model is served on loopback only and needs no key. It stores nothing on disk and has no
//! global state: one process can serve any number of models. `docs/testing-with-scripts.md` shows the format
//! by example.

mod cassette;
mod error;
mod exchange_log;
mod intent;
mod limits;
mod request_features;
mod respond;
pub mod script;
mod script_state;
mod scripted_model;
mod scripted_response;
mod send;
mod side;
mod workdir;

pub use cassette::RecordedScriptError;
pub use error::ListenError;
pub use exchange_log::{ExchangeOutcome, ScriptReport, ServedExchange};
pub use limits::BODY_BYTES;
pub use script::{Script, ScriptError};
pub use script_state::ExchangeCallback;
pub use scripted_model::{RunningModel, ScriptedModel};
