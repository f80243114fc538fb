//! Publishes a commit as a branch in the user's repository, atomically and once.
//!
//! The objects are copied first, as one pack that git itself has synced to disk; they are
//! unreachable until the branch moves. Then the branch moves by compare-and-swap. A branch with an
//! earlier attempt at the same task may be replaced; one with a later attempt, or with anything
//! else, may not.

use windlass_tasks::Commit;

use crate::clone::OpenClone;
use crate::error::{Error, Result};
use crate::git::{Git, RefStatus, check_branch, stale_lock};

/// How often to try to update a branch: first as if it were new, then from its current commit, and
/// again if it moves concurrently.
const MAX_ATTEMPTS: u32 = 4;

/// The trailers of a commit message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Trailers {
    pub(crate) task: Option<String>,
    pub(crate) attempt: Option<u32>,
}

/// Makes `branch` point to `commit`.
pub(crate) async fn publish(
    git: &Git,
    clone: &OpenClone,
    commit: &Commit,
    branch: &str,
) -> Result<()> {
    check_branch(branch)?;
    let repository = &clone.repository;
    let mut error = String::new();
    for attempt in 0..MAX_ATTEMPTS {
        // Usually the branch does not exist yet: the compare-and-swap detects that.
        let current = if attempt == 0 {
            None
        } else {
            repository.branch(git, branch).await?
        };
        if current
            .as_ref()
            .is_some_and(|status| status.commit == commit.id)
        {
            return Ok(());
        }
        if let Some(current) = &current {
            ensure_replaceable(git, clone, commit, branch, current).await?;
        }
        clone
            .git
            .export_pack(git, repository, &commit.id, &[&clone.base])
            .await?;
        let old = current.map_or_else(|| "0".repeat(commit.id.len()), |status| status.commit);
        let name = format!("refs/heads/{branch}");
        let output = repository
            .update_ref(git, &name, &commit.id, &old, "publish")
            .await?;
        if output.code == 0 {
            return Ok(());
        }
        error = output.into_error().to_string();
        stale_lock::wait_or_remove(&repository.common, &name)
            .await
            .map_err(|error| Error::branch(branch, format!("is still locked: {error}")))?;
    }
    Err(Error::branch(branch, format!("cannot be updated: {error}")))
}

async fn ensure_replaceable(
    git: &Git,
    clone: &OpenClone,
    commit: &Commit,
    branch: &str,
    current: &RefStatus,
) -> Result<()> {
    if let Some(path) = &current.checked_out {
        return Err(Error::branch(
            branch,
            format!("is checked out in {path}: check out another branch there, then try again"),
        ));
    }
    let theirs = trailers(git, clone, &current.commit).await?;
    let ours = trailers(git, clone, &commit.id).await?;
    let short: String = current.commit.chars().take(10).collect();
    if ours.task.is_none() || theirs.task != ours.task {
        return Err(Error::branch(
            branch,
            format!("contains other work ({short}): rename or delete it, then try again"),
        ));
    }
    if theirs.attempt >= ours.attempt {
        let attempt = theirs.attempt.unwrap_or_default();
        return Err(Error::branch(
            branch,
            format!("superseded: attempt {attempt} was published first ({short})"),
        ));
    }
    Ok(())
}

async fn trailers(git: &Git, clone: &OpenClone, commit: &str) -> Result<Trailers> {
    let output = clone
        .git
        .command(git)
        .run(&["cat-file", "commit", commit])
        .await?;
    Ok(read_trailers(&output.text()))
}

/// Parses `Task-Id` and `Attempt` from the last paragraph of a commit message.
fn read_trailers(commit: &str) -> Trailers {
    let last = commit.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let mut trailers = Trailers::default();
    for line in last.lines() {
        match line.split_once(": ") {
            Some(("Task-Id", id)) => trailers.task = Some(id.trim().to_owned()),
            Some(("Attempt", number)) => trailers.attempt = number.trim().parse().ok(),
            _ => {}
        }
    }
    trailers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p4_trailers_are_read_from_the_last_paragraph_only() {
        let commit = "tree a\nparent b\n\nTitle\n\nTask-Id: 9\n\nbody\n\nTask-Id: 7\nAttempt: 2\n";
        let expected = Trailers {
            task: Some("7".into()),
            attempt: Some(2),
        };
        assert_eq!(read_trailers(commit), expected);
        assert_eq!(read_trailers("tree a\n\nTitle\n"), Trailers::default());
    }
}
