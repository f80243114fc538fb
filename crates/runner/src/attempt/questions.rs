//! Builds questions for people from templates.

use windlass_tasks::{Blocker, Obstacle, TaskId, TestResult};

use super::prompts::cases;
use crate::template::{fence, render, truncate_end, truncate_middle};

/// Maximum number of failing tests in a question to a person.
const MAX_QUESTION_CASES: usize = 5;
/// Maximum size of a diff in a question to a person.
const MAX_QUESTION_DIFF_BYTES: usize = 4 << 10;

/// Returns the question for a project without a known test command.
pub(super) fn untested_question() -> String {
    include_str!("../prompts/ask-tests.md").trim().to_owned()
}

/// Returns the question for a project that cannot run its tests, whatever the change is.
pub(super) fn obstacle_question(task: TaskId, result: &TestResult, obstacle: &Obstacle) -> String {
    let ended = match result.exit_code {
        Some(code) => format!("exited with {code}"),
        None => format!("ended with {}", result.status.as_str()),
    };
    let proposal = match &obstacle.proposal {
        Some(proposal) => render(
            include_str!("../prompts/proposal.md"),
            &[("proposal", proposal), ("task", &task.to_string())],
        ),
        None if obstacle.in_files => include_str!("../prompts/base-not-built.md").to_owned(),
        None => include_str!("../prompts/no-proposal.md").to_owned(),
    };
    render(
        include_str!("../prompts/tests-cannot-run.md"),
        &[
            ("command", &result.command.join(" ")),
            ("ended", &ended),
            ("reason", &obstacle.reason),
            ("proposal", &proposal),
        ],
    )
}

/// Returns `true` if a person has answered that the agent may start although the base does not build.
pub(super) fn is_repair_allowed(blockers: &[Blocker]) -> bool {
    let asks = |blocker: &&Blocker| {
        blocker
            .question
            .contains(include_str!("../prompts/base-not-built.md").trim())
    };
    let mut asked = blockers.iter().filter(asks);
    asked.any(|blocker| blocker.answer.is_some())
}

/// Returns the question after all correction rounds are exhausted.
pub(super) fn exhausted_question(
    rounds: u32,
    problem: &str,
    final_message: &str,
    evidence: &str,
) -> String {
    render(
        include_str!("../prompts/rounds-exhausted.md"),
        &[
            ("rounds", &rounds.to_string()),
            ("problem", problem),
            ("final_message", &truncate_end(final_message.trim(), 1000)),
            ("evidence", evidence),
        ],
    )
}

/// Shows a person what failed: the command, the failing tests with their messages, and the change.
pub(super) fn failure_evidence(result: &TestResult, diff: &str) -> String {
    let diff = truncate_middle(diff, MAX_QUESTION_DIFF_BYTES);
    let fence = fence(&diff);
    render(
        include_str!("../prompts/evidence.md"),
        &[
            ("command", &result.command.join(" ")),
            ("cases", &cases(result, MAX_QUESTION_CASES)),
            ("fence", &fence),
            ("diff", &diff),
        ],
    )
}
