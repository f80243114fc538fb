//! A review by an agent, in a checkout of the change.

use std::sync::Arc;

use futures::future::BoxFuture;
use windlass_core::SessionOptions;
use windlass_runner::{ChangeReviewer, PlanOptions, review_change};
use windlass_tasks::{
    AttemptNumber, AttemptRef, AuthorKind, NewReview, Review, ReviewDecision, StoreError, Task,
    TaskId, TaskStore,
};
use windlass_workspace::Clones;

use super::super::console::Console;
use super::super::exit::CliError;
use super::super::remote;
use super::super::task;
use super::newest_version;
use crate::agent_catalog::AgentCatalog;

/// Lets an agent review a version, and stores the review under the agent's name.
pub(in super::super) async fn review_with_agent(
    store: &dyn TaskStore,
    clones: &Clones,
    agents: &AgentCatalog,
    (task, version): (&Task, AttemptNumber),
    name: &str,
) -> Result<(Review, Task), CliError> {
    let agent = agents.find(Some(name))?;
    let handle = agents.open(&agent)?;
    let diff = task::diff(store, clones, task, Some(version)).await?;
    let commit = task::kept_commit(store, clones, task, Some(version)).await?;
    let at = AttemptRef {
        task: task.id,
        number: version,
    };
    let proof = store.proof_of(at).await?;
    let root = remote::root_of(store, task).await?;
    let checkout = clones.checkout(&root, &commit).await;
    let checkout = checkout.map_err(windlass_core::Error::from)?;
    let options = PlanOptions {
        session: SessionOptions {
            model: agent.model.clone(),
            readable: checkout.readable_dirs(),
            ..SessionOptions::in_dir(checkout.path())
        },
        ..PlanOptions::default()
    };
    let found = review_change(&handle, task, &diff, proof.as_ref(), options).await?;
    let mut review = NewReview {
        task_id: task.id,
        attempt: version,
        decision: found.decision,
        author: agent.name,
        author_kind: AuthorKind::Agent,
        text: found.text,
        comments: found.comments,
    };
    match store.add_review(review.clone()).await {
        // Agents have sent it back too often, or it is not completed: a person decides, with the comments.
        Err(StoreError::Refused(_)) if review.decision == ReviewDecision::RequestChanges => {
            review.decision = ReviewDecision::Comment;
            Ok(store.add_review(review).await?)
        }
        stored => Ok(stored?),
    }
}

/// The agent that reviews every change after its proof.
#[derive(Debug)]
pub(in super::super) struct ReviewingAgent {
    pub(in super::super) store: Arc<dyn TaskStore>,
    pub(in super::super) clones: Clones,
    pub(in super::super) agents: AgentCatalog,
    pub(in super::super) name: String,
    pub(in super::super) console: Console,
}

impl ReviewingAgent {
    async fn review_newest(&self, id: TaskId) -> Result<(), CliError> {
        let task = self.store.task(id).await?;
        let version = newest_version(&*self.store, &task).await?;
        let at = (&task, version);
        review_with_agent(&*self.store, &self.clones, &self.agents, at, &self.name).await?;
        Ok(())
    }
}

impl ChangeReviewer for ReviewingAgent {
    fn review(&self, task: TaskId) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.review_newest(task).await {
                let name = &self.name;
                self.console
                    .notice(&format!("{name} did not review task {task}: {error}"));
            }
        })
    }
}
