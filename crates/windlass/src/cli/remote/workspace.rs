//! The clones of attempts, on mirrors of the remotes of their projects.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use windlass_core::{Error, Result};
use windlass_tasks::{
    AttemptRef, BaseRequest, Opened, Project, StaleCopy, StoreError, TaskId, TaskStore, Workspace,
};
use windlass_workspace::Clones;

use super::copy::RemoteCopy;
use super::mirror::{RemoteMirror, Results};

/// What the operations on remotes need: the store, and where this machine has its mirrors.
#[derive(Debug, Clone)]
pub(in crate::cli) struct RemoteProjects {
    pub(in crate::cli) store: Arc<dyn TaskStore>,
    pub(in crate::cli) store_id: String,
    pub(in crate::cli) mirrors: PathBuf,
}

impl RemoteProjects {
    /// Returns the mirror of a project that has a remote.
    pub(super) fn mirror(&self, project: &Project) -> Option<RemoteMirror> {
        let mirror = RemoteMirror::of(project, &self.mirrors, &self.store_id)?;
        Some(mirror.with_retries())
    }
}

/// Clones of projects, with or without a remote. Those without one are worked on in their checkout's repository.
#[derive(Debug, Clone)]
pub(in crate::cli) struct RemoteWorkspace {
    pub(in crate::cli) clones: Clones,
    pub(in crate::cli) remotes: RemoteProjects,
}

impl Workspace for RemoteWorkspace {
    fn open_on<'a>(
        &'a self,
        project: &'a Project,
        attempt: AttemptRef,
        base: &'a BaseRequest,
        earlier: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Opened>> {
        Box::pin(async move {
            let Some(mirror) = self.remotes.mirror(project) else {
                return self.clones.open_on(project, attempt, base, earlier).await;
            };
            let mut tasks: Vec<TaskId> = vec![attempt.task];
            tasks.extend(base.changes.iter().map(|change| change.part.task));
            mirror.sync(Results::Of(&tasks)).await?;
            let project = mirror.project(project);
            let opened = self.clones.open_on(&project, attempt, base, earlier);
            Ok(match opened.await? {
                Opened::Copy(copy) => Opened::Copy(Box::new(RemoteCopy {
                    copy,
                    attempt,
                    mirror,
                    store: Arc::clone(&self.remotes.store),
                })),
                conflict => conflict,
            })
        })
    }

    fn stale<'a>(
        &'a self,
        is_live: &'a (dyn Fn(AttemptRef) -> bool + Sync),
    ) -> BoxFuture<'a, Result<Vec<StaleCopy>>> {
        Box::pin(async move {
            let mut stale: Vec<StaleCopy> = Vec::new();
            for (attempt, copy) in self.clones.stale(is_live).await? {
                let project = async {
                    let task = self.remotes.store.task(attempt.task).await?;
                    self.remotes.store.project(task.project_id).await
                };
                let mirror = match project.await {
                    Ok(project) => self.remotes.mirror(&project),
                    Err(StoreError::NotFound { .. }) => None,
                    // It is found again at the next call.
                    Err(_) => continue,
                };
                stale.push(match mirror {
                    Some(mirror) => {
                        let store = Arc::clone(&self.remotes.store);
                        let copy = RemoteCopy {
                            copy,
                            attempt,
                            mirror,
                            store,
                        };
                        (attempt, Box::new(copy))
                    }
                    None => (attempt, copy),
                });
            }
            Ok(stale)
        })
    }

    /// The remote decides what is published.
    fn branch_commit<'a>(
        &'a self,
        project: &'a Project,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move {
            let Some(mirror) = self.remotes.mirror(project) else {
                return self.clones.branch_commit(project, name).await;
            };
            if !mirror.dir.join("HEAD").is_file() {
                mirror.sync(Results::Of(&[])).await?;
            }
            let git = mirror.git().await?;
            git.commit(&format!("refs/heads/{name}")).await
        })
    }

    fn diff<'a>(
        &'a self,
        project: &'a Project,
        base: &'a str,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            let Some(mirror) = self.remotes.mirror(project) else {
                return Workspace::diff(&self.clones, project, base, commit).await;
            };
            mirror.require(commit).await?;
            let project = mirror.project(project);
            let diff = self.clones.diff(&project.root, Some(base), commit).await;
            diff.map_err(Error::from)
        })
    }
}
