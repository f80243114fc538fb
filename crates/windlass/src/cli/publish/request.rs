//! Opens a pull request with the configured command.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use windlass_core::escape_control;
use windlass_sandbox::ExitReason;
use windlass_tasks::{Proof, Push, Task};

use super::failure::{PushFailure, joined, without_credentials};
use super::git::branch;
use crate::cli::proof_lines::proof_lines;
use crate::user_program::{UserProgram, run_as_user};

/// Time limit of the command.
const DEADLINE: Duration = Duration::from_secs(120);
/// Maximum length of a title and of a body, in characters. One argument of a program can have 128 KiB.
const MAX_TITLE: usize = 200;
const MAX_BODY: usize = 30_000;

/// A pull request for a branch that was pushed.
pub(super) struct PullRequest<'a> {
    pub(super) task: &'a Task,
    pub(super) proof: Option<&'a Proof>,
    pub(super) push: &'a Push,
    /// The branch that it is for.
    pub(super) base: String,
}

impl PullRequest<'_> {
    /// Runs the command, and returns the address that it prints.
    pub(super) async fn open(
        &self,
        command: &[String],
        root: &Path,
    ) -> Result<String, PushFailure> {
        let program = command.first().cloned().unwrap_or_default();
        let not_started = |error: String| PushFailure::NotStarted {
            program: program.clone(),
            words: error,
        };
        let body = self.body();
        let file = body_file(&body).map_err(|error| not_started(error.to_string()))?;
        let values = [
            ("{title}", self.title()),
            ("{body_file}", file.path().to_string_lossy().into_owned()),
            ("{body}", body),
            ("{branch}", branch(&self.push.reference).to_owned()),
            ("{base}", self.base.clone()),
            ("{remote}", self.push.remote.clone()),
        ];
        let args = command.iter().skip(1);
        let user_program = UserProgram {
            program: OsString::from(&program),
            args: args.map(|word| fill(word, &values).into()).collect(),
            cwd: root,
            variables: &[
                ("GH_PROMPT_DISABLED", Some("1".into())),
                ("NO_PROMPT", Some("1".into())),
            ],
            input: Vec::new(),
            deadline: DEADLINE,
        };
        let output = run_as_user(user_program).await.map_err(not_started)?;
        if output.exit.reason == ExitReason::Deadline {
            let words = format!("it did not end within {} s", DEADLINE.as_secs());
            return Err(PushFailure::Command { program, words });
        }
        let (stdout, stderr) = (output.stdout.text(), output.stderr.text());
        if output.exit.success() {
            return Ok(address(&stdout).unwrap_or_else(|| joined(stdout.lines())));
        }
        // An earlier try opened it, and its reply was lost.
        if format!("{stdout}{stderr}").contains("already exists") {
            let found = address(&stderr).or_else(|| address(&stdout));
            return Ok(found.unwrap_or_else(|| joined(stderr.lines())));
        }
        let mut words = joined(stderr.lines().chain(stdout.lines()));
        if words.is_empty() {
            words = format!("it exited with {}", output.exit.code);
        }
        Err(PushFailure::Command {
            program,
            words: without_credentials(&words),
        })
    }

    fn title(&self) -> String {
        let line = self.task.title.lines().next().unwrap_or_default();
        escape_control(line.trim())
            .chars()
            .take(MAX_TITLE)
            .collect()
    }

    /// Describes the task and its proof, as Markdown.
    fn body(&self) -> String {
        let mut body = String::new();
        let text = self.task.description.trim();
        if !text.is_empty() {
            body.push_str(text);
            body.push_str("\n\n");
        }
        if let Some(output) = &self.task.output {
            body.push_str(output.trim());
            body.push_str("\n\n");
        }
        body.push_str("## Proof\n\n");
        match self.proof {
            Some(proof) => {
                for (name, value) in proof_lines(proof) {
                    body.push_str(&format!("- {name}: {}\n", value.replace('\n', " ")));
                }
            }
            None => body.push_str("None: the project has no tests.\n"),
        }
        let agent = self.task.agent.as_deref();
        let agent = agent
            .map(|agent| format!(", by {agent}"))
            .unwrap_or_default();
        body.push_str(&format!("\nWindlass task {}{agent}\n", self.task.id));
        body.replace('\0', "\u{FFFD}")
            .chars()
            .take(MAX_BODY)
            .collect()
    }
}

fn body_file(body: &str) -> std::io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix("windlass-request-")
        .suffix(".md")
        .tempfile()?;
    file.write_all(body.as_bytes())?;
    Ok(file)
}

/// Replaces the placeholders of an argument, each once: a value may contain what looks like a placeholder.
fn fill(word: &str, values: &[(&str, String)]) -> String {
    let mut filled = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

/// Returns the last address in a text.
fn address(text: &str) -> Option<String> {
    let words = text.split_whitespace();
    let mut addresses =
        words.filter(|word| word.starts_with("https://") || word.starts_with("http://"));
    addresses.next_back().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced_once() {
        let values = [
            ("{title}", "{body} {x".to_owned()),
            ("{body}", "B".to_owned()),
        ];
        assert_eq!(fill("--t={title}!", &values), "--t={body} {x!");
        assert_eq!(fill("{body}{title}", &values), "B{body} {x");
        assert_eq!(fill("{unknown} {", &values), "{unknown} {");
    }

    #[test]
    fn address_is_the_last_one() {
        let text = "Creating pull request for x into main\n\nhttps://example.org/pull/3\n";
        assert_eq!(address(text).as_deref(), Some("https://example.org/pull/3"));
        assert_eq!(address("none"), None);
    }
}
