//! The seven steps of a task, in order.

use windlass_tasks::{Issue, TaskContext, TestPlan, WorkingCopy};

use super::correct::edit_until_passing;
use super::edit::Editor;
use super::prompts::PromptContext;
use super::publish::{publish, recover};
use super::{AttemptContext, AttemptError, AttemptResult, FinishedWork, prompts, retry_transient};

/// Runs the steps from the clone to the outcome. The first step, the claim, is already done.
pub(super) async fn run_steps(attempt: &AttemptContext<'_>) -> AttemptResult<FinishedWork> {
    let working_copy = open(attempt).await?;
    // After the clone, not before: if another attempt publishes from now on, publishing this change fails
    // instead of overwriting that one.
    let earlier_intent = match recover(attempt).await? {
        Ok(done) => return Ok(done),
        Err(intent) => intent,
    };
    let plan = test_plan(attempt, working_copy).await?;
    let prompt_context = prompt_context(attempt, working_copy, &plan).await?;
    let agent = attempt.agent()?;
    let mut editor = Editor::new(attempt, working_copy, agent, prompt_context);
    let verified = edit_until_passing(attempt, working_copy, &plan, &mut editor).await?;
    publish(attempt, working_copy, verified, earlier_intent).await
}

async fn open<'a>(attempt: &'a AttemptContext<'_>) -> AttemptResult<&'a dyn WorkingCopy> {
    let span = attempt.trace.span("clone");
    let workspace = &attempt.runner.workspace;
    let opened = workspace.open(&attempt.project, attempt.at).await;
    span.finish_with(&opened);
    let opened = opened?;
    Ok(&**attempt.working_copy.get_or_init(|| opened))
}

/// Returns how the project is tested. If that is unknown, a person is asked before any agent starts.
async fn test_plan(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
) -> AttemptResult<TestPlan> {
    match attempt.runner.verifier.plan(working_copy.root()).await? {
        TestPlan::Unknown => Err(AttemptError::Blocked {
            question: prompts::untested_question(),
        }),
        plan => Ok(plan),
    }
}

/// Builds the prompt context: relevant files and symbols, the parent issue, and earlier answers.
async fn prompt_context(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    plan: &TestPlan,
) -> AttemptResult<PromptContext> {
    let runner = attempt.runner;
    let span = attempt.trace.span("context");
    let issue = issue(attempt).await?;
    let built = runner
        .context
        .build_context(working_copy.root(), &attempt.task, issue.as_ref())
        .await;
    span.finish_with(&built);
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
                "{} relevant files and {} relevant symbols",
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
