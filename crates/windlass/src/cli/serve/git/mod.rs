//! The repositories that `windlass serve --git` offers: one bare repository for each project, in the state directory.
//!
//! Nothing but this server writes to them: neither a checkout, which a push would change under its user, nor the mirror of
//! a remote, which is overwritten when it is fetched. They have no hooks, and no file of theirs is chosen by a client. Git
//! runs in the sandbox, with `git http-backend`, which is git's own interface to a web server.

mod backend;
mod repository;
mod upkeep;

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::Mutex;
use windlass_sandbox::Sandbox;
use windlass_server::{GitHost, GitRequest, GitResponseBody, GitService, GitStep, HostOpsError};

use super::super::app::App;
use super::super::exit::CliError;
use super::super::queue::OpenQueue;
use crate::registry;

/// The repositories of one store.
#[derive(Debug, Clone)]
pub(super) struct GitRepositories {
    sandbox: Sandbox,
    /// The directory that contains them.
    dir: PathBuf,
    /// Held while a repository is repacked: one at a time.
    upkeep: Arc<Mutex<()>>,
}

impl GitRepositories {
    /// Uses the repositories of a store on this machine.
    pub(super) async fn open(app: &App<'_>, queue: &OpenQueue) -> Result<Self, CliError> {
        let state = app
            .inputs
            .state_dir()
            .ok_or_else(|| CliError::usage("no state directory: set HOME or XDG_STATE_HOME"))?;
        let sandbox = registry::sandbox(app.config()?).await;
        let repositories = Self {
            sandbox: sandbox.map_err(CliError::failed)?,
            // By the id of the store, which stays the same when its address or its password changes.
            dir: state.join("git").join(queue.store.store_id().await?),
            upkeep: Arc::default(),
        };
        repositories.check_backend().await?;
        Ok(repositories)
    }
}

impl GitHost for GitRepositories {
    fn serve(&self, request: GitRequest) -> BoxFuture<'_, Result<GitResponseBody, HostOpsError>> {
        Box::pin(async move {
            let repository = self.repository(&request.project).await?;
            let is_push = matches!(request.service, GitService::Push);
            let moves = is_push && matches!(request.step, GitStep::Exchange(_));
            let lock = if moves {
                Some(repository.lock_for_push().await?)
            } else {
                None
            };
            let after = moves.then(|| (self.clone(), repository.clone()));
            self.run_backend(&repository, request, lock, after).await
        })
    }
}

/// Converts any error to one whose message is for the log only.
fn internal(error: impl std::fmt::Display) -> HostOpsError {
    HostOpsError::Internal(error.to_string())
}
