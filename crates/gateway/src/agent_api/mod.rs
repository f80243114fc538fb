//! Agents served as models: the OpenAI, Anthropic and Ollama surfaces over whatever can answer.
//!
//! ```text
//! request ─► receive ─► check ─► Models::find ─► job ─► native: messages and tools as they are
//!                                                 │  └► text: one prompt in a fresh session, in an own empty folder
//! client ◄── send ◄── scribe ◄── events ◄─────────┘
//! ```
//!
//! Every request is a turn of its own: nothing is kept between two of them. An agent that only takes text is told the
//! conversation as one transcript; a model behind HTTP gets the messages and the caller's tools as they are. The job
//! outlives the client: one that goes away has the turn cancelled, and folder and process are gone before the job is.
//! What an agent does with tools of its own is not the caller's business and not in the answer; the trace tells of it.
//!
//! What it does not do: it knows no token and no address to listen on (that is `server`), and it finds nobody by itself
//! (that is [`Models`]).

mod client;
mod errors;
mod handlers;
mod job;
mod limits;
mod models;
mod native;
mod prompt;
mod request_dir;
mod response;
mod router;
mod structured;
mod text;
mod trace;
mod translate;
mod turn;
mod validate;

pub use errors::error_response;
pub use limits::AgentApiLimits;
pub use models::{ModelCatalog, ModelInfo, ModelInfoKind, ModelLookupError, ServedModel};
pub use router::AgentApi;
pub use trace::{StoreTraceSink, TraceSink};
