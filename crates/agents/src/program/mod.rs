//! What all agents that are programs share, whichever way they are reached: the records of the known programs,
//! finding and launching a program, its sessions and its processes.
//!
//! ```text
//! known (data) ─► find ─► launch ─► processes ─► sandbox
//!                             ▲          ▲
//!                      state_dirs      pool ◄── session
//! ```
//!
//! [`cli`](crate::cli) and [`acp`](crate::acp) each add a protocol. They do not depend on each other, except that
//! a profile selects a preset by `transport = "acp"`.

mod agent_program;
mod api_keys;
mod command_line;
pub(crate) mod deadline;
pub(crate) mod failure;
pub(crate) mod find;
pub(crate) mod instructions;
pub(crate) mod known;
pub(crate) mod launch;
pub(crate) mod login;
pub(crate) mod model_access;
pub(crate) mod pool;
pub(crate) mod processes;
mod resume;
pub(crate) mod session;
pub(crate) mod state_dirs;
pub(crate) mod temp_files;
pub(crate) mod template;
mod version;
pub(crate) mod version_cache;

pub use agent_program::{AgentProgram, DefaultModel, StatePaths, VersionProbe};
pub use command_line::{CommandLine, Endpoint, EndpointAuth};
pub use failure::ProcessEnd;
pub use find::Installation;
pub use login::Login;
pub use resume::{ResumeCommand, can_resume, resume_command};
pub use version::Version;
