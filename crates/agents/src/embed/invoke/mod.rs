//! One-shot invocations: one command, its output, its duration. The output is neither parsed nor checked.
//!
//! The caller chooses the error type: a planner gets [`PlanningError`]s, a coder [`CodingError`]s.
//!
//! A backend is loaded by reference from a registry that exports it
//! ([`load_invocation_backend`](windlass_core::AgentRegistry::load_invocation_backend)); `windlass::local_registry` exports
//! both as `windlass:CodexCliBackend` and `windlass:CursorCliBackend`.
//!
//! ```no_run
//! use windlass_agents::invoke::{CodexCliBackend, PlanningError};
//! # use windlass_agents::AgentContext;
//! # use windlass_core::{SchemaMode, StructuredAgentTask};
//!
//! # async fn example(context: AgentContext, task: StructuredAgentTask) -> Result<(), PlanningError> {
//! let codex = CodexCliBackend::new(context).full_auto(true).errors_as::<PlanningError>();
//! let invocation = codex.run(&task, "~/project").await?;
//! assert_eq!(invocation.command[..2], ["codex", "exec"]);
//! # Ok(())
//! # }
//! ```

mod codex;
mod cursor;
mod error;
mod run;
mod workdir;

pub use codex::CodexCliBackend;
pub use cursor::{CURSOR_MODEL, CursorCliBackend, cursor_backend_from_settings};
pub use error::{CodingError, InvocationError, PlanningError};
pub use workdir::validate_workdir;
