//! Tools that run programs.
//!
//! `shell_run` checks a command in two stages. The pre-check is fast: a command that is not in the list, or a
//! path that leaves the workspace, is *blocked* with an explanation before anything runs. It is a hint for
//! the model, not a security boundary: a program in the list can do whatever a program can do. The boundary
//! is enforced by the kernel: every command runs in the sandbox with the profile *tool*, and without a
//! sandbox nothing runs.
//!
//! Chains, pipes, redirections, loops and substitutions are allowed, because a model needs them. Each command
//! in them is checked against the list.

mod allowed_commands;
mod hint;
mod lexer;
mod python;
mod runner;
mod shell;

pub use allowed_commands::ALLOWED_COMMANDS;
pub use python::python_run;
pub use runner::CommandLimits;
pub use shell::shell_run;

pub(crate) use python::PythonRun;
pub(crate) use runner::CommandRunner;
pub(crate) use shell::ShellRun;
