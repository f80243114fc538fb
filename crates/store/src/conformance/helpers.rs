//! What most cases use.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::Usage;
use windlass_tasks::{Claim, Claimed, NewProject, NewTask, Outcome, Project, Task, TaskStore};

use super::{CaseFailure, LEASE, fail_case};

pub(super) async fn project(store: &Arc<dyn TaskStore>) -> Result<Project, CaseFailure> {
    let root = PathBuf::from("/home/me/shop");
    let name = "shop".to_owned();
    Ok(store.add_project(NewProject { name, root }).await?)
}

pub(super) async fn add(store: &Arc<dyn TaskStore>, new: NewTask) -> Result<Task, CaseFailure> {
    match store.enqueue(vec![new]).await?.pop() {
        Some(added) => Ok(added.task),
        None => fail_case("nothing was added"),
    }
}

pub(super) async fn added(store: &Arc<dyn TaskStore>) -> Result<Task, CaseFailure> {
    let project = project(store).await?;
    add(store, NewTask::new(project.id, "sell tea")).await
}

pub(super) fn any(worker: &str) -> Claim {
    Claim {
        worker: worker.to_owned(),
        lease: LEASE,
        ..Claim::default()
    }
}

pub(super) async fn claimed(store: &Arc<dyn TaskStore>) -> Result<Claimed, CaseFailure> {
    match store.claim(any("a worker")).await? {
        Some(claimed) => Ok(claimed),
        None => fail_case("there was nothing to claim"),
    }
}

pub(super) fn completed() -> Outcome {
    Outcome::Completed {
        proof: None,
        branch: None,
        output: "done".to_owned(),
    }
}

pub(super) fn failed(again: bool) -> Outcome {
    Outcome::Failed {
        error: "it broke".to_owned(),
        again,
    }
}

pub(super) async fn finish(
    store: &Arc<dyn TaskStore>,
    claimed: &Claimed,
    outcome: Outcome,
) -> Result<Task, CaseFailure> {
    Ok(store
        .finish(claimed.attempt, outcome, Usage::default())
        .await?)
}
