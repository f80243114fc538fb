//! `windlass task show`: shows one task in detail.

use clap::Args;
use serde_json::json;
use windlass_core::escape_line;
use windlass_server::{CandidateRow, candidate_rows};
use windlass_tasks::{
    Approval, Approvals, Attempt, AttemptStatus, Blocker, Correction, Landing, Proof, Push, Task,
    TaskId, TaskStatus, TestCounts, TestResult,
};

use super::super::app::App;
use super::super::console::{QUIET, STRONG};
use super::super::exit::{CliError, Exit};
use super::super::proof_lines::{base_line, proof_lines};
use super::super::queue::ProjectQueue;
use super::super::turn_printer::brief;
use super::candidates::candidate_lines;
use super::landed::{landing_lines, of_task};

/// How many lines of a description or an output are shown.
const MAX_LINES: usize = 20;

#[derive(Debug, Args)]
pub(super) struct Show {
    /// Task number
    id: TaskId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) async fn run(self, app: &App<'_>) -> Result<Exit, CliError> {
        let store = ProjectQueue::open(app).await?.queue.store;
        let details = TaskDetails {
            task: store.task(self.id).await?,
            attempts: store.attempts(self.id).await?,
            tests: store.test_results(self.id).await?,
            corrections: store.corrections(self.id).await?,
            questions: store.task_blockers(self.id).await?,
            approvals: open_approvals(&*store, self.id).await?,
            proof: store.proof(self.id).await?,
            pushes: store.pushes(self.id).await?,
            landings: store.landings(of_task(self.id)).await?,
            candidates: candidate_rows(&*store, self.id).await?,
        };
        if self.json {
            app.console.pretty_json(&details.json())?;
        } else {
            for line in details.lines() {
                app.console.line(&line)?;
            }
        }
        Ok(Exit::Done)
    }
}

/// A task with the records of its attempts.
struct TaskDetails {
    task: Task,
    attempts: Vec<Attempt>,
    tests: Vec<(u32, TestResult)>,
    corrections: Vec<(u32, Correction)>,
    questions: Vec<Blocker>,
    /// Open permission requests.
    approvals: Vec<Approval>,
    proof: Option<Proof>,
    pushes: Vec<Push>,
    landings: Vec<Landing>,
    candidates: Vec<CandidateRow>,
}

impl TaskDetails {
    fn json(&self) -> serde_json::Value {
        let tests: Vec<_> = numbered(&self.tests, "result");
        let corrections: Vec<_> = numbered(&self.corrections, "correction");
        json!({
            "task": self.task,
            "attempts": self.attempts,
            "tests": tests,
            "corrections": corrections,
            "questions": self.questions,
            "approvals": self.approvals,
            "proof": self.proof,
            "pushes": self.pushes,
            "landings": self.landings,
            "candidates": self.candidates,
        })
    }

    fn lines(&self) -> Vec<String> {
        let task = &self.task;
        let mut lines = vec![format!(
            "{STRONG}task {}: {}{STRONG:#}",
            task.id,
            escape_line(&task.title)
        )];
        let mut add = |name: &str, value: &str| {
            lines.push(format!(
                "{QUIET}{name:>12}{QUIET:#}  {}",
                escape_line(value)
            ));
        };
        add("status", &status_label(task));
        if let Some(reason) = &task.waiting {
            add("waiting", reason);
        }
        if !task.needs.is_empty() {
            add("needs", &task.needs.join(", "));
        }
        add("attempt", &attempt_label(task, " of "));
        add(
            "priority",
            &format!("{}, step {}", task.priority, task.workflow_step),
        );
        if let Some(agent) = self.agent() {
            add("agent", agent);
        }
        if !task.dependencies.is_empty() {
            let after: Vec<String> = task.dependencies.iter().map(TaskId::to_string).collect();
            add("after", &after.join(", "));
        }
        if let Some(target) = &task.target {
            add("target", target);
        }
        for line in task.description.lines().take(MAX_LINES) {
            add("", line);
        }
        // The output of a blocked task is its question, which is shown below.
        let output = task.output.as_deref().unwrap_or_default();
        if !self.questions.iter().any(|one| one.question == output) {
            for (number, line) in output.lines().take(MAX_LINES).enumerate() {
                add(if number == 0 { "output" } else { "" }, line);
            }
        }
        if let Some(decision) = task.review {
            add("review", decision.as_str());
        }
        if let Some(branch) = &task.branch {
            add("branch", branch);
        }
        for line in candidate_lines(&self.candidates) {
            add("candidates", &line);
        }
        for push in &self.pushes {
            add("pushed", &push_line(push));
        }
        for (name, value) in landing_lines(task, &self.landings) {
            add(name, &value);
        }
        for (name, value) in self.history() {
            add(name, &value);
        }
        if let Some(proof) = &self.proof {
            for (name, value) in proof_lines(proof) {
                add(name, &value);
            }
        }
        lines
    }

    /// Returns the agent: the task's own, or the one that the last attempt used.
    fn agent(&self) -> Option<&str> {
        let sessions = self.attempts.iter().rev();
        let mut sessions = sessions.filter_map(|attempt| attempt.session.as_ref());
        let used = sessions.next().map(|session| session.agent.as_str());
        self.task.agent.as_deref().or(used)
    }

    /// Returns the records of its attempts, one per line.
    fn history(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        for attempt in &self.attempts {
            lines.push(("attempt", attempt_line(attempt)));
            if let Some(base) = &attempt.base {
                lines.push(("base", base_line(base, &attempt.base_parts)));
            }
        }
        for (attempt, result) in &self.tests {
            lines.push((
                "tests",
                format!("attempt {attempt}: {}", tests_line(result)),
            ));
        }
        for (attempt, round) in &self.corrections {
            let text = format!(
                "attempt {attempt}, round {}: {}; {}",
                round.round,
                round.status.as_str(),
                round.fix_description
            );
            lines.push(("correction", text));
        }
        for Blocker {
            id,
            question,
            answer,
            ..
        } in &self.questions
        {
            let (first, rest) = question.split_once('\n').unwrap_or((question, ""));
            lines.push(("question", format!("{id}: {first}")));
            if !rest.is_empty() && answer.is_none() {
                lines.push(("", "the rest: windlass blockers".to_owned()));
            }
            lines.extend(
                answer
                    .as_ref()
                    .map(|answer| ("answer", answer.text.clone())),
            );
        }
        for Approval { id, request, .. } in &self.approvals {
            lines.push((
                "permission",
                format!("{id}: {} {}", request.tool, brief(&request.input)),
            ));
            lines.push(("", "needs input: run windlass approvals".to_owned()));
        }
        lines
    }
}

/// Returns the open permission requests of this task.
async fn open_approvals(store: &dyn Approvals, task: TaskId) -> Result<Vec<Approval>, CliError> {
    let mut open = store.approvals(true).await?;
    open.retain(|approval| approval.request.attempt.task == task);
    Ok(open)
}

/// Formats the status; a completed task without tests or with warnings in its proof, and one that must be brought up
/// to date, is marked.
pub(in super::super) fn status_label(task: &Task) -> String {
    match task.status {
        TaskStatus::Completed if task.landed.is_some() => "completed (landed)".to_owned(),
        status if task.paused => format!("{status} (paused)"),
        TaskStatus::Completed if task.unverified => "completed (unverified)".to_owned(),
        TaskStatus::Completed if task.needs_review => "completed (needs review)".to_owned(),
        status if task.outdated => format!("{status} (outdated)"),
        status => status.to_string(),
    }
}

/// Formats the attempt number and the limit. A retry resets the limit but not the number, so after a retry only the
/// number is shown.
pub(super) fn attempt_label(task: &Task, of: &str) -> String {
    if task.attempt > task.max_attempts {
        return task.attempt.to_string();
    }
    format!("{}{of}{}", task.attempt, task.max_attempts)
}

fn push_line(push: &Push) -> String {
    let state = format!("{}: {}", push.remote, push.state.as_str());
    let details = push.error.as_ref().or(push.request.as_ref());
    match details {
        Some(details) => format!("{state}, {details}"),
        None => state,
    }
}

fn attempt_line(attempt: &Attempt) -> String {
    let status = attempt.outcome.map_or("running", |status| status.as_str());
    // The question of a blocked attempt is listed separately.
    let is_blocked = attempt.outcome == Some(AttemptStatus::Blocked);
    let why = attempt.error.as_deref().map(str::trim).unwrap_or_default();
    let why = why.lines().next().filter(|_| !is_blocked);
    let why = why.map(|why| format!(": {why}"));
    let (number, worker) = (attempt.number, &attempt.worker);
    let why = why.unwrap_or_default();
    let is_kept = attempt.commit.is_some() && attempt.outcome != Some(AttemptStatus::Completed);
    let kept = if is_kept { ", change kept" } else { "" };
    format!("{number} by {worker}, {status}{kept}{why}")
}

fn tests_line(result: &TestResult) -> String {
    let counts = result.counts;
    let is_counted = counts != TestCounts::default();
    if let Some(code) = result.exit_code.filter(|_| !is_counted) {
        let command = result.command.join(" ");
        return format!("{}, `{command}` exited {code}", result.status.as_str());
    }
    format!(
        "{}, {} passed, {} failed, {} errors in {:.1} s",
        result.status.as_str(),
        counts.passed,
        counts.failed,
        counts.errors,
        f64::from(u32::try_from(result.duration_ms).unwrap_or(u32::MAX)) / 1000.0
    )
}

fn numbered<T: serde::Serialize>(items: &[(u32, T)], name: &str) -> Vec<serde_json::Value> {
    let entry = |(attempt, item): &(u32, T)| json!({ "attempt": attempt, name: item });
    items.iter().map(entry).collect()
}
