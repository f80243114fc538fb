//! Publishes a commit as a branch in the user's repository, atomically and once.
//!
//! The objects are copied first, and synced to disk; they are unreachable until the branch moves.
//! Like a fetch, a small change is stored as loose objects and a large one as a pack: every git
//! command opens every pack, so a pack for each task would slow all of them down. Then the branch
//! moves by compare-and-swap, and the ref that keeps the change is created with it. A branch with an
//! earlier attempt at the same task may be replaced; one with a later attempt, or with anything
//! else, may not.

use windlass_tasks::Commit;

use crate::clone::OpenClone;
use crate::error::{Error, Result};
use crate::git::{Git, GitOutput, RefStatus, check_branch, stale_lock};

/// How often to try to update a branch: first as if it were new, then from its current commit, and
/// again if it moves concurrently.
const MAX_ATTEMPTS: u32 = 4;

/// The number of changed files up to which a change is stored as loose objects. Git itself unpacks what it fetches
/// up to 100 objects.
const MAX_LOOSE_FILES: usize = 50;

/// The exit code of the script if the objects could not be copied.
const COPY_FAILED: i32 = 97;

/// Copies objects from the private git directory, and then updates refs. Git syncs packs, but loose objects only
/// with a setting; before version 2.36 it had another name.
const PUBLISH_SCRIPT: &str = r#"
if [ "$loose" = true ]; then
    printf '%s' "$revs" | git "$@" --git-dir="$private" pack-objects --revs --stdout --quiet --delta-base-offset |
        GIT_OBJECT_DIRECTORY="$objects" git "$@" --git-dir="$private" \
            -c core.fsyncObjectFiles=true -c core.fsync=objects,derived-metadata unpack-objects -q
else
    printf '%s' "$revs" |
        GIT_OBJECT_DIRECTORY="$objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$private/objects" git "$@" \
            --git-dir="$private" pack-objects --revs --quiet --delta-base-offset "$objects/pack/pack"
fi || exit 97
printf '%s' "$updates" | git "$@" update-ref -m 'windlass: publish' --stdin
"#;

/// The trailers of a commit message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Trailers {
    pub(crate) task: Option<String>,
    pub(crate) attempt: Option<u32>,
}

/// Makes `branch` point to `commit`. Returns `true` if the change is also kept.
pub(crate) async fn publish(
    git: &Git,
    clone: &OpenClone,
    commit: &Commit,
    branch: &str,
) -> Result<bool> {
    check_branch(branch)?;
    let repository = &clone.repository;
    let name = format!("refs/heads/{branch}");
    let new = "0".repeat(commit.id.len());
    let kept_ref = clone.origin.as_ref().map(|origin| &origin.ref_name);
    let mut error = String::new();
    for attempt in 0..MAX_ATTEMPTS {
        // Usually neither ref exists yet: the compare-and-swap detects that.
        let is_first = attempt == 0;
        let current = if is_first {
            None
        } else {
            repository.branch(git, branch).await?
        };
        if current
            .as_ref()
            .is_some_and(|status| status.commit == commit.id)
        {
            return Ok(false);
        }
        if let Some(current) = &current {
            ensure_replaceable(git, clone, commit, branch, current).await?;
        }
        let old = current.map_or_else(|| new.clone(), |status| status.commit);
        let mut updates = vec![(name.as_str(), old.as_str())];
        updates.extend(
            kept_ref
                .filter(|_| is_first)
                .map(|kept| (kept.as_str(), new.as_str())),
        );
        let output = copy_and_update(git, clone, commit, &updates).await?;
        if output.code == 0 {
            return Ok(updates.len() > 1);
        }
        if output.code == COPY_FAILED {
            return Err(output.into_error());
        }
        error = output.into_error().to_string();
        stale_lock::wait_or_remove(&repository.common, &name)
            .await
            .map_err(|error| Error::branch(branch, format!("is still locked: {error}")))?;
    }
    Err(Error::branch(branch, format!("cannot be updated: {error}")))
}

/// Copies the objects of a commit into the user's repository, and moves these refs from their old commits to it: all
/// of them or none.
async fn copy_and_update(
    git: &Git,
    clone: &OpenClone,
    commit: &Commit,
    updates: &[(&str, &str)],
) -> Result<GitOutput> {
    let objects = clone.repository.common.join("objects");
    let pack = objects.join("pack");
    std::fs::create_dir_all(&pack).map_err(|error| Error::io(&pack, &error))?;
    let diff = git.known().diff(&clone.base, &commit.tree);
    let is_small = diff.is_some_and(|diff| diff.files() <= MAX_LOOSE_FILES);
    let lines = updates
        .iter()
        .map(|(name, old)| format!("update {name} {} {old}\n", commit.id));
    let command = clone.repository.ref_command(git);
    command
        .variable("private", clone.git.dir())
        .variable("objects", objects)
        .variable("loose", is_small.to_string())
        .variable("revs", format!("{}\n^{}\n", commit.id, clone.base))
        .variable("updates", lines.collect::<String>())
        .script("update-ref", PUBLISH_SCRIPT)
        .await
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
