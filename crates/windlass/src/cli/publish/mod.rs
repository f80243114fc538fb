//! Pushes a task's branch to a remote, and opens its pull request, with the user's own git and credentials.
//!
//! No agent sees any of it: git and the configured command run outside the sandbox, with the user's environment and
//! settings, and nothing that an agent wrote chooses a program or an option.

mod failure;
mod git;
mod request;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::Backoff;
use windlass_tasks::{Push, PushClaim, PushEnd, StoreError, Task, TaskStore};

pub(super) use failure::PushFailure;
pub(super) use git::UserGit;

/// How long a push and its pull request may take together before another process may try.
pub(super) const LEASE: Duration = Duration::from_secs(10 * 60);
/// Delays between tries of a push that failed for a reason that may pass.
const RETRIES: Backoff = Backoff::new(Duration::from_secs(30), Duration::from_secs(60 * 60));
/// The number of tries after which a person must look at it. That is after about a day.
const MAX_TRIES: u32 = 30;

/// Pushes branches, and opens pull requests.
#[derive(Debug, Clone)]
pub(super) struct Publisher {
    store: Arc<dyn TaskStore>,
    /// The command that opens a pull request.
    command: Option<Vec<String>>,
}

/// What a push did.
struct Done {
    commit: String,
    request: Option<String>,
}

impl Publisher {
    pub(super) fn new(store: Arc<dyn TaskStore>, command: Option<Vec<String>>) -> Self {
        Self { store, command }
    }

    /// Runs a push that was claimed, and stores its result.
    pub(super) async fn run(&self, push: Push) -> Result<Push, StoreError> {
        let task = self.store.task(push.task_id).await?;
        let root = self.store.project(task.project_id).await?.root;
        let end = match self.push(&root, &task, &push).await {
            Ok(done) => PushEnd::Pushed {
                commit: done.commit,
                request: done.request,
            },
            Err((commit, failure)) => {
                let may_pass = failure.may_pass() && push.tries < MAX_TRIES;
                PushEnd::Failed {
                    commit,
                    error: failure.sentence(&push.remote, task.id),
                    retry_in: may_pass.then(|| RETRIES.delay(push.tries.saturating_sub(1))),
                }
            }
        };
        self.store.end_push(push.at(), end).await
    }

    /// Claims a push whether it is due or not, and runs it.
    pub(super) async fn run_now(&self, push: &Push) -> Result<Push, StoreError> {
        let claim = PushClaim {
            id: Some(push.id),
            project_id: None,
            lease: LEASE,
        };
        match self.store.claim_push(claim).await? {
            Some(claimed) => self.run(claimed).await,
            None => Err(StoreError::not_found("push", push.id)),
        }
    }

    /// Pushes the branch and opens the pull request. A failure has the commit if the remote has it.
    async fn push(
        &self,
        root: &Path,
        task: &Task,
        push: &Push,
    ) -> Result<Done, (Option<String>, PushFailure)> {
        let git = UserGit::new(root).await;
        let sent = self.send(&git, push).await;
        let commit = sent.map_err(|failure| (None, failure))?;
        let opened = match &self.command {
            Some(command) if push.request.is_none() => {
                let proof = self.store.proof(task.id).await.unwrap_or_default();
                let request = request::PullRequest {
                    task,
                    proof: proof.as_ref(),
                    push,
                    base: git.base(task, &push.remote).await,
                };
                request.open(command, root).await.map(Some)
            }
            _ => Ok(None),
        };
        match opened {
            Ok(request) => Ok(Done { commit, request }),
            Err(failure) => Err((Some(commit), failure)),
        }
    }

    /// Makes the remote's ref point to the branch's commit. What is there is replaced only if we pushed it.
    async fn send(&self, git: &UserGit<'_>, push: &Push) -> Result<String, PushFailure> {
        let Push {
            remote, reference, ..
        } = push;
        git.check_remote(remote).await?;
        let commit = git.commit(reference).await?;
        let there = git.remote_commit(remote, reference).await?;
        if there.as_ref() == Some(&commit) {
            return Ok(commit);
        }
        // The lease is the commit that was seen. Without one, git accepts a fast-forward only.
        let lease = match there {
            None => Some(String::new()),
            Some(there) => push.is_ours(&there).then_some(there),
        };
        let sent = self.store.record_sent(push.at(), commit.clone()).await;
        sent.map_err(|error| PushFailure::Other(error.to_string()))?;
        git.push(remote, reference, &commit, lease.as_deref())
            .await?;
        Ok(commit)
    }
}
