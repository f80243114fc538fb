//! `python_run`: runs the project's tests, or Python code.

use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::Result;
use windlass_core::{ToolKind, ToolOutput};
use windlass_sandbox::{CommandSpec, Sandbox, Stdin};
use windlass_workspace::paths::Root;

use super::runner::{CommandLimits, CommandRunner};
use crate::handler::ToolHandler;
use crate::results::{PyRunResult, ShellResult};

/// Executes Python under either of its names. It is searched inside the sandbox, where a Python in the home
/// directory, which precedes the system's on many machines, is not visible.
macro_rules! become_python {
    () => {
        r#"for python in python python3; do
    command -v "$python" > /dev/null && exec "$python" "$@" < /dev/null
done
echo "python: not found in PATH, or hidden by the sandbox: install it, or add its directory to sandbox.readable" >&2
exit 127"#
    };
}

/// Python with the arguments of the script.
const WITH_ARGUMENTS: &str = become_python!();

/// Writes its stdin to a file in the private temporary directory, and runs Python on that file.
const FROM_FILE: &str = concat!(
    r#"cat > "$TMPDIR/snippet.py" || exit 1
set -- "$TMPDIR/snippet.py"
"#,
    become_python!()
);

/// The arguments of `python_run`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// "pytest" for the project's tests, "snippet" for the given code.
    mode: String,
    /// The code to run, for "snippet".
    code: Option<String>,
    /// The timeout in seconds. Omit it for two minutes.
    timeout_secs: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct PythonRun(pub(crate) Arc<CommandRunner>);

impl ToolHandler for PythonRun {
    const NAME: &'static str = "python_run";
    const DESCRIPTION: &'static str = "Run the workspace's tests with pytest, or Python code, \
        in the workspace directory. It cannot reach the network or write outside of the workspace.";
    const KIND: ToolKind = ToolKind::Execute;
    type Input = Input;

    fn run(&self, input: Input) -> BoxFuture<'_, Result<ToolOutput>> {
        Box::pin(async move {
            let Input {
                mode,
                code,
                timeout_secs,
            } = input;
            Ok(python(&self.0, &mode, code, timeout_secs).await.into())
        })
    }
}

/// Runs `python -m pytest -q` (mode `pytest`) or the code from a temporary file (mode `snippet`).
pub async fn python_run(
    sandbox: &Sandbox,
    root: &Root,
    mode: &str,
    code: Option<String>,
) -> PyRunResult {
    let runner = CommandRunner::new(
        Ok(sandbox.clone()),
        root.path(),
        windlass_core::DirAccess::Files,
        CommandLimits::default(),
        Vec::new(),
    );
    python(&runner, mode, code, None).await
}

async fn python(
    runner: &CommandRunner,
    mode: &str,
    code: Option<String>,
    seconds: Option<u64>,
) -> PyRunResult {
    let shell = runner.spec("sh", seconds);
    let spec: CommandSpec = match (mode, code) {
        ("pytest", _) => shell.args(["-c", WITH_ARGUMENTS, "sh", "-m", "pytest", "-q"]),
        ("snippet", Some(code)) => shell
            .args(["-c", FROM_FILE])
            // The snippet is in another directory, so Python needs the path of the project's modules.
            .env("PYTHONPATH", runner.dir())
            .stdin(Stdin::Bytes(code.into_bytes())),
        ("snippet", None) => return ShellResult::failed("snippet: code is required", 2).into(),
        _ => return ShellResult::failed(format!("unknown mode: {mode}"), 2).into(),
    };
    runner.run(vec![spec]).await.into()
}
