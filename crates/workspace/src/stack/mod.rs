//! Merges the changes that a task builds on onto its target.
//!
//! The merges are made with git's objects alone, in a private git directory, and never in a work tree. They are
//! deterministic: the same target and the same changes give the same commit.

mod conflict;
mod merge;

use windlass_tasks::{BaseConflict, BasePart, BaseRequest};

use crate::error::{Error, Result};
use crate::git::{Git, PrivateGitDir, Repository, is_hash};

pub(crate) use merge::{
    MergeConflict, MergedOnto, apply_onto, is_ancestor, merge_onto, merge_trees,
};

/// The base of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StackedBase {
    pub(crate) commit: String,
    /// The changes in it that are not in its target.
    pub(crate) parts: Vec<BasePart>,
    /// The base is a merge of two sides that conflict, with the files of the first.
    pub(crate) has_conflict: bool,
}

impl StackedBase {
    /// A base without changes of other tasks.
    pub(crate) fn plain(commit: String) -> Self {
        Self {
            commit,
            parts: Vec::new(),
            has_conflict: false,
        }
    }
}

/// Merges onto one target.
pub(crate) struct Stack<'a> {
    pub(crate) git: &'a Git,
    /// Where the merges are made.
    pub(crate) objects: &'a PrivateGitDir,
    /// The commit to merge onto.
    pub(crate) target: &'a str,
}

impl Stack<'_> {
    /// Returns the requested changes that the target does not contain.
    pub(crate) async fn missing(
        &self,
        repository: &Repository,
        request: &BaseRequest,
    ) -> Result<Vec<BasePart>> {
        let mut parts = Vec::new();
        for change in &request.changes {
            let BasePart { task, commit } = &change.part;
            let landed = change.landed.as_deref().filter(|landed| is_hash(landed));
            if let Some(landed) = landed
                && self.exists(landed).await?
                && is_ancestor(self.git, self.objects, landed, self.target).await?
            {
                continue;
            }
            if !is_hash(commit) || !self.exists(commit).await? {
                let problem = format!(
                    "does not have the change of task {task} ({commit}): run a worker where that task was done, or \
                     fetch its branch"
                );
                return Err(Error::repository(&repository.root, problem));
            }
            if !is_ancestor(self.git, self.objects, commit, self.target).await? {
                parts.push(change.part.clone());
            }
        }
        Ok(parts)
    }

    async fn exists(&self, commit: &str) -> Result<bool> {
        let object = format!("{commit}^{{commit}}");
        let command = self.objects.command(self.git);
        Ok(command.output(&["cat-file", "-e", &object]).await?.code == 0)
    }

    /// Returns the changes that no other one contains, in the same order.
    pub(crate) async fn heads<'p>(&self, parts: &'p [BasePart]) -> Result<Vec<&'p BasePart>> {
        if parts.len() < 2 {
            return Ok(parts.iter().collect());
        }
        let mut args = vec!["merge-base", "--independent"];
        args.extend(parts.iter().map(|part| part.commit.as_str()));
        let independent = self.objects.command(self.git).run(&args).await?.text();
        let mut heads: Vec<&BasePart> = Vec::new();
        for part in parts {
            let is_head = independent.lines().any(|commit| commit == part.commit);
            if is_head && heads.iter().all(|head| head.commit != part.commit) {
                heads.push(part);
            }
        }
        Ok(heads)
    }

    /// Merges these changes in order. Returns the commit, and whether it has a conflict that an agent resolves.
    pub(crate) async fn merge(
        &self,
        heads: &[&BasePart],
        keeps_conflicts: bool,
    ) -> Result<std::result::Result<(String, bool), BaseConflict>> {
        let mut commit = self.target.to_owned();
        for (at, head) in heads.iter().enumerate() {
            match merge_onto(self.git, self.objects, &commit, &head.commit).await? {
                MergedOnto::Merged(merged) => commit = merged,
                MergedOnto::Conflict(conflict) => {
                    let found = self.explain(&heads[..at], head, conflict).await?;
                    let is_last = at + 1 == heads.len();
                    if !keeps_conflicts || !is_last || found.with.is_empty() {
                        return Ok(Err(found));
                    }
                    let commit =
                        merge::keep_ours(self.git, self.objects, &commit, &head.commit).await?;
                    return Ok(Ok((commit, true)));
                }
            }
        }
        Ok(Ok((commit, false)))
    }

    /// Finds what a change conflicts with: the target, one of the changes before it, or all of them together.
    async fn explain(
        &self,
        before: &[&BasePart],
        part: &BasePart,
        conflict: MergeConflict,
    ) -> Result<BaseConflict> {
        let with_target = merge_onto(self.git, self.objects, self.target, &part.commit).await?;
        let (with, conflict) = match with_target {
            MergedOnto::Conflict(conflict) => (Vec::new(), conflict),
            MergedOnto::Merged(_) => self.conflicting_pair(before, part, conflict).await?,
        };
        Ok(BaseConflict {
            part: part.clone(),
            with: with.into_iter().cloned().collect(),
            files: conflict::files(self.git, self.objects, &conflict).await?,
        })
    }

    async fn conflicting_pair<'p>(
        &self,
        before: &[&'p BasePart],
        part: &BasePart,
        conflict: MergeConflict,
    ) -> Result<(Vec<&'p BasePart>, MergeConflict)> {
        for other in before {
            let onto = merge_onto(self.git, self.objects, self.target, &other.commit).await?;
            let MergedOnto::Merged(onto) = onto else {
                continue;
            };
            let both = merge_onto(self.git, self.objects, &onto, &part.commit).await?;
            if let MergedOnto::Conflict(conflict) = both {
                return Ok((vec![*other], conflict));
            }
        }
        Ok((before.to_vec(), conflict))
    }
}
