//! The candidates of a task side by side.

use serde::Serialize;
use utoipa::ToSchema;
use windlass_tasks::{StoreResult, TaskFilter, TaskId, TaskStore};

/// A candidate of a task, with the data for the choice.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CandidateRow {
    /// The candidate, which is a task.
    #[schema(value_type = i64)]
    pub task: TaskId,
    /// Its agent. `None` is the configured one.
    #[schema(required)]
    pub agent: Option<String>,
    /// Its status.
    pub status: String,
    /// `true` if it was chosen.
    pub chosen: bool,
    /// The result, the error or the question.
    #[schema(required)]
    pub output: Option<String>,
    /// The number of tests that passed and failed in its last run.
    pub passed: u64,
    /// The number of tests that failed in its last run.
    pub failed: u64,
    /// Whether it has a proof.
    pub proved: bool,
    /// The number of warnings in its proof.
    pub warnings: usize,
    /// The number of changed lines, if it has a proof.
    #[schema(required)]
    pub lines: Option<u64>,
    /// Tokens that it used.
    pub tokens: u64,
    /// The cost in US dollars, if the agent reports it.
    #[schema(required)]
    pub cost_usd: Option<f64>,
    /// The duration of its attempts, in milliseconds.
    pub duration_ms: u64,
}

/// Returns the candidates of a task, in the order in which they were added. A task without any has none.
pub async fn candidate_rows(
    store: &dyn TaskStore,
    parent: TaskId,
) -> StoreResult<Vec<CandidateRow>> {
    let branch = store.task(parent).await?.branch;
    let filter = TaskFilter {
        candidate_of: Some(parent),
        ..TaskFilter::default()
    };
    let mut rows = Vec::new();
    for task in store.tasks(filter).await? {
        let proof = store.proof(task.id).await?;
        let tests = store.test_results(task.id).await?;
        let counts = tests.last().map(|(_, result)| result.counts);
        let attempts = store.attempts(task.id).await?;
        let duration = |attempt: &windlass_tasks::Attempt| {
            let end = attempt.ended_at.unwrap_or(attempt.started_at);
            end.0.saturating_sub(attempt.started_at.0)
        };
        let failed = counts.map(|counts| counts.failed + counts.errors);
        rows.push(CandidateRow {
            task: task.id,
            chosen: branch.is_some() && task.branch == branch,
            status: task.status.to_string(),
            agent: task.agent,
            output: task.output,
            passed: counts.map_or(0, |counts| counts.passed),
            failed: failed.unwrap_or(0),
            proved: proof.is_some(),
            warnings: proof.as_ref().map_or(0, |proof| proof.warnings.len()),
            lines: proof.as_ref().and_then(|proof| proof.lines),
            tokens: task.usage.input_tokens + task.usage.output_tokens,
            cost_usd: task.usage.cost_usd,
            duration_ms: attempts.iter().map(duration).sum(),
        });
    }
    Ok(rows)
}
