//! What agents and people are told, put together from files.

use std::fmt::Write as _;

use windlass_core::task::{Blocker, TestResult, TestStatus, WorkerKind};
use windlass_core::workspace::{Change, TaskContext};

use crate::template::{render, truncate_end, truncate_middle};

/// How much of the tests' output an agent is shown.
const MAX_OUTPUT_BYTES: usize = 16 << 10;
/// How many failing tests are named.
const MAX_CASES: usize = 20;
/// How much is said about each of them.
const MAX_CASE_BYTES: usize = 1 << 10;
/// How much of a diff is shown.
const MAX_DIFF_BYTES: usize = 32 << 10;

/// What an agent should know before it begins.
pub(crate) struct PromptContext {
    pub(crate) context: TaskContext,
    pub(crate) answers: Vec<Blocker>,
    /// What will be run to test the change; nothing, where the project has no tests.
    pub(crate) command: Option<Vec<String>>,
}

/// A file's text, for a model that cannot read it by itself.
pub(crate) struct FileExcerpt {
    pub(super) path: String,
    pub(super) text: String,
}

/// The instructions of a worker of this kind.
pub(super) fn instructions(kind: WorkerKind) -> &'static str {
    match kind {
        WorkerKind::Frontend => include_str!("../prompts/worker-frontend.md"),
        WorkerKind::Test => include_str!("../prompts/worker-test.md"),
        _ => include_str!("../prompts/worker-backend.md"),
    }
}

impl PromptContext {
    /// The prompt for an agent that edits by itself.
    pub(super) fn edit_prompt(&self) -> String {
        self.filled(include_str!("../prompts/edit.md"), &[])
    }

    /// The prompt for a model that gives the files back.
    pub(crate) fn generate_prompt(&self, files: &[FileExcerpt]) -> String {
        self.filled(include_str!("../prompts/generate.md"), files)
    }

    fn filled(&self, template: &str, files: &[FileExcerpt]) -> String {
        let task = &self.context.task;
        let verdict = match &self.command {
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
                ("places", &self.related_code()),
                ("answers", &self.answered_blockers()),
                ("verdict", &verdict),
                ("files", &contents(files)),
            ],
        )
    }

    fn issue(&self) -> String {
        match &self.context.issue_context {
            Some(issue) => format!(
                "## What it is part of\n\n{}\n\n{}",
                issue.title, issue.description
            ),
            None => String::new(),
        }
    }

    fn related_code(&self) -> String {
        let mut text = String::new();
        if !self.context.related_files.is_empty() {
            text.push_str("## Files that probably matter\n\n");
            for file in &self.context.related_files {
                let _ = writeln!(text, "- `{}` ({})", file.path, file.why);
            }
        }
        if !self.context.related_symbols.is_empty() {
            text.push_str("\n## Symbols that probably matter\n\n");
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

    /// Earlier questions that a person has answered.
    fn answered_blockers(&self) -> String {
        let mut text = String::new();
        for blocker in &self.answers {
            if let Some(answer) = &blocker.answer {
                let _ = writeln!(
                    text,
                    "**Asked:** {}\n\n**Answered:** {}\n",
                    blocker.question, answer.text
                );
            }
        }
        if text.is_empty() {
            return text;
        }
        format!("## What a person answered to earlier questions\n\n{text}")
    }
}

/// What the tests showed, for whoever mends it: their output, never their source.
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

/// A run of the tests in half a sentence.
pub(super) fn summary(result: &TestResult) -> String {
    let counts = &result.counts;
    let how = match result.status {
        TestStatus::Passed => "passed".to_owned(),
        TestStatus::Failed if counts.total > 0 => format!(
            "{} of {} failed{}",
            counts.failed + counts.errors,
            counts.total,
            failing_test_names(result)
        ),
        TestStatus::Failed => "failed".to_owned(),
        TestStatus::Error => "could not be run to their end".to_owned(),
        TestStatus::Timeout => format!(
            "took longer than they may, and were stopped after {} s",
            result.duration_ms / 1000
        ),
    };
    match result.exit_code {
        Some(code) if result.status != TestStatus::Passed => format!("{how}, exit code {code}"),
        _ => how,
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

/// The prompt for a round of correction by an agent that edits by itself.
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

/// The prompt for a round of correction by a model that gives the files back: it remembers nothing, so all is said again.
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

/// What an agent is told that says it is done and has changed nothing.
pub(super) fn no_change() -> String {
    include_str!("../prompts/nothing-changed.md").to_owned()
}

/// What a model is told whose files could not be put in place.
pub(super) fn apply_failed(why: &str) -> String {
    render(include_str!("../prompts/apply-failed.md"), &[("why", why)])
}

/// The question where nobody knows how the project is tested.
pub(super) fn untested_question() -> String {
    include_str!("../prompts/ask-tests.md").trim().to_owned()
}

/// The question where all rounds are used up.
pub(super) fn exhausted_question(rounds: u32, problem: &str, said: &str) -> String {
    render(
        include_str!("../prompts/rounds-exhausted.md"),
        &[
            ("rounds", &rounds.to_string()),
            ("problem", problem),
            ("said", &truncate_end(said.trim(), 1000)),
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

/// A fence that the text itself does not hold.
fn fence(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    fence
}
