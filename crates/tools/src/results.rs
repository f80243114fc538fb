//! What tools give back.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::ToolOutput;
use windlass_workspace::paths::PathError;

/// What became of a deed on files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FSResult {
    /// Whether it was done.
    pub ok: bool,
    /// What was asked for, or what is in the way.
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

    /// A fault is told, after the name of the deed; an escape is not a result.
    pub(crate) fn from_path_error(deed: &str, error: PathError) -> Result<Self, PathError> {
        if error.is_escape() {
            return Err(error);
        }
        Ok(Self::failed(format!("{deed}: {error}")))
    }
}

/// What a command of a shell said and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellResult {
    /// Whether it ended by itself with code 0.
    pub ok: bool,
    /// Standard output, within its limit.
    pub stdout: String,
    /// Standard error, within its limit.
    pub stderr: String,
    /// The exit code: 124 when time ran out, 126 when it was blocked, 127 when there is no such program.
    pub code: i32,
}

/// What a run of Python said and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PyRunResult {
    /// Whether it ended by itself with code 0.
    pub ok: bool,
    /// Standard output, within its limit.
    pub stdout: String,
    /// Standard error, within its limit.
    pub stderr: String,
    /// The exit code: 2 for a mode that is none, 124 when time ran out.
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
        Self {
            success: result.ok,
            output: fields(&result),
            text: result.detail,
        }
    }
}

impl From<ShellResult> for ToolOutput {
    fn from(result: ShellResult) -> Self {
        Self {
            success: result.ok,
            text: to_model_text(&result.stdout, &result.stderr, result.code),
            output: fields(&result),
        }
    }
}

impl From<PyRunResult> for ToolOutput {
    fn from(result: PyRunResult) -> Self {
        Self {
            success: result.ok,
            text: to_model_text(&result.stdout, &result.stderr, result.code),
            output: fields(&result),
        }
    }
}

fn fields(result: &impl Serialize) -> Value {
    serde_json::to_value(result).unwrap_or(Value::Null)
}

/// Both outputs and the code, for a model to read. What is empty is left out.
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
    fn a_model_reads_what_was_said_and_how_it_ended() {
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
