//! The base of an attempt: the target with the changes of the task's dependencies.

use windlass_tasks::{BaseChange, BasePart, BaseRequest, DependencyChange, Opened, WorkingCopy};

use super::conflict::wait_or_ask;
use super::publish::branch_commit;
use super::{AttemptContext, AttemptError, AttemptResult, retry_transient};

/// Opens the working copy of the attempt, with the changes of its dependencies, and records its base.
pub(super) async fn open<'a>(
    attempt: &'a AttemptContext<'_>,
) -> AttemptResult<&'a dyn WorkingCopy> {
    let runner = attempt.runner;
    let changes = || runner.store.dependency_changes(attempt.at.task);
    let changes = retry_transient(&*runner.clock, changes).await?;
    let request = request(attempt, &changes).await?;
    let earlier = attempt.earlier_change().await?;
    let commit = earlier.as_ref().map(|change| change.commit.as_str());
    let span = attempt.trace.span("clone");
    let opened = runner
        .workspace
        .open_on(&attempt.project, attempt.at, &request, commit)
        .await;
    span.finish_with(&opened);
    let copy = match opened? {
        Opened::Copy(copy) => copy,
        Opened::Conflict(conflict) => return Err(wait_or_ask(attempt, &conflict, &changes).await?),
    };
    let copy = &**attempt.working_copy.get_or_init(|| copy);
    let (base, parts) = (copy.base(), copy.base_parts());
    let record = || {
        let store = &runner.store;
        store.record_base(attempt.at, base.to_owned(), parts.to_vec())
    };
    retry_transient(&*runner.clock, record).await?;
    report(attempt, parts).await;
    attempt.report_start(copy.start(), earlier.as_ref()).await;
    Ok(copy)
}

async fn report(attempt: &AttemptContext<'_>, parts: &[BasePart]) {
    if parts.is_empty() {
        return;
    }
    let tasks: Vec<String> = parts.iter().map(|part| part.task.to_string()).collect();
    let message = format!(
        "building on the changes of {} {}",
        if tasks.len() == 1 { "task" } else { "tasks" },
        tasks.join(", ")
    );
    attempt.report_activity("base", message).await;
}

/// Returns what the base is made of. The attempt waits if a dependency is being worked on again.
async fn request(
    attempt: &AttemptContext<'_>,
    changes: &[DependencyChange],
) -> AttemptResult<BaseRequest> {
    let mut request = BaseRequest {
        target: attempt.task.target.clone(),
        changes: Vec::new(),
        keeps_conflicts: attempt.task.merges,
    };
    for change in changes {
        let task = change.task;
        if !change.completed {
            return Err(AttemptError::Waiting {
                reason: format!("waiting for task {task}, which is worked on again"),
                is_released: false,
            });
        }
        let commit = match (&change.commit, &change.branch) {
            (Some(commit), _) => Some(commit.clone()),
            (None, Some(branch)) => branch_commit(attempt, branch).await?,
            (None, None) => None,
        };
        // A task that was completed without a change has nothing to merge.
        if let Some(commit) = commit {
            request.changes.push(BaseChange {
                part: BasePart { task, commit },
                landed: change.landed.clone(),
            });
        }
    }
    Ok(request)
}
