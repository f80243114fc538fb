//! The commits that tasks start from must be on the remote before a worker elsewhere can fetch them.

use windlass_core::Error;

use super::git::{RemoteGit, TaskRefs};
use crate::cli::exit::CliError;
use crate::cli::queue::ProjectQueue;

/// Makes sure that the remote of a project has the commits that new tasks start from, and returns the branch that they
/// are for. Commits that the remote's branch does not have are pushed under `refs/windlass/`. Without a remote, nothing
/// happens.
pub(in crate::cli) async fn publish_target(
    queue: &ProjectQueue,
    target: Option<String>,
) -> Result<Option<String>, CliError> {
    let project = &queue.project;
    let Some(url) = project.remote.as_deref() else {
        return Ok(target);
    };
    let git = RemoteGit::new(&project.root, url).await?;
    let branch = match target {
        Some(target) => target,
        None => git
            .text(&["symbolic-ref", "--quiet", "--short", "HEAD"])
            .await
            .ok_or_else(|| {
                CliError::usage("no branch is checked out: name one with --target BRANCH")
            })?,
    };
    let refs = TaskRefs {
        store: queue.store.store_id().await?,
    };
    match send(&git, &refs, &branch).await? {
        Ok(()) => Ok(Some(branch)),
        Err(why) => Err(CliError::usage(why)),
    }
}

/// Pushes the commits of a branch that the remote does not have. The inner error is a sentence.
async fn send(
    git: &RemoteGit<'_>,
    refs: &TaskRefs,
    branch: &str,
) -> Result<Result<(), String>, Error> {
    let name = format!("refs/heads/{branch}");
    let there = git.commit(&name).await?;
    let Some(here) = git.local(&name).await else {
        return Ok(match there {
            Some(_) => Ok(()),
            None => Err(format!(
                "there is no branch {branch}, neither here nor on the remote: create it first"
            )),
        });
    };
    if let Some(there) = there {
        let is_there = there == here || git.is_ancestor(&here, &there).await;
        if is_there {
            return Ok(Ok(()));
        }
    }
    let reference = refs.target(branch);
    let lease = match git.commit(&reference).await? {
        Some(sent) if sent == here => return Ok(Ok(())),
        // Commits that were made here may be replaced by newer ones.
        Some(sent) if git.has(&sent).await => sent,
        Some(_) => {
            return Ok(Err(format!(
                "another machine added tasks for {branch} with commits that are not here, and neither are on the remote's \
                 {branch}: push the branch there, and pull it here"
            )));
        }
        None => String::new(),
    };
    Ok(match git.push(&here, &reference, &lease).await? {
        Ok(()) => Ok(()),
        Err(failure) => Err(format!(
            "the remote does not have the commits of {branch}, and they cannot be pushed: {}",
            git.error(&failure)
        )),
    })
}
