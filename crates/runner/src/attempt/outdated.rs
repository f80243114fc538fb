//! The change of an outdated task on its new base.

use windlass_tasks::{Baseline, ReviewDecision, StartPoint, WorkingCopy};

use super::correct::{CheckOutcome, VerifiedChange, check};
use super::edit::AgentEdit;
use super::{AttemptContext, AttemptResult};

/// The outcome of applying the change of an outdated task.
pub(super) enum OutdatedChange {
    /// It passes on the new base, so no agent is needed.
    Passed(Box<VerifiedChange>),
    /// An agent works on the task, for this reason if the task is outdated.
    NeedsAgent(Option<String>),
}

/// Tests the change of an outdated task on its new base, without an agent.
pub(super) async fn verify_earlier_change(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    baseline: Option<&Baseline>,
) -> AttemptResult<OutdatedChange> {
    let has_requests = attempt.task.review == Some(ReviewDecision::RequestChanges);
    if !attempt.task.outdated || has_requests {
        return Ok(OutdatedChange::NeedsAgent(None));
    }
    let problem = match working_copy.start() {
        StartPoint::Change => {
            let edit = AgentEdit {
                description: "Brought up to date with the changes that it builds on.".to_owned(),
                ..AgentEdit::default()
            };
            match check(attempt, working_copy, baseline, &edit).await? {
                CheckOutcome::Passed(verified) => return Ok(OutdatedChange::Passed(verified)),
                CheckOutcome::NoChange(_) => {
                    "The new base has its whole change already.".to_owned()
                }
                problem => format!(
                    "Its change was applied to the new base, and does not pass: {}.",
                    problem.summary()
                ),
            }
        }
        StartPoint::NotApplied(why) => format!("Its change could not be applied: {why}."),
        StartPoint::Base | StartPoint::Conflict(_) => "Its change is not in the files.".to_owned(),
    };
    attempt.report_activity("outdated", problem.clone()).await;
    Ok(OutdatedChange::NeedsAgent(Some(problem)))
}
