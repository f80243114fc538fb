//! Structured calls: an answer that is JSON and fits a schema, from any agent.
//!
//! The schema reaches the agent by one of the [modes](SchemaMode). Whatever comes back is found, read and held
//! against the schema by us, in every mode; what does not fit goes back to the same session with the places where
//! it does not, for a bounded number of rounds. Mending an answer means code fences, prose around it and trailing
//! commas, nothing else: whoever guesses more makes up answers.
//!
//! ```
//! use serde_json::json;
//! use windlass_core::structured::{self, CallOptions};
//! use windlass_core::{AgentHandle, SchemaMode, StructuredAgentTask};
//! use windlass_testkit::MockAgent;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), structured::Error> {
//! let mock = MockAgent::new()
//!     .on_prompt("How old").respond_text("Ada is 36.")
//!     .on_prompt("holds no JSON").respond_text("```json\n{\"age\": 36,}\n```");
//! let task = StructuredAgentTask {
//!     name: "age".to_owned(),
//!     prompt: "How old is Ada?".to_owned(),
//!     schema: Some(json!({ "type": "object", "required": ["age"] })),
//!     schema_mode: SchemaMode::Prompt,
//! };
//! let agent = AgentHandle::wrap(mock);
//! let answer = structured::call(&agent, None, task, CallOptions::default()).await?;
//! assert_eq!(answer.value, json!({ "age": 36 }));
//! assert_eq!(answer.rounds, 2);
//! # Ok(())
//! # }
//! ```

mod brackets;
mod call;
mod error;
mod extract;
mod json;
mod mode;
mod prompt;
mod relax;
mod response;
mod rounds;
mod schema;
mod task;
#[cfg(test)]
mod tests;
mod validate;

pub use call::{CallOptions, call};
pub use error::{Error, SchemaViolation, StructuredErrorKind};
pub use mode::{ApiSpec, SchemaMode, SchemaSetting, resolve_schema_mode, schema_mode_for};
pub use response::final_text;
pub use rounds::{StructuredAnswer, StructuredCall, ValidationPolicy};
pub use schema::{SCHEMA_BYTES, Validation};
pub use task::{AgentInvocation, StructuredAgentTask};
