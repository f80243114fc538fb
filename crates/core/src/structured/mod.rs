//! Structured calls: JSON answers that match a schema, from any agent.
//!
//! The schema is passed to the agent in one of the [modes](SchemaMode). In every mode Windlass extracts,
//! parses and validates the answer. An invalid answer is sent back to the same session with its schema
//! violations, for a limited number of rounds. Only code fences, surrounding prose and trailing commas are
//! repaired: further guessing would invent answers.
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
//!     .on_prompt("contains no JSON").respond_text("```json\n{\"age\": 36,}\n```");
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
mod driver;
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
pub use driver::{Round, TurnFailure, TurnRunner};
pub use error::{Error, SchemaViolation, StructuredErrorKind};
pub use mode::{ApiSpec, SchemaMode, SchemaSetting, resolve_schema_mode, schema_mode_for};
pub use response::final_text;
pub use rounds::{StructuredAnswer, StructuredCall, ValidationPolicy};
pub use schema::{SCHEMA_BYTES, Validation};
pub use task::{AgentInvocation, InvocationBackend, InvocationFailure, StructuredAgentTask};
