//! The results of tools.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::ToolOutput;
use windlass_workspace::paths::PathError;

/// The result of a file operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FSResult {
    /// Whether the operation succeeded.
    pub ok: bool,
    /// The requested data, or the reason of the failure.
    pub detail: String,
}

impl FSResult {
    pub(crate) fn done(detail: impl Into<String>) -> Self {
        Self {
            ok: true,
            detail: detail.into(),
        }
    }

    pub(crate) fn failed(detail: impl Into<String>) -> Self {
        Self {
            ok: false,
            detail: detail.into(),
        }
    }

    /// Converts a path error to a failed result that starts with the name of the operation. A path that
    /// escapes the workspace stays an error.
    pub(crate) fn from_path_error(operation: &str, error: PathError) -> Result<Self, PathError> {
        if error.is_escape() {
            return Err(error);
        }
        Ok(Self::failed(format!("{operation}: {error}")))
    }
}

/// The output and exit code of a shell command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellResult {
    /// Whether it exited normally with code 0.
    pub ok: bool,
    /// The standard output, truncated to its limit.
    pub stdout: String,
    /// The standard error, truncated to its limit.
    pub stderr: String,
    /// The exit code: 124 after a timeout, 126 if the command was blocked, 127 if the program does not exist.
    pub code: i32,
}

/// The output and exit code of a Python run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PyRunResult {
    /// Whether it exited normally with code 0.
    pub ok: bool,
    /// The standard output, truncated to its limit.
    pub stdout: String,
    /// The standard error, truncated to its limit.
    pub stderr: String,
    /// The exit code: 2 for an unknown mode, 124 after a timeout.
    pub code: i32,
}

impl ShellResult {
    pub(crate) fn failed(stderr: impl Into<String>, code: i32) -> Self {
        Self {
            ok: false,
            stdout: String::new(),
            stderr: stderr.into(),
            code,
        }
    }
}

impl From<ShellResult> for PyRunResult {
    fn from(run: ShellResult) -> Self {
        Self {
            ok: run.ok,
            stdout: run.stdout,
            stderr: run.stderr,
            code: run.code,
        }
    }
}

impl From<FSResult> for ToolOutput {
    fn from(result: FSResult) -> Self {
        let output = fields(&result);
        Self::new(result.ok, result.detail, output)
    }
}

impl From<ShellResult> for ToolOutput {
    fn from(result: ShellResult) -> Self {
        let text = to_model_text(&result.stdout, &result.stderr, result.code);
        Self::new(result.ok, text, fields(&result))
    }
}

impl From<PyRunResult> for ToolOutput {
    fn from(result: PyRunResult) -> Self {
        let text = to_model_text(&result.stdout, &result.stderr, result.code);
        Self::new(result.ok, text, fields(&result))
    }
}

fn fields(result: &impl Serialize) -> Value {
    serde_json::to_value(result).unwrap_or(Value::Null)
}

/// Returns both outputs and the exit code as text for a model. Empty parts are omitted.
fn to_model_text(stdout: &str, stderr: &str, code: i32) -> String {
    let mut parts = Vec::new();
    if !stdout.is_empty() {
        parts.push(stdout.trim_end_matches('\n').to_owned());
    }
    if !stderr.is_empty() {
        let mark = if stdout.is_empty() { "" } else { "[stderr]\n" };
        parts.push(format!("{mark}{}", stderr.trim_end_matches('\n')));
    }
    if code != 0 || parts.is_empty() {
        parts.push(format!("[exit code {code}]"));
    }
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::to_model_text;

    #[test]
    fn model_text_has_output_and_exit_code() {
        assert_eq!(to_model_text("a\n", "", 0), "a");
        assert_eq!(to_model_text("", "", 0), "[exit code 0]");
        assert_eq!(
            to_model_text("a\n", "b\n", 1),
            "a\n[stderr]\nb\n[exit code 1]"
        );
        assert_eq!(
            to_model_text("", "blocked: rm", 126),
            "blocked: rm\n[exit code 126]"
        );
    }
}
