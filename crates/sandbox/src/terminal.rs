//! Runs a program of the user on the user's terminal, such as an editor, outside the sandbox.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Runs a program with the terminal, environment and rights of this process, and these variables, and waits until it
/// ends.
///
/// For programs that the user chose only: nothing that an agent or a repository wrote may choose the program.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate is the one that starts processes"
)]
pub async fn run_on_terminal(
    program: impl Into<OsString>,
    args: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    dir: &Path,
) -> io::Result<ExitStatus> {
    let mut command = Command::new(program.into());
    command.args(args).envs(variables).current_dir(dir);
    let waiting = tokio::task::spawn_blocking(move || command.status());
    waiting.await.map_err(io::Error::other)?
}
