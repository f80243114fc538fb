//! Models behind HTTP as agents: Ollama, OpenAI, Anthropic, and every server with a compatible API.
//!
//! ```text
//! prompt ─► agent ─► turn ─► request ─► mode ─► client ─► http
//!                     ▲ │                 │       │
//!   calls, tool_set ──┘ └── events ◄──────┴───────┘
//! ```
//!
//! A [`ModelAgent`] runs the loop *answer, calls, results, next answer* around a model. Its tools are injected (a
//! [`Toolbox`]) or provided by the session's MCP servers. For a model without native tool calls, `mode` converts calls
//! to and from text, so that the other modules only see native calls.
//!
//! ```no_run
//! use std::sync::Arc;
//! use windlass_agents::AgentContext;
//! use windlass_agents::model::{self, ModelKind, NoTools};
//! use windlass_core::{AgentRegistry, SessionOptions};
//!
//! # async fn example(context: AgentContext) -> windlass_core::Result<()> {
//! let make = model::factory(ModelKind::Ollama, context, Arc::new(NoTools));
//! let registry = AgentRegistry::new().register("ollama", make);
//! let agent = registry.create("ollama", &serde_json::json!({ "model": "qwen2.5-coder" }))?;
//! let done = model::execute(&agent, "Write a README.", SessionOptions::in_dir("/home/me/project")).await?;
//! println!("{} steps: {}", done.steps, done.last);
//! # Ok(())
//! # }
//! ```

mod agent;
mod answer;
mod budget;
mod calls;
mod client;
mod completion;
mod counted;
mod detect_window;
mod execute;
pub(crate) mod failure;
mod family;
mod kind;
mod masked;
mod masked_frames;
mod mcp;
mod mode;
mod permission;
mod prices;
mod probe;
mod relay;
mod repeat;
mod request;
mod session;
mod settings;
mod state;
mod tool_set;
mod traced;
mod turn;
mod window;

use std::path::Path;
use std::sync::Arc;

use windlass_core::{DirAccess, Result, Tool, Toolbox};

pub use agent::{ModelAgent, factory};
pub(crate) use completion::with_completion_model;
pub use completion::{
    CompletionContext, CompletionModel, EmbeddingCall, RelayCall, RelayedBody, completion_model,
};
pub use execute::{ExecSummary, execute, execute_in};
pub use family::ModelFit;
pub use kind::ModelKind;
pub use mode::{TranscriptTools, hosted_tool};
pub use prices::Prices;
pub use probe::probe;
pub use settings::{ModelSettings, ToolMode};
pub(crate) use traced::TracedResponse;

/// An empty toolbox, for a model without tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

impl Toolbox for NoTools {
    fn tools(&self, _root: &Path, _access: DirAccess) -> Result<Vec<Arc<dyn Tool>>> {
        Ok(Vec::new())
    }
}
