//! `shell_run`: a command as one would type it.

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

/// The kernel takes no argument of 128 KiB or more.
const TEXT_BYTES: usize = 128 << 10;

/// What to run.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The command line. Pipes, chains and redirections work; there is no network and no input.
    cmd: String,
    /// How many seconds it may take. Leave out for two minutes.
    timeout_secs: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct ShellRun(pub(crate) Arc<CommandRunner>);

impl ToolHandler for ShellRun {
    const NAME: &'static str = "shell_run";
    const DESCRIPTION: &'static str = "Run a shell command in the workspace's folder. \
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

/// Runs a command line in a folder, behind the sandbox.
///
/// A command that is not on the list is answered by `blocked: …` and code 126, and nothing is run.
pub async fn shell_run(sandbox: &Sandbox, root: &Root, cmd: &str) -> ShellResult {
    let runner = CommandRunner::new(
        Ok(sandbox.clone()),
        root.path(),
        CommandLimits::default(),
        Vec::new(),
    );
    shell(&runner, cmd, None).await.0
}

/// The result, and why it is what it is when nothing was run.
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
    if cmd.len() >= TEXT_BYTES {
        let said = format!("the command is longer than {TEXT_BYTES} bytes: write it to a file");
        return (ShellResult::failed(said, 2), None);
    }
    if let Some(blocked) = find_blocked(cmd, &runner.allowed) {
        let said = format!("blocked: {}", blocked.command);
        return (ShellResult::failed(said, 126), Some(blocked.why));
    }
    // Models write for bash; every machine has at least the other.
    let choices = ["bash", "sh"].map(|shell| runner.spec(shell, seconds).args(["-c", cmd]));
    (runner.run(choices.into()).await, None)
}
