//! The seven steps of a task, in their order.

use windlass_core::task::Issue;
use windlass_core::workspace::{TaskContext, TestPlan, WorkingCopy};

use super::correct::edit_until_passing;
use super::edit::Editor;
use super::prompts::PromptContext;
use super::publish::{publish, recover};
use super::{AttemptContext, AttemptError, AttemptResult, FinishedWork, prompts, retry_transient};

/// From the clone to the outcome. The claim, which is the first step, has been made.
pub(super) async fn run_steps(attempt: &AttemptContext<'_>) -> AttemptResult<FinishedWork> {
    let place = open(attempt).await?;
    // After the clone, not before: what another attempt publishes from now on makes ours fail, not vanish.
    let before = match recover(attempt).await? {
        Ok(done) => return Ok(done),
        Err(before) => before,
    };
    let plan = test_plan(attempt, place).await?;
    let material = prompt_context(attempt, place, &plan).await?;
    let agent = attempt.runner.agents.resolve_for_task(&attempt.task)?;
    let mut editor = Editor::new(attempt, place, agent, material);
    let proven = edit_until_passing(attempt, place, &plan, &mut editor).await?;
    publish(attempt, place, proven, before).await
}

async fn open<'a>(attempt: &'a AttemptContext<'_>) -> AttemptResult<&'a dyn WorkingCopy> {
    let step = attempt.trace.span("clone");
    let workspace = &attempt.runner.workspace;
    let opened = workspace.open(&attempt.project, attempt.at).await;
    step.finish_with(&opened);
    let opened = opened?;
    Ok(&**attempt.working_copy.get_or_init(|| opened))
}

/// How the project is tested. Nobody knows: a person is asked before an agent has done anything.
async fn test_plan(
    attempt: &AttemptContext<'_>,
    place: &dyn WorkingCopy,
) -> AttemptResult<TestPlan> {
    match attempt.runner.verifier.plan(place.root()).await? {
        TestPlan::Unknown => Err(AttemptError::Blocked {
            question: prompts::untested_question(),
        }),
        plan => Ok(plan),
    }
}

/// What the agent should know: the parts of the project, the parent issue, earlier answers.
async fn prompt_context(
    attempt: &AttemptContext<'_>,
    place: &dyn WorkingCopy,
    plan: &TestPlan,
) -> AttemptResult<PromptContext> {
    let runner = attempt.runner;
    let step = attempt.trace.span("context");
    let issue = issue(attempt).await?;
    let built = runner
        .context
        .build_context(place.root(), &attempt.task, issue.as_ref())
        .await;
    step.finish_with(&built);
    let mut context = built?;
    context.related_files.truncate(TaskContext::MAX_FILES);
    context.related_symbols.truncate(TaskContext::MAX_SYMBOLS);
    let answers = retry_transient(&*runner.clock, || {
        runner.store.task_blockers(attempt.at.task)
    })
    .await?;
    attempt
        .report_activity(
            "context",
            format!(
                "{} files and {} symbols seem to matter",
                context.related_files.len(),
                context.related_symbols.len()
            ),
        )
        .await;
    Ok(PromptContext {
        context,
        answers,
        command: match plan {
            TestPlan::Command(command) => Some(command.clone()),
            _ => None,
        },
    })
}

async fn issue(attempt: &AttemptContext<'_>) -> AttemptResult<Option<Issue>> {
    let Some(id) = attempt.task.issue_id else {
        return Ok(None);
    };
    let runner = attempt.runner;
    let issue = retry_transient(&*runner.clock, || runner.store.issue(id)).await?;
    Ok(Some(issue))
}
