//! Model APIs served: agents as models, and a model that says what a script says, or what a recording says.
//!
//! [`front`] is the first: whatever can answer, behind the APIs that every client speaks.
//!
//! An unmodified Codex or Claude Code that is pointed at a [`ScriptedModel`] runs offline, and does for real what the script's
//! intents say with its own tools. One [`script`] drives any agent: [`script::Intent`]s name a wish, and each request is answered
//! with a call of the tool that its agent offers for it. All five dialects of `windlass-wire` are spoken, streaming and not,
//! under any base path; what agents ask besides (lists of models, titles, token counts) is answered without using up a turn.
//!
//! The scripted model is served on loopback only and needs no key. It keeps nothing on disk and has no global state: any number of models can be
//! served by one process. `docs/testing-with-scripts.md` shows the format by example.

pub mod agent_api;
mod cassette;
mod error;
mod exchange_log;
mod intent;
mod model_list;
mod request_features;
mod respond;
mod response_writer;
pub mod script;
mod script_state;
mod scripted_model;
mod scripted_response;
mod send;
mod side;
mod workdir;

pub use agent_api::{
    AgentApi, AgentApiLimits, ModelCatalog, ModelInfo, ModelInfoKind, ModelLookupError,
    ServedModel, StoreTraceSink, TraceSink, error_response,
};
pub use error::GatewayError;
pub use exchange_log::{ExchangeOutcome, ScriptReport, ServedExchange};
pub use respond::BODY_BYTES;
pub use script::{Script, ScriptError};
pub use script_state::ExchangeCallback;
pub use scripted_model::{RunningModel, ScriptedModel};
pub use windlass_wire::{ErrorKind, ModelError};
