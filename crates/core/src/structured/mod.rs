//! Structured calls: an answer that is JSON and fits a schema, from any agent.

mod mode;
mod task;

pub use mode::{ApiSpec, SchemaMode, SchemaSetting, resolve_schema_mode, schema_mode_for};
pub use task::{AgentInvocation, StructuredAgentTask};
