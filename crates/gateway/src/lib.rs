//! Agents served as models over OpenAI-, Anthropic- and Ollama-compatible endpoints.
//!
//! ```text
//! request ─► handlers ─► validate ─► ModelCatalog::find ─┬► relay: the response of a model as it is ───────────► client
//!                                                         └► job ─► native: messages and tools unchanged
//!                                                            │  └► text: one prompt, new session, empty directory
//! client ◄── response ◄── ResponseWriter ◄── events ◄────────┘
//! ```
//!
//! Every request is a separate turn; nothing is stored between requests. An agent that accepts only text gets
//! the conversation as one transcript; a model behind HTTP gets the messages and the caller's tools
//! unchanged. The job does not end with the connection: if the client disconnects, the turn is cancelled, and directory
//! and process are gone before the job ends. An agent's use of its own tools is not part of the response; the
//! trace contains it.
//!
//! This crate does not check tokens or listen on addresses (the `server` crate does), and does not look up
//! agents (see [`ModelCatalog`]).

mod answer;
mod api_caller;
mod client;
mod embeddings;
mod errors;
mod handlers;
mod job;
mod limits;
mod models;
mod native;
mod prompt;
mod relay;
mod request_dir;
mod response;
mod router;
mod state;
mod structured;
mod text;
mod trace;
mod translate;
mod turn;
mod validate;

pub use api_caller::ApiCaller;
pub use errors::error_response;
pub use limits::AgentApiLimits;
pub use models::{ModelCatalog, ModelInfo, ModelInfoKind, ModelLookupError, ServedModel};
pub use router::AgentApi;
pub use trace::TraceSink;
pub use windlass_wire::{ErrorKind, ModelError};
