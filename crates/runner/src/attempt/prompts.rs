//! Builds prompts for agents and questions for people from templates.

use std::fmt::Write as _;

use windlass_tasks::{Blocker, Change, TaskContext, TestResult, TestStatus, WorkerKind};

use crate::template::{render, truncate_end, truncate_middle};

/// Maximum size of the test output in a prompt.
const MAX_OUTPUT_BYTES: usize = 16 << 10;
/// Maximum number of failing tests in a prompt.
const MAX_CASES: usize = 20;
/// Maximum size of the message of each failing test.
const MAX_CASE_BYTES: usize = 1 << 10;
/// Maximum size of a diff in a prompt.
const MAX_DIFF_BYTES: usize = 32 << 10;

/// The context for prompts.
pub(crate) struct PromptContext {
    pub(crate) context: TaskContext,
    pub(crate) answers: Vec<Blocker>,
    /// The test command. `None` if the project has no tests.
    pub(crate) command: Option<Vec<String>>,
}

/// The text of a file, for a model without tools.
pub(crate) struct FileExcerpt {
    pub(super) path: String,
    pub(super) text: String,
}

/// Returns the instructions for this kind of worker.
pub(super) fn instructions(kind: WorkerKind) -> &'static str {
    match kind {
        WorkerKind::Frontend => include_str!("../prompts/worker-frontend.md"),
        WorkerKind::Test => include_str!("../prompts/worker-test.md"),
        _ => include_str!("../prompts/worker-backend.md"),
    }
}

impl PromptContext {
    /// Returns the prompt for an agent with tools.
    pub(super) fn edit_prompt(&self) -> String {
        self.render(include_str!("../prompts/edit.md"), &[])
    }

    /// Returns the prompt for a model that returns complete files.
    pub(crate) fn generate_prompt(&self, files: &[FileExcerpt]) -> String {
        self.render(include_str!("../prompts/generate.md"), files)
    }

    fn render(&self, template: &str, files: &[FileExcerpt]) -> String {
        let task = &self.context.task;
        let verification = match &self.command {
            Some(command) => render(
                include_str!("../prompts/verified-by-tests.md"),
                &[("command", &command.join(" "))],
            ),
            None => include_str!("../prompts/unverified.md").to_owned(),
        };
        render(
            template,
            &[
                ("instructions", instructions(task.kind)),
                ("title", &task.title),
                ("description", &task.description),
                ("issue", &self.issue()),
                ("related_code", &self.related_code()),
                ("answers", &self.answered_blockers()),
                ("verification", &verification),
                ("files", &contents(files)),
            ],
        )
    }

    fn issue(&self) -> String {
        match &self.context.issue_context {
            Some(issue) => format!(
                "## Parent issue\n\n{}\n\n{}",
                issue.title, issue.description
            ),
            None => String::new(),
        }
    }

    fn related_code(&self) -> String {
        let mut text = String::new();
        if !self.context.related_files.is_empty() {
            text.push_str("## Files that are probably relevant\n\n");
            for file in &self.context.related_files {
                let _ = writeln!(text, "- `{}` ({})", file.path, file.why);
            }
        }
        if !self.context.related_symbols.is_empty() {
            text.push_str("\n## Symbols that are probably relevant\n\n");
            for symbol in &self.context.related_symbols {
                let _ = writeln!(
                    text,
                    "- {} `{}` at `{}:{}`",
                    symbol.kind, symbol.name, symbol.path, symbol.line
                );
            }
        }
        text
    }

    /// Returns earlier questions with their answers.
    fn answered_blockers(&self) -> String {
        let mut text = String::new();
        for blocker in &self.answers {
            if let Some(answer) = &blocker.answer {
                let _ = writeln!(
                    text,
                    "**Question:** {}\n\n**Answer:** {}\n",
                    blocker.question, answer.text
                );
            }
        }
        if text.is_empty() {
            return text;
        }
        format!("## Answers to earlier questions\n\n{text}")
    }
}

/// Describes the test failures for the agent: the output of the tests, never their source.
pub(super) fn failure_report(result: &TestResult) -> String {
    let mut cases = String::new();
    for case in result.failures.iter().take(MAX_CASES) {
        let _ = writeln!(
            cases,
            "- {}: {}",
            case.name,
            truncate_end(case.message.trim(), MAX_CASE_BYTES)
        );
    }
    render(
        include_str!("../prompts/failures.md"),
        &[
            ("command", &result.command.join(" ")),
            ("summary", &summary(result)),
            ("cases", &cases),
            (
                "output",
                &truncate_middle(result.output.trim(), MAX_OUTPUT_BYTES),
            ),
        ],
    )
}

/// Summarizes a test run.
pub(super) fn summary(result: &TestResult) -> String {
    let counts = &result.counts;
    let status = match result.status {
        TestStatus::Passed => "passed".to_owned(),
        TestStatus::Failed if counts.total > 0 => format!(
            "{} of {} failed{}",
            counts.failed + counts.errors,
            counts.total,
            failing_test_names(result)
        ),
        TestStatus::Failed => "failed".to_owned(),
        TestStatus::Error => "did not run to the end".to_owned(),
        TestStatus::Timeout => format!("timed out after {} s", result.duration_ms / 1000),
    };
    match result.exit_code {
        Some(code) if result.status != TestStatus::Passed => format!("{status}, exit code {code}"),
        _ => status,
    }
}

fn failing_test_names(result: &TestResult) -> String {
    let names: Vec<&str> = result
        .failures
        .iter()
        .take(3)
        .map(|case| case.name.as_str())
        .collect();
    match names.len() {
        0 => String::new(),
        _ => format!(" ({})", names.join(", ")),
    }
}

/// Returns the correction prompt for an agent with tools.
pub(super) fn correction(round: u32, rounds: u32, problem: &str) -> String {
    render(
        include_str!("../prompts/correct.md"),
        &[
            ("round", &round.to_string()),
            ("rounds", &rounds.to_string()),
            ("problem", problem),
        ],
    )
}

/// Returns the correction prompt for a model that returns complete files. The model has no memory, so the
/// prompt repeats everything.
pub(super) fn regeneration(first: &str, change: &Change, correction: &str) -> String {
    let diff = match change.diff.as_str() {
        "" => "(nothing)".to_owned(),
        diff => truncate_middle(diff, MAX_DIFF_BYTES),
    };
    render(
        include_str!("../prompts/correct-generated.md"),
        &[("task", first), ("diff", &diff), ("correction", correction)],
    )
}

/// Returns the correction text for an agent that finished without a change.
pub(super) fn no_change() -> String {
    include_str!("../prompts/nothing-changed.md").to_owned()
}

/// Returns the correction text for a model whose files could not be applied.
pub(super) fn apply_failed(why: &str) -> String {
    render(include_str!("../prompts/apply-failed.md"), &[("why", why)])
}

/// Returns the question for a project without a known test command.
pub(super) fn untested_question() -> String {
    include_str!("../prompts/ask-tests.md").trim().to_owned()
}

/// Returns the question after all correction rounds are exhausted.
pub(super) fn exhausted_question(rounds: u32, problem: &str, final_message: &str) -> String {
    render(
        include_str!("../prompts/rounds-exhausted.md"),
        &[
            ("rounds", &rounds.to_string()),
            ("problem", problem),
            ("final_message", &truncate_end(final_message.trim(), 1000)),
        ],
    )
}

fn contents(files: &[FileExcerpt]) -> String {
    let mut text = String::new();
    for file in files {
        let fence = fence(&file.text);
        let _ = writeln!(
            text,
            "`{}`:\n{fence}\n{}\n{fence}\n",
            file.path,
            file.text.trim_end()
        );
    }
    text
}

/// Returns a code fence that does not occur in the text.
fn fence(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    fence
}
