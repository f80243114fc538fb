//! The base of an attempt at a task that builds on others: the target with their changes merged in.
//!
//! A base that is a new commit is stored in the user's repository, with a ref for as long as the attempt's clone
//! exists. Later it is part of the history of what the attempt published or kept.

use windlass_tasks::{AttemptRef, BaseConflict, BaseRequest};

use super::{Clones, OpenClone, ScratchRepo, kept_ref};
use crate::error::Result;
use crate::git::Repository;
use crate::stack::{Stack, StackedBase};

/// Returns the ref that keeps the base of an attempt while its clone exists, next to the one that keeps its change.
fn base_ref(kept_ref: &str) -> String {
    kept_ref.replace("/attempt-", "/base-")
}

/// Merges the requested changes onto the commit `target`, and stores the result in the repository.
pub(super) async fn stacked_base(
    clones: &Clones,
    repository: &Repository,
    (format, target): (&str, &str),
    attempt: AttemptRef,
    request: &BaseRequest,
) -> Result<std::result::Result<StackedBase, BaseConflict>> {
    if request.changes.is_empty() {
        return Ok(Ok(StackedBase::plain(target.to_owned())));
    }
    let scratch = ScratchRepo::new(clones, repository, format)?;
    let stack = Stack {
        git: &clones.git,
        objects: &scratch.git,
        target,
    };
    let parts = stack.missing(repository, request).await?;
    let heads = stack.heads(&parts).await?;
    let (commit, has_conflict) = match stack.merge(&heads, request.keeps_conflicts).await? {
        Ok(merged) => merged,
        Err(conflict) => return Ok(Err(conflict)),
    };
    if commit != target {
        let mut known: Vec<&str> = parts.iter().map(|part| part.commit.as_str()).collect();
        known.push(target);
        if !known.contains(&commit.as_str()) {
            let export = scratch
                .git
                .export_pack(&clones.git, repository, &commit, &known);
            export.await?;
        }
        let name = base_ref(&kept_ref(&clones.store, attempt));
        let args = ["update-ref", "--no-deref", &name, &commit];
        repository.ref_command(&clones.git).run(&args).await?;
    }
    Ok(Ok(StackedBase {
        commit,
        parts,
        has_conflict,
    }))
}

/// Deletes the ref of an attempt's base, if there is one.
pub(super) async fn forget_base(clones: &Clones, clone: &OpenClone) {
    let repository = &clone.repository;
    let Some(origin) = clone.origin.as_ref() else {
        return;
    };
    let name = base_ref(&origin.ref_name);
    // A clone that is opened again after a crash does not know its parts.
    if clone.base_parts.is_empty() && !repository.common.join(&name).exists() {
        return;
    }
    let command = repository.ref_command(&clones.git);
    if let Err(error) = command.run(&["update-ref", "-d", &name]).await {
        tracing::warn!(name, %error, "the ref of a base was not deleted");
    }
}
