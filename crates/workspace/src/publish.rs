//! Bringing a commit into the user's repository as a branch: all of it or nothing, and once.
//!
//! The objects go first, as one pack that git itself has synced to disk; until the branch moves, nobody
//! sees them. Then the branch moves by compare-and-swap. A branch that already holds an earlier attempt at
//! the same task may be replaced; one that holds a later attempt, or anything else, may not.

use windlass_core::workspace::Commit;

use crate::clone::OpenClone;
use crate::error::{Error, Result};
use crate::git::{Git, RefStatus, check_branch, stale_lock};

/// How often a branch is tried: once as if it were new, then as it stands, again where it moves under us.
const MAX_ATTEMPTS: u32 = 4;

/// What the trailers of a commit say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Trailers {
    pub(crate) task: Option<String>,
    pub(crate) attempt: Option<u32>,
}

/// Has `branch` stand at `commit`.
pub(crate) async fn publish(
    git: &Git,
    opened: &OpenClone,
    commit: &Commit,
    branch: &str,
) -> Result<()> {
    check_branch(branch)?;
    let repository = &opened.repository;
    let mut said = String::new();
    for look in 0..MAX_ATTEMPTS {
        // Nearly always there is no such branch yet: the swap itself finds out.
        let standing = match look {
            0 => None,
            _ => repository.branch(git, branch).await?,
        };
        if standing
            .as_ref()
            .is_some_and(|found| found.commit == commit.id)
        {
            return Ok(());
        }
        if let Some(standing) = &standing {
            ensure_replaceable(git, opened, commit, branch, standing).await?;
        }
        opened
            .git
            .export_pack(git, repository, &commit.id, &[&opened.base])
            .await?;
        let old = standing.map_or_else(|| "0".repeat(commit.id.len()), |found| found.commit);
        let name = format!("refs/heads/{branch}");
        let answer = repository
            .update_ref(git, &name, &commit.id, &old, "publish")
            .await?;
        if answer.code == 0 {
            return Ok(());
        }
        said = answer.into_error().to_string();
        stale_lock::wait_or_remove(&repository.common, branch)
            .await
            .map_err(|error| Error::branch(branch, format!("stays locked: {error}")))?;
    }
    Err(Error::branch(branch, format!("cannot be moved: {said}")))
}

async fn ensure_replaceable(
    git: &Git,
    opened: &OpenClone,
    commit: &Commit,
    branch: &str,
    standing: &RefStatus,
) -> Result<()> {
    if let Some(place) = &standing.checked_out {
        return Err(Error::branch(
            branch,
            format!("is checked out in {place}: check out another branch there, then try again"),
        ));
    }
    let theirs = trailers(git, opened, &standing.commit).await?;
    let ours = trailers(git, opened, &commit.id).await?;
    let short: String = standing.commit.chars().take(10).collect();
    if ours.task.is_none() || theirs.task != ours.task {
        return Err(Error::branch(
            branch,
            format!("holds other work ({short}): rename or delete it, then try again"),
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

async fn trailers(git: &Git, opened: &OpenClone, commit: &str) -> Result<Trailers> {
    let said = opened
        .git
        .command(git)
        .run(&["cat-file", "commit", commit])
        .await?;
    Ok(read_trailers(&said.text()))
}

/// The `Task-Id` and `Attempt` in the last paragraph of a commit.
fn read_trailers(commit: &str) -> Trailers {
    let last = commit.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let mut found = Trailers::default();
    for line in last.lines() {
        match line.split_once(": ") {
            Some(("Task-Id", id)) => found.task = Some(id.trim().to_owned()),
            Some(("Attempt", number)) => found.attempt = number.trim().parse().ok(),
            _ => {}
        }
    }
    found
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
