//! The seven steps of a task, in order.

use windlass_tasks::{
    Baseline, Blocker, Issue, Landing, LandingFilter, LandingState, StartPoint, TaskContext,
    TestPlan, WorkingCopy,
};

use super::base::open;
use super::choose::choose;
use super::correct::edit_until_passing;
use super::edit::Editor;
use super::outdated::{OutdatedChange, verify_earlier_change};
use super::prompts::PromptContext;
use super::publish::{publish, recover};
use super::{
    AttemptContext, AttemptError, AttemptResult, FinishedWork, prompts, questions, retry_transient,
};

/// Runs the steps from the clone to the outcome. The first step, the claim, is already done.
pub(super) async fn run_steps(attempt: &AttemptContext<'_>) -> AttemptResult<FinishedWork> {
    set_land(attempt).await?;
    if let Some(best_of) = &attempt.task.best_of {
        return choose(attempt, best_of).await;
    }
    let working_copy = open(attempt).await?;
    // After the clone, not before: if another attempt publishes from now on, publishing this change fails
    // instead of overwriting that one.
    let earlier_intent = match recover(attempt).await? {
        Ok(done) => return Ok(done),
        Err(intent) => intent,
    };
    let baseline = baseline(attempt, working_copy).await?;
    let verified = match verify_earlier_change(attempt, working_copy, baseline.as_ref()).await? {
        OutdatedChange::Passed(verified) => *verified,
        OutdatedChange::NeedsAgent(problem) => {
            let baseline = baseline.as_ref();
            let mut context = prompt_context(attempt, working_copy, baseline).await?;
            context.outdated = problem;
            let agent = attempt.agent()?;
            let mut editor = Editor::new(attempt, working_copy, agent, context);
            edit_until_passing(attempt, working_copy, baseline, &mut editor).await?
        }
    };
    publish(attempt, working_copy, (baseline, verified), earlier_intent).await
}

/// Records that the change lands when it is proved, before there is one: a worker may die right after the proof.
async fn set_land(attempt: &AttemptContext<'_>) -> AttemptResult<()> {
    let (runner, task) = (attempt.runner, &attempt.task);
    if runner.settings.auto_land && !task.land {
        let set = || runner.store.set_land(task.id, true);
        retry_transient(&*runner.clock, set).await?;
    }
    Ok(())
}

/// Tests the base, so that the task knows what failed before. Returns `None` if the project is configured to
/// have no tests. If the command is unknown or the tests cannot run at all, a person is asked before any agent
/// starts.
async fn baseline(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
) -> AttemptResult<Option<Baseline>> {
    let verifier = &attempt.runner.verifier;
    let command = match verifier.plan(working_copy.root()).await? {
        TestPlan::Command(command) => command,
        TestPlan::None => return Ok(None),
        TestPlan::Unknown => {
            let question = questions::untested_question();
            return Err(AttemptError::Blocked { question });
        }
    };
    let message = "running the tests before the change";
    attempt.report_activity("baseline", message).await;
    let span = attempt.trace.span("baseline");
    let baseline = verifier.baseline(working_copy, &command).await;
    span.finish_with(&baseline);
    let baseline = baseline?;
    if let Some(obstacle) = &baseline.obstacle
        && !(obstacle.in_files && is_repair_allowed(attempt).await?)
    {
        let question = questions::obstacle_question(attempt.at.task, &baseline.result, obstacle);
        return Err(AttemptError::Blocked { question });
    }
    verifier.prepare(working_copy).await?;
    let summary = prompts::summary(&baseline.result);
    attempt
        .report_activity("baseline", format!("tests before the change: {summary}"))
        .await;
    Ok(Some(baseline))
}

/// Returns `true` if a person wants the agent to repair a base that does not build.
async fn is_repair_allowed(attempt: &AttemptContext<'_>) -> AttemptResult<bool> {
    Ok(questions::is_repair_allowed(&blockers(attempt).await?))
}

async fn blockers(attempt: &AttemptContext<'_>) -> AttemptResult<Vec<Blocker>> {
    let runner = attempt.runner;
    let blockers = || runner.store.task_blockers(attempt.at.task);
    Ok(retry_transient(&*runner.clock, blockers).await?)
}

/// Builds the prompt context: relevant files and symbols, the parent issue, and earlier answers.
async fn prompt_context(
    attempt: &AttemptContext<'_>,
    working_copy: &dyn WorkingCopy,
    baseline: Option<&Baseline>,
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
    let answers = blockers(attempt).await?;
    let reviews = retry_transient(&*runner.clock, || {
        runner.store.open_reviews(attempt.at.task)
    })
    .await?;
    attempt
        .report_activity(
            "context",
            format!(
                "{} and {}",
                counted(context.related_files.len(), "relevant file"),
                counted(context.related_symbols.len(), "relevant symbol")
            ),
        )
        .await;
    Ok(PromptContext {
        context,
        answers,
        baseline: baseline.map(|baseline| baseline.result.clone()),
        named_tests: attempt.task.tests.clone(),
        has_earlier_change: *working_copy.start() == StartPoint::Change,
        not_landed: not_landed(attempt).await?,
        reviews,
        note: attempt.note().await?,
        messages: attempt.all_messages().await?,
        outdated: None,
    })
}

/// Returns the landing of the last attempt, if it was returned.
async fn not_landed(attempt: &AttemptContext<'_>) -> AttemptResult<Option<Landing>> {
    let runner = attempt.runner;
    let filter = LandingFilter {
        task: Some(attempt.at.task),
        ..LandingFilter::default()
    };
    let landings = || runner.store.landings(filter.clone());
    let last = retry_transient(&*runner.clock, landings).await?.pop();
    Ok(last.filter(|landing| landing.state == LandingState::Returned))
}

async fn issue(attempt: &AttemptContext<'_>) -> AttemptResult<Option<Issue>> {
    let Some(id) = attempt.task.issue_id else {
        return Ok(None);
    };
    let runner = attempt.runner;
    let issue = retry_transient(&*runner.clock, || runner.store.issue(id)).await?;
    Ok(Some(issue))
}

/// Formats a number with a noun, such as `1 relevant file` or `2 relevant files`.
fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
