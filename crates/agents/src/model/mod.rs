//! Models behind HTTP as agents: Ollama, OpenAI, Anthropic, and every server that speaks as one of them does.
//!
//! ```text
//! prompt ─► agent ─► turn ─► request ─► mode ─► line ─► http
//!                     ▲ │                 │      │
//!        calls, kit ──┘ └── events ◄──────┴──────┘
//! ```
//!
//! A [`ModelAgent`] is the loop *answer, calls, results, next answer* around a model. What it may call is injected (a
//! [`Toolbox`]) or comes from the session's MCP servers. `mode` lets a model that has no
//! calls of its own make them in words; nobody else notices.
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
mod budget;
mod calls;
mod client;
mod completion;
mod execute;
pub(crate) mod failure;
mod kind;
mod mcp;
mod mode;
mod permission;
mod probe;
mod request;
mod session;
mod settings;
mod tool_set;
mod traced;
mod turn;

use std::path::Path;
use std::sync::Arc;

use windlass_core::{Result, Tool, Toolbox};

pub use agent::{ModelAgent, factory};
pub use budget::Prices;
pub(crate) use completion::with_completion_model;
pub use completion::{CompletionModel, completion_model};
pub use execute::{ExecSummary, execute, execute_in};
pub use kind::ModelKind;
pub use probe::probe;
pub use settings::{ModelSettings, ToolMode};
pub(crate) use traced::TracedResponse;

/// A toolbox with nothing in it, for a model that only talks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

impl Toolbox for NoTools {
    fn tools(&self, _root: &Path) -> Result<Vec<Arc<dyn Tool>>> {
        Ok(Vec::new())
    }
}
