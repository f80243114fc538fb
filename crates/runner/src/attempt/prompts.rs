//! Builds prompts for agents and questions for people from templates.

use std::fmt::Write as _;

use windlass_tasks::{
    Blocker, Change, ConflictingFile, Landing, Review, TaskContext, TestResult, TestStatus,
    WorkerKind,
};

use super::landing_prompt::not_landed_section;
use super::review_prompt::review_section;
use crate::template::{fence, render, truncate_end, truncate_middle};

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
    /// The tests of the base. `None` if the project has no tests.
    pub(crate) baseline: Option<TestResult>,
    /// The tests that the task is about.
    pub(crate) named_tests: Vec<String>,
    /// The files have the change of an earlier attempt.
    pub(crate) has_earlier_change: bool,
    /// The landing of the earlier attempt's change, if it was returned.
    pub(crate) not_landed: Option<Landing>,
    /// The reviews that request changes, and comments on the same version.
    pub(crate) reviews: Vec<Review>,
    /// The note that every agent of the project receives, as a section.
    pub(crate) note: String,
    /// Messages of people to the agents of this task, as a section.
    pub(crate) messages: String,
    /// Why an agent must bring an outdated task up to date.
    pub(crate) outdated: Option<String>,
}

/// Returns the conflicting files with both sides.
pub(super) fn conflict_text(files: &[ConflictingFile]) -> String {
    let mut text = String::new();
    for ConflictingFile { path, lines } in files {
        let _ = if lines.is_empty() {
            writeln!(
                text,
                "`{path}`: one side deleted or renamed it, or it is not text.\n"
            )
        } else {
            writeln!(text, "`{path}`:\n\n````\n{lines}````\n")
        };
    }
    text
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
        let verification = self.verification();
        let review = review_section(&self.reviews, self.has_earlier_change);
        let has_change = self.has_earlier_change;
        let not_landed = self.not_landed.as_ref();
        let not_landed = not_landed.map(|landing| not_landed_section(landing, has_change));
        let outdated = self.outdated.as_ref().map(|state| {
            let template = include_str!("../prompts/outdated.md");
            render(template, &[("state", state)])
        });
        let earlier = match not_landed.or(outdated) {
            Some(text) => text,
            None if self.has_earlier_change && review.is_empty() => {
                include_str!("../prompts/earlier-change.md").to_owned()
            }
            None => String::new(),
        };
        render(
            template,
            &[
                ("earlier", earlier.trim_end()),
                ("review", &review),
                ("note", &self.note),
                ("messages", &self.messages),
                ("instructions", instructions(task.kind)),
                ("title", &task.title),
                ("description", &task.description),
                ("issue", &self.issue()),
                ("related_code", &self.related_code()),
                ("answers", &self.answered_blockers()),
                ("verification", &verification),
                ("files", &contents(files)),
                ("failures", &self.failures()),
            ],
        )
    }

    /// Returns the prompt for an agent that remembers the task, with the comments of the reviewers.
    pub(super) fn review_prompt(&self) -> String {
        let review = review_section(&self.reviews, self.has_earlier_change);
        render(
            include_str!("../prompts/review-resumed.md"),
            &[("review", &review), ("verification", &self.verification())],
        )
    }

    /// Returns the tests that fail before the change, for a model that cannot run them.
    fn failures(&self) -> String {
        let failing = self
            .baseline
            .as_ref()
            .map(|baseline| cases(baseline, MAX_CASES));
        match failing.filter(|cases| !cases.is_empty()) {
            Some(cases) => format!("# Tests that fail now\n\n{cases}"),
            None => String::new(),
        }
    }

    /// Describes how the change will be tested, and what failed before it.
    fn verification(&self) -> String {
        let Some(baseline) = &self.baseline else {
            return include_str!("../prompts/unverified.md").to_owned();
        };
        let mut text = render(
            include_str!("../prompts/verified-by-tests.md"),
            &[("command", &baseline.command.join(" "))],
        );
        if !self.named_tests.is_empty() {
            let names = self.named_tests.join(", ");
            let _ = write!(text, " These tests must pass: {names}.");
        }
        if baseline.status != TestStatus::Passed {
            let _ = write!(text, " Before your change: {}.", summary(baseline));
        }
        text
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
pub(super) fn failure_report(result: &TestResult, reasons: &[String]) -> String {
    render(
        include_str!("../prompts/failures.md"),
        &[
            ("command", &result.command.join(" ")),
            ("summary", &failure_summary(result, reasons)),
            ("cases", &cases(result, MAX_CASES)),
            (
                "output",
                &truncate_middle(result.output.trim(), MAX_OUTPUT_BYTES),
            ),
        ],
    )
}

/// Summarizes a run that does not count as green, with the reasons.
pub(crate) fn failure_summary(result: &TestResult, reasons: &[String]) -> String {
    // A command that exits with zero, or runs no test, gives no reason itself.
    let is_own = reasons.is_empty() || result.counts.total > 0 || result.exit_code.is_none();
    let has_own = result.exit_code != Some(0) && is_own;
    let own = has_own.then(|| format!("tests: {}", summary(result)));
    let parts: Vec<String> = own.into_iter().chain(reasons.iter().cloned()).collect();
    parts.join("; ")
}

pub(super) fn cases(result: &TestResult, limit: usize) -> String {
    let mut cases = String::new();
    for case in result.failures.iter().take(limit) {
        let _ = writeln!(
            cases,
            "- {}: {}",
            case.name,
            truncate_end(case.message.trim(), MAX_CASE_BYTES)
        );
    }
    cases
}

/// Asks the agent about tests that failed before its change and still fail.
pub(super) fn still_failing(names: &[String]) -> String {
    render(
        include_str!("../prompts/still-failing.md"),
        &[("cases", &names.join("\n- "))],
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
        TestStatus::Error if counts.total == 0 && result.exit_code == Some(0) => {
            return "no test ran".to_owned();
        }
        TestStatus::Failed | TestStatus::Error if result.exit_code.is_some() => {
            return exit_summary(result);
        }
        TestStatus::Failed => "failed".to_owned(),
        TestStatus::Error => "did not run to the end".to_owned(),
        TestStatus::Timeout => format!("timed out after {} s", result.duration_ms / 1000),
    };
    match result.exit_code {
        Some(code) if result.status != TestStatus::Passed => format!("{status}, exit code {code}"),
        _ => status,
    }
}

/// Describes a run without counts by its exit code and the first line that gives a reason.
fn exit_summary(result: &TestResult) -> String {
    let message = result.failures.first().map(|case| case.message.as_str());
    let lines = message.unwrap_or(&result.output).lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty());
    let code = result.exit_code.unwrap_or_default();
    let reason = match lines.next() {
        Some(line) => format!(": {}", truncate_end(line, 200)),
        None => String::new(),
    };
    format!("`{}` exited {code}{reason}", result.command.join(" "))
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

/// Returns the correction prompt for a small model, with the files as they are now.
pub(super) fn brief_regeneration(first: &str, correction: &str) -> String {
    let template = include_str!("../prompts/correct-files.md");
    render(template, &[("task", first), ("correction", correction)])
}

/// Returns the correction text for an agent that finished without a change.
pub(super) fn no_change() -> String {
    include_str!("../prompts/nothing-changed.md").to_owned()
}

/// Returns the correction text for a model after its files could not be applied.
pub(super) fn apply_failed(why: &str) -> String {
    render(include_str!("../prompts/apply-failed.md"), &[("why", why)])
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
