//! The seven steps of a task, in their order.

use windlass_core::place::{Place, TaskContext, TestPlan};
use windlass_core::task::Issue;

use super::correct::prove;
use super::edit::Editor;
use super::publish::{publish, recover};
use super::words::Material;
use super::{Attempt, Done, Fault, Worked, patiently, words};

/// From the clone to the outcome. The claim, which is the first step, has been made.
pub(super) async fn work(attempt: &Attempt<'_>) -> Worked<Done> {
    let place = open(attempt).await?;
    // After the clone, not before: what another attempt publishes from now on makes ours fail, not vanish.
    let before = match recover(attempt).await? {
        Ok(done) => return Ok(done),
        Err(before) => before,
    };
    let plan = test_plan(attempt, place).await?;
    let material = material(attempt, place, &plan).await?;
    let agent = attempt.runner.agents.for_task(&attempt.task)?;
    let mut editor = Editor::new(attempt, place, agent, material);
    let proven = prove(attempt, place, &plan, &mut editor).await?;
    publish(attempt, place, proven, before).await
}

async fn open<'a>(attempt: &'a Attempt<'_>) -> Worked<&'a dyn Place> {
    let step = attempt.trace.step("clone");
    let workspace = &attempt.runner.workspace;
    let opened = workspace.open(&attempt.project, attempt.at).await;
    step.done(&opened);
    let opened = opened?;
    Ok(&**attempt.place.get_or_init(|| opened))
}

/// How the project is tested. Nobody knows: a person is asked before an agent has done anything.
async fn test_plan(attempt: &Attempt<'_>, place: &dyn Place) -> Worked<TestPlan> {
    match attempt.runner.verifier.plan(place.root()).await? {
        TestPlan::Unknown => Err(Fault::Blocked {
            question: words::untested_question(),
        }),
        plan => Ok(plan),
    }
}

/// What the agent should know: the parts of the project, the parent issue, earlier answers.
async fn material(attempt: &Attempt<'_>, place: &dyn Place, plan: &TestPlan) -> Worked<Material> {
    let runner = attempt.runner;
    let step = attempt.trace.step("context");
    let issue = issue(attempt).await?;
    let built = runner
        .context
        .build_context(place.root(), &attempt.task, issue.as_ref())
        .await;
    step.done(&built);
    let mut context = built?;
    context.related_files.truncate(TaskContext::MAX_FILES);
    context.related_symbols.truncate(TaskContext::MAX_SYMBOLS);
    let answers = patiently(&*runner.clock, || runner.store.questions(attempt.at.task)).await?;
    attempt
        .say(
            "context",
            format!(
                "{} files and {} symbols seem to matter",
                context.related_files.len(),
                context.related_symbols.len()
            ),
        )
        .await;
    Ok(Material {
        context,
        answers,
        command: match plan {
            TestPlan::Command(command) => Some(command.clone()),
            _ => None,
        },
    })
}

async fn issue(attempt: &Attempt<'_>) -> Worked<Option<Issue>> {
    let Some(id) = attempt.task.issue_id else {
        return Ok(None);
    };
    let runner = attempt.runner;
    let issue = patiently(&*runner.clock, || runner.store.issue(id)).await?;
    Ok(Some(issue))
}
