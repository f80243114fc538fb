//! Tools that run programs.
//!
//! `shell_run` answers twice. The first answer is friendly and quick: a command that is not on the list,
//! or a path that steps out of the workspace, is *blocked* with a sentence, before anything runs. It is a
//! hint to a model and no wall: a program that is on the list can do whatever a program can do. The wall
//! is the kernel's: every command runs behind the sandbox in its profile *tool*, and nothing runs where
//! there is no sandbox.
//!
//! So chains, pipes, redirections, loops and substitutions are allowed, since a model needs them; each
//! command in them is held against the list.

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
