//! The results of tasks that other machines worked on.
//!
//! The store says which commits they are. A remote that has another commit on the branch of a task changes nothing here.

use std::collections::BTreeSet;
use std::path::PathBuf;

use windlass_tasks::{Task, TaskStatus, TaskStore};

use super::git::{RemoteGit, TaskRefs};
use crate::cli::exit::CliError;

/// How many characters of a commit are shown.
const SHORT: usize = 10;

/// Returns the repository of a task's project on this machine, with the task's branch and changes in it. They are fetched
/// if the project has a remote.
pub(in crate::cli) async fn root_of(
    store: &dyn TaskStore,
    task: &Task,
) -> Result<PathBuf, CliError> {
    let project = store.project(task.project_id).await?;
    let root = project.root.clone();
    let Some(url) = project.remote.as_deref() else {
        if project.here {
            return Ok(root);
        }
        return Err(CliError::usage(format!(
            "project {} has no checkout on this machine, and no remote: run windlass project add in a checkout",
            project.name
        )));
    };
    if !project.here {
        std::fs::create_dir_all(&root).map_err(|error| {
            CliError::failed(format!("{} cannot be created: {error}", root.display()))
        })?;
    }
    let git = RemoteGit::new(&root, url).await?;
    if !project.here && !root.join("HEAD").is_file() {
        git.run(&["init", "--quiet", "--bare", "."]).await?;
    }
    let refs = TaskRefs {
        store: store.store_id().await?,
    };
    fetch(&git, &refs, store, task).await?;
    Ok(root)
}

async fn fetch(
    git: &RemoteGit<'_>,
    refs: &TaskRefs,
    store: &dyn TaskStore,
    task: &Task,
) -> Result<(), CliError> {
    let attempts = store.attempts(task.id).await?;
    let proved = store.proof(task.id).await?.map(|proof| proof.commit);
    let of_attempt = attempts
        .iter()
        .find(|attempt| attempt.number == task.attempt)
        .and_then(|attempt| attempt.commit.clone());
    let is_completed = task.status == TaskStatus::Completed;
    let result = proved.or(of_attempt.filter(|_| is_completed));
    let branch = task.branch.as_deref().filter(|_| result.is_some());
    let commits = attempts.iter().filter_map(|attempt| attempt.commit.clone());
    let wanted: BTreeSet<String> = commits.chain(result.clone()).collect();
    let mut is_here = true;
    for commit in &wanted {
        is_here = is_here && git.has(commit).await;
    }
    if !is_here {
        git.fetch(&refs.of_task(task.id)).await?;
    }
    let (Some(branch), Some(result)) = (branch, result) else {
        return Ok(());
    };
    let name = format!("refs/heads/{branch}");
    if !git.has(&result).await {
        let there = git.commit(&name).await?;
        let short = |commit: &str| commit.chars().take(SHORT).collect::<String>();
        let there = match there {
            Some(there) => format!("the remote has {} there", short(&there)),
            None => "the remote does not have that branch".to_owned(),
        };
        return Err(CliError::failed(format!(
            "the result of task {} is commit {} on {branch}, but {there}: it is not used",
            task.id,
            short(&result)
        )));
    }
    if git.local(&name).await.as_ref() != Some(&result) {
        let args = ["update-ref", "-m", "windlass: fetch", &name, &result];
        git.run(&args).await?;
    }
    Ok(())
}
