//! `shell_run`: runs a shell command line.

use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::Result;
use windlass_core::{ToolKind, ToolOutput};
use windlass_sandbox::Sandbox;
use windlass_workspace::paths::Root;

use super::hint::find_blocked;
use super::runner::{CommandLimits, CommandRunner};
use crate::handler::ToolHandler;
use crate::results::ShellResult;

/// The kernel accepts no argument of 128 KiB or more.
const MAX_COMMAND_BYTES: usize = 128 << 10;

/// The arguments of `shell_run`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The command line. Pipes, chains and redirections work; there is no network and no input.
    cmd: String,
    /// The timeout in seconds. Omit it for two minutes.
    timeout_secs: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct ShellRun(pub(crate) Arc<CommandRunner>);

impl ToolHandler for ShellRun {
    const NAME: &'static str = "shell_run";
    const DESCRIPTION: &'static str = "Run a shell command in the workspace directory. \
        It cannot reach the network or write outside of the workspace.";
    const KIND: ToolKind = ToolKind::Execute;
    type Input = Input;

    fn run(&self, input: Input) -> BoxFuture<'_, Result<ToolOutput>> {
        Box::pin(async move {
            let (result, hint) = shell(&self.0, &input.cmd, input.timeout_secs).await;
            let mut output = ToolOutput::from(result);
            if let Some(hint) = hint {
                output.text = format!("{}\n({hint})", output.text);
            }
            Ok(output)
        })
    }
}

/// Runs a command line in a directory, in the sandbox.
///
/// A command that is not allowed returns `blocked: …` and code 126, and nothing is run.
pub async fn shell_run(sandbox: &Sandbox, root: &Root, cmd: &str) -> ShellResult {
    let runner = CommandRunner::new(
        Ok(sandbox.clone()),
        root.path(),
        windlass_core::DirAccess::Files,
        CommandLimits::default(),
        Vec::new(),
    );
    shell(&runner, cmd, None).await.0
}

/// Returns the result, and the reason if the command was blocked.
async fn shell(
    runner: &CommandRunner,
    cmd: &str,
    seconds: Option<u64>,
) -> (ShellResult, Option<&'static str>) {
    if cmd.trim().is_empty() {
        return (ShellResult::failed("the command is empty", 2), None);
    }
    if cmd.contains('\0') {
        return (
            ShellResult::failed("the command contains a NUL byte", 2),
            None,
        );
    }
    if cmd.len() >= MAX_COMMAND_BYTES {
        let message =
            format!("the command is longer than {MAX_COMMAND_BYTES} bytes: write it to a file");
        return (ShellResult::failed(message, 2), None);
    }
    if let Some(blocked) = find_blocked(cmd, &runner.allowed) {
        let message = format!("blocked: {}", blocked.command);
        return (ShellResult::failed(message, 126), Some(blocked.why));
    }
    // Models write for bash. Every machine has at least `sh`.
    let choices = ["bash", "sh"].map(|shell| runner.spec(shell, seconds).args(["-c", cmd]));
    (runner.run(choices.into()).await, None)
}
