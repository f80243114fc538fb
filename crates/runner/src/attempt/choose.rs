//! Chooses the best candidate of a task.

use std::cmp::Ordering;

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::structured::ValidationPolicy;
use windlass_core::{DirAccess, SessionOptions};
use windlass_tasks::{BestOf, Outcome, Proof, Task, TaskFilter, TaskId, TaskStatus};

use super::structured_call::call;
use super::turn::{AttemptObserver, Conversation};
use super::{AttemptContext, AttemptError, AttemptResult, FinishedWork, retry_transient};
use crate::template::{render, truncate_end};

/// Maximum size of one candidate's change in the prompt of a judge.
const MAX_DIFF_BYTES: usize = 48 << 10;
/// Maximum size of the reason why one candidate failed.
const MAX_REASON_BYTES: usize = 1_000;

/// A candidate with the data for the choice.
#[derive(Debug)]
struct Candidate {
    task: Task,
    proof: Option<Proof>,
}

impl Candidate {
    fn name(&self) -> String {
        let agent = self.task.agent.as_deref().unwrap_or("default agent");
        format!("{agent} (task {})", self.task.id)
    }

    fn warnings(&self) -> usize {
        self.proof.as_ref().map_or(0, |proof| proof.warnings.len())
    }

    fn lines(&self) -> Option<u64> {
        self.proof.as_ref().and_then(|proof| proof.lines)
    }

    /// Describes the result briefly.
    fn summary(&self) -> String {
        let tests = match &self.proof {
            Some(proof) => format!("tests: {} passed", proof.counts.passed),
            None => "not tested".to_owned(),
        };
        let lines = self.lines();
        let lines = lines.map(|lines| format!(", {lines} lines changed"));
        let warnings = self.warnings();
        format!("{tests}, {warnings} warnings{}", lines.unwrap_or_default())
    }
}

/// Orders candidates from the best: a proof, then fewer warnings, a smaller change and a lower cost.
fn compare(a: &Candidate, b: &Candidate) -> Ordering {
    let cost = |one: &Candidate| one.task.usage.cost_usd.unwrap_or(f64::INFINITY);
    let tokens = |one: &Candidate| {
        let usage = &one.task.usage;
        usage.input_tokens.saturating_add(usage.output_tokens)
    };
    a.proof
        .is_none()
        .cmp(&b.proof.is_none())
        .then(a.warnings().cmp(&b.warnings()))
        .then(
            a.lines()
                .unwrap_or(u64::MAX)
                .cmp(&b.lines().unwrap_or(u64::MAX)),
        )
        .then(cost(a).total_cmp(&cost(b)))
        .then(tokens(a).cmp(&tokens(b)))
        .then(a.task.id.cmp(&b.task.id))
}

/// Chooses among the candidates of the attempt's task that completed. If none did, the task fails with the reasons of
/// all.
pub(super) async fn choose(
    attempt: &AttemptContext<'_>,
    best_of: &BestOf,
) -> AttemptResult<FinishedWork> {
    let (mut completed, others) = candidates(attempt).await?;
    completed.sort_by(compare);
    let Some(best) = completed.first() else {
        return Err(AttemptError::Failed {
            error: format!("no candidate passed: {}", reasons(&others)),
            again: false,
        });
    };
    let proved: Vec<&Candidate> = completed.iter().filter(|one| one.proof.is_some()).collect();
    let (winner, why) = match &best_of.judge {
        Some(judge) if proved.len() > 1 => {
            judged(attempt, judge, best_of.rubric.as_deref(), &proved).await?
        }
        _ => (best, None),
    };
    let count = completed.len() + others.len();
    let why = why.unwrap_or_else(|| "proof, warnings, size and cost decided".to_owned());
    let output = format!(
        "chose {} of {count} candidates: {}; {why}",
        winner.name(),
        winner.summary()
    );
    attempt.report_activity("chosen", output.as_str()).await;
    Ok(FinishedWork {
        outcome: Outcome::Chosen {
            winner: winner.task.id,
            output,
        },
    })
}

/// Returns the candidates that completed, and the others.
async fn candidates(attempt: &AttemptContext<'_>) -> AttemptResult<(Vec<Candidate>, Vec<Task>)> {
    let (clock, store) = (&*attempt.runner.clock, &attempt.runner.store);
    let filter = TaskFilter {
        candidate_of: Some(attempt.at.task),
        ..TaskFilter::default()
    };
    let tasks = retry_transient(clock, || store.tasks(filter.clone())).await?;
    let (mut completed, mut others) = (Vec::new(), Vec::new());
    for task in tasks {
        if task.status != TaskStatus::Completed {
            others.push(task);
            continue;
        }
        let proof = retry_transient(clock, || store.proof(task.id)).await?;
        completed.push(Candidate { task, proof });
    }
    Ok((completed, others))
}

/// Lists why candidates did not complete.
fn reasons(others: &[Task]) -> String {
    let reason = |task: &Task| {
        let agent = task.agent.as_deref().unwrap_or("default agent");
        let why = task
            .output
            .as_deref()
            .unwrap_or("no reason is known")
            .trim();
        let why = truncate_end(why, MAX_REASON_BYTES);
        format!("{agent} (task {}) {}: {why}", task.id, task.status)
    };
    let reasons: Vec<String> = others.iter().map(reason).collect();
    reasons.join("; ")
}

/// The answer of the judge.
#[derive(Deserialize)]
struct JudgeChoice {
    winner: TaskId,
    reason: String,
}

/// Asks the judge. If it fails, the order decides, and the reason names the failure.
async fn judged<'c>(
    attempt: &AttemptContext<'_>,
    judge: &str,
    rubric: Option<&str>,
    proved: &[&'c Candidate],
) -> AttemptResult<(&'c Candidate, Option<String>)> {
    let verdict = match ask(attempt, judge, rubric, proved).await {
        Err(AttemptError::Superseded(error)) => return Err(AttemptError::Superseded(error)),
        verdict => verdict,
    };
    let fallback = |why: String| (proved[0], Some(format!("the judge {judge} failed: {why}")));
    Ok(match verdict {
        Ok(verdict) => match proved.iter().find(|one| one.task.id == verdict.winner) {
            Some(winner) => {
                let reason = truncate_end(verdict.reason.trim(), MAX_REASON_BYTES);
                (winner, Some(format!("{judge} chose it: {reason}")))
            }
            None => fallback(format!("task {} is not a candidate", verdict.winner)),
        },
        Err(error) => fallback(error.to_string()),
    })
}

async fn ask(
    attempt: &AttemptContext<'_>,
    judge: &str,
    rubric: Option<&str>,
    proved: &[&Candidate],
) -> AttemptResult<JudgeChoice> {
    let runner = attempt.runner;
    let agent = attempt.agent_named(judge)?;
    let mut listed = String::new();
    for candidate in proved {
        let proof = candidate.proof.as_ref();
        let (base, commit) = proof.map_or(("", ""), |proof| (&proof.base, &proof.commit));
        let diff = runner
            .workspace
            .diff(&attempt.project, base, commit)
            .await?;
        listed.push_str(&format!(
            "## Candidate {}\n\n{}\n\n```diff\n{}\n```\n\n",
            candidate.task.id,
            candidate.summary(),
            truncate_end(&diff, MAX_DIFF_BYTES)
        ));
    }
    let rubric =
        rubric.unwrap_or("Prefer the change that is correct, complete, simple and easy to review.");
    let prompt = render(
        include_str!("../prompts/judge.md"),
        &[
            ("title", &attempt.task.title),
            ("description", &attempt.task.description),
            ("rubric", rubric),
            ("candidates", &listed),
        ],
    );
    let ids: Vec<TaskId> = proved.iter().map(|one| one.task.id).collect();
    let options = SessionOptions {
        access: DirAccess::ReadOnly,
        work: attempt.work_label(),
        ..SessionOptions::in_dir(&attempt.project.root)
    };
    let request = call(&agent, "judge", prompt, schema(&ids));
    let timeout = Some(runner.settings.generate_timeout);
    let mut conversation = Conversation::new(agent, options).with_name(judge.to_owned());
    let mut observer = AttemptObserver::new(attempt);
    let answer = conversation
        .structured(request, ValidationPolicy::default(), timeout, &mut observer)
        .await??;
    serde_json::from_value(answer.value).map_err(|error| AttemptError::Failed {
        error: error.to_string(),
        again: false,
    })
}

fn schema(ids: &[TaskId]) -> Value {
    json!({
        "type": "object",
        "properties": {
            "winner": { "type": "integer", "enum": ids, "description": "the number of the best candidate" },
            "reason": { "type": "string", "description": "one sentence that says why it is the best" },
        },
        "required": ["winner", "reason"],
        "additionalProperties": false,
    })
}
