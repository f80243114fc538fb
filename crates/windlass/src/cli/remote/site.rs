//! Branches of remotes, as the place where changes land.

use futures::future::BoxFuture;
use windlass_core::Result;
use windlass_tasks::{
    AdvanceResult, Commit, LandingCopy, LandingSite, MergeRequest, MergeResult, Project,
    WorkingCopy,
};
use windlass_workspace::Clones;

use super::super::publish::PushFailure;
use super::mirror::{RemoteMirror, Results};
use super::workspace::RemoteProjects;

/// Lands changes on the remotes of projects that have one, and in the repositories of others.
#[derive(Debug, Clone)]
pub(in crate::cli) struct RemoteSite {
    pub(in crate::cli) clones: Clones,
    pub(in crate::cli) remotes: RemoteProjects,
}

impl LandingSite for RemoteSite {
    fn current_branch<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<Option<String>>> {
        Box::pin(async move {
            let Some(mirror) = self.remotes.mirror(project) else {
                return self.clones.current_branch(project).await;
            };
            mirror.sync(Results::Of(&[])).await?;
            self.clones.current_branch(&mirror.project(project)).await
        })
    }

    fn contains<'a>(
        &'a self,
        project: &'a Project,
        branch: &'a str,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let Some(mirror) = self.remotes.mirror(project) else {
                return self.clones.contains(project, branch, commit).await;
            };
            mirror.sync(Results::All).await?;
            // What `task add` pushed for the branch is not on the branch yet.
            let git = mirror.git().await?;
            let name = format!("refs/windlass-remote/branches/{branch}");
            Ok(git.is_ancestor(commit, &name).await)
        })
    }

    fn merge<'a>(
        &'a self,
        project: &'a Project,
        request: MergeRequest<'a>,
    ) -> BoxFuture<'a, Result<MergeResult>> {
        Box::pin(async move {
            let Some(mirror) = self.remotes.mirror(project) else {
                return LandingSite::merge(&self.clones, project, request).await;
            };
            mirror.sync(Results::All).await?;
            let git = mirror.git().await?;
            let name = format!("refs/windlass-remote/branches/{}", request.branch);
            let before = git.local(&name).await.unwrap_or_default();
            let local = mirror.project(project);
            Ok(
                match LandingSite::merge(&self.clones, &local, request).await? {
                    MergeResult::Ready(copy) => MergeResult::Ready(Box::new(RemoteLanding {
                        copy,
                        mirror,
                        branch: request.branch.to_owned(),
                        before,
                    })),
                    other => other,
                },
            )
        })
    }
}

/// Changes on top of a branch of a remote.
#[derive(Debug)]
struct RemoteLanding {
    copy: Box<dyn LandingCopy>,
    mirror: RemoteMirror,
    branch: String,
    /// The commit of the remote's branch; empty if it does not exist there.
    before: String,
}

impl RemoteLanding {
    async fn push(&self) -> Result<AdvanceResult> {
        let git = self.mirror.git().await?;
        let reference = format!("refs/heads/{}", self.branch);
        let commit = &self.copy.commit().id;
        Ok(match git.push(commit, &reference, &self.before).await? {
            Ok(()) => AdvanceResult::Moved,
            Err(PushFailure::Ahead) => match git.commit(&reference).await? {
                Some(there) if there == *commit => AdvanceResult::Moved,
                _ => AdvanceResult::Stale,
            },
            Err(failure) => AdvanceResult::NotNow(failure.reason(&self.mirror.url)),
        })
    }
}

impl LandingCopy for RemoteLanding {
    fn working_copy(&self) -> &dyn WorkingCopy {
        self.copy.working_copy()
    }

    fn commit(&self) -> &Commit {
        self.copy.commit()
    }

    /// The branch of the mirror moves first, which copies the objects there. The remote's decides: the mirror follows it.
    fn advance(&self) -> BoxFuture<'_, Result<AdvanceResult>> {
        Box::pin(async move {
            match self.copy.advance().await? {
                AdvanceResult::Moved => self.push().await,
                other => Ok(other),
            }
        })
    }
}
