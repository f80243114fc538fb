//! Keeps the change of every attempt, whatever its outcome, as a ref in the user's repository.
//!
//! The ref is `refs/windlass/STORE/task-N/attempt-M`. Its commit has the base as its parent. Git
//! fetches and clones no such refs unless it is asked to, and does not collect their objects. A ref
//! is created and never moved. [`prune`] deletes old ones; [`start`] applies a kept change to a
//! newer base.

mod prune;

use std::fs;
use std::path::{Path, PathBuf};

use windlass_tasks::Commit;

use crate::change::{self, CloneSnapshot};
use crate::clone::{CloneOrigin, Clones, OpenClone, Retention};
use crate::error::{Error, Result};
use crate::git::{Git, Repository, is_hash, stale_lock};

use prune::prune;

/// How often to try to create a ref: again after a lock of a killed process was removed, and again
/// with another name.
const MAX_ATTEMPTS: u32 = 3;
/// How many characters of the commit distinguish a second change of the same attempt.
const SUFFIX_LEN: usize = 10;

/// Keeps the current files of a clone. Returns `None` if the attempt changed nothing.
///
/// The processes that worked in the clone have ended, perhaps in the middle of a git command.
pub(crate) async fn keep(
    clones: &Clones,
    clone: &OpenClone,
    origin: &CloneOrigin,
    message: String,
) -> Result<Option<Commit>> {
    let mut commit = make_commit(&clones.git, clone, origin, &message).await;
    if matches!(commit, Err(Error::DiskFull { .. })) {
        // What tests and tools have built is not part of a change, and may be what fills the disk.
        remove_ignored_files(&clones.git, clone).await?;
        commit = make_commit(&clones.git, clone, origin, &message).await;
    }
    let Some(commit) = commit? else {
        return Ok(None);
    };
    clone
        .git
        .export_pack(&clones.git, &clone.repository, &commit.id, &[&clone.base])
        .await?;
    let kept = create_ref(&clones.git, clone, &origin.ref_name, commit).await?;
    prune_if_due(clones, &clone.repository).await;
    Ok(Some(kept))
}

/// Keeps a commit that is in the user's repository already, because it was published.
pub(crate) async fn keep_published(
    clones: &Clones,
    clone: &OpenClone,
    origin: &CloneOrigin,
    commit: Commit,
) -> Result<Commit> {
    let kept = create_ref(&clones.git, clone, &origin.ref_name, commit).await?;
    prune_if_due(clones, &clone.repository).await;
    Ok(kept)
}

/// Commits the current files in the private git directory.
async fn make_commit(
    git: &Git,
    clone: &OpenClone,
    origin: &CloneOrigin,
    message: &str,
) -> Result<Option<Commit>> {
    let index = copy_index(clone)?;
    let CloneSnapshot { tree, differences } = change::snapshot_in(git, clone, &index).await?;
    if differences.is_empty() || Some(&tree) == origin.start_tree.as_ref() {
        return Ok(None);
    }
    let command = clone.git.command(git).input(message);
    let args = ["commit-tree", "-p", &clone.base, "-F", "-", &tree];
    let id = command.run(&args).await?.text();
    Ok(Some(Commit { id, tree }))
}

/// Copies the index. The original may still be locked by a git command that was killed.
fn copy_index(clone: &OpenClone) -> Result<PathBuf> {
    let index = clone.git.index();
    let copy = index.with_file_name("keep-index");
    let lock = index.with_file_name("keep-index.lock");
    match fs::remove_file(&lock) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::io(&lock, &error));
        }
        _ => {}
    }
    fs::copy(&index, &copy).map_err(|error| Error::io(&copy, &error))?;
    Ok(copy)
}

async fn remove_ignored_files(git: &Git, clone: &OpenClone) -> Result<()> {
    let command = clone.git.command_in(git, &clone.work);
    command.run(&["clean", "-ffdXq"]).await?;
    Ok(())
}

/// Creates the ref. If it exists with the same change, its commit is returned. If it
/// exists with another change, that one stays, and the ref gets a longer name.
async fn create_ref(git: &Git, clone: &OpenClone, name: &str, commit: Commit) -> Result<Commit> {
    let repository = &clone.repository;
    let new = "0".repeat(commit.id.len());
    let mut name = name.to_owned();
    let mut error = String::new();
    for _ in 0..MAX_ATTEMPTS {
        let output = repository
            .update_ref(git, &name, &commit.id, &new, "keep")
            .await?;
        if output.code == 0 {
            return Ok(commit);
        }
        match existing(git, clone, &name).await? {
            Some(kept) if kept.tree == commit.tree => return Ok(kept),
            Some(_) => name = format!("{name}-{}", &commit.id[..SUFFIX_LEN]),
            None => {
                error = output.into_error().to_string();
                stale_lock::wait_or_remove(&repository.common, &name)
                    .await
                    .map_err(|error| not_kept(repository, &name, &error.to_string()))?;
            }
        }
    }
    Err(not_kept(repository, &name, &error))
}

fn not_kept(repository: &Repository, name: &str, problem: &str) -> Error {
    let problem = format!("the change cannot be kept as {name}: {problem}");
    Error::repository(&repository.root, problem)
}

/// Returns the commit of a ref, if it exists.
async fn existing(git: &Git, clone: &OpenClone, name: &str) -> Result<Option<Commit>> {
    let Some(id) = clone.repository.ref_commit(git, name).await? else {
        return Ok(None);
    };
    let tree = format!("{id}^{{tree}}");
    let output = clone.git.command(git).output(&["rev-parse", &tree]).await?;
    // A ref of another kind, or to an object that is missing, is another change.
    let tree = if output.code == 0 {
        output.text()
    } else {
        String::new()
    };
    Ok(Some(Commit { id, tree }))
}

/// Deletes old refs from time to time. A failure is not the attempt's.
pub(crate) async fn prune_if_due(clones: &Clones, repository: &Repository) {
    if !clones.prune_timer.is_due(clones.retention) {
        return;
    }
    match prune(clones, repository).await {
        Ok(0) => {}
        Ok(deleted) => tracing::info!(deleted, "old changes of attempts were deleted"),
        Err(error) => tracing::warn!(%error, "old changes of attempts were not deleted"),
    }
}

impl Clones {
    /// Returns what a kept change did, as a unified diff from its base. A long diff is truncated.
    pub async fn kept_diff(&self, root: &Path, commit: &str) -> Result<String> {
        let repository = Repository::find(root)?;
        let exists = is_hash(commit)
            && repository
                .query(
                    &self.git,
                    &["cat-file", "-e", &format!("{commit}^{{commit}}")],
                )
                .await?
                .code
                == 0;
        if exists {
            return self.diff(root, None, commit).await;
        }
        let Retention { max_age, max_count } = self.retention;
        let days = max_age.as_secs() / (24 * 60 * 60);
        let problem = format!(
            "the change {commit} is not in this repository: the last {max_count} changes are kept for {days} days, \
             where the attempt ran"
        );
        Err(Error::repository(root, problem))
    }
}
