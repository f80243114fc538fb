//! Merges a finished branch into the branch that the user has checked out.
//!
//! Everything is checked first, in a private git directory: whether the branches can be merged,
//! what the result is, and whether an uncommitted edit would be lost. Only then are the files
//! updated, by git's own two-tree merge, which succeeds or fails as a whole. The branch moves last,
//! by compare-and-swap. Hooks do not run.

use std::collections::BTreeSet;
use std::path::Path;

use crate::change::{self, FileDiff};
use crate::checkout_files::{is_in_the_way, restore};
use crate::clone::{Clones, ScratchRepo};
use crate::error::{Error, Result};
use crate::git::{Git, PrivateGitDir, Repository};
use crate::stack::{self, is_ancestor};

/// The outcome of a merge or of its preview.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeOutcome {
    /// The branch was merged.
    Merged(Merged),
    /// The current branch already contains the branch.
    UpToDate,
    /// Both sides changed the same lines. Nothing was changed.
    Conflicts(Vec<String>),
    /// The merge would overwrite these files, which have uncommitted edits or are untracked.
    /// Nothing was changed.
    WouldOverwrite(Vec<String>),
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The branch that moved.
    pub into: String,
    /// Its commit before the merge.
    pub before: String,
    /// Its commit after the merge.
    pub after: String,
    /// Whether the branch was fast-forwarded, without a merge commit.
    pub fast_forward: bool,
    /// The files that changed, sorted.
    pub files: Vec<String>,
}

impl Merged {
    /// Returns the command that undoes the merge. It keeps uncommitted edits.
    pub fn undo(&self) -> String {
        format!("git reset --keep {}", self.before)
    }
}

/// A merge that is known to be possible.
struct PossibleMerge {
    repository: Repository,
    scratch: ScratchRepo,
    merged: Merged,
    theirs: String,
    diffs: Vec<FileDiff>,
}

/// The result of the checks, before anything is changed.
enum MergePlan {
    Possible(Box<PossibleMerge>),
    Decided(MergeOutcome),
}

impl Clones {
    /// Merges `branch` into the branch that is checked out at `root`.
    pub async fn merge(&self, root: &Path, branch: &str) -> Result<MergeOutcome> {
        match self.plan_merge(root, branch).await? {
            MergePlan::Decided(outcome) => Ok(outcome),
            MergePlan::Possible(planned) => {
                apply_merge(&self.git, &planned, branch).await?;
                Ok(MergeOutcome::Merged(planned.merged))
            }
        }
    }

    /// Returns what [`merge`](Self::merge) would do now, without changing anything.
    pub async fn preview(&self, root: &Path, branch: &str) -> Result<MergeOutcome> {
        Ok(match self.plan_merge(root, branch).await? {
            MergePlan::Decided(outcome) => outcome,
            MergePlan::Possible(planned) => MergeOutcome::Merged(planned.merged),
        })
    }

    async fn plan_merge(&self, root: &Path, branch: &str) -> Result<MergePlan> {
        let repository = Repository::find(root)?;
        let into = checked_out(&self.git, &repository).await?;
        let (format, ours) = repository.head(&self.git).await?;
        let theirs = repository.branch(&self.git, branch).await?;
        let theirs = theirs
            .ok_or_else(|| Error::branch(branch, "does not exist"))?
            .commit;
        let scratch = ScratchRepo::new(self, &repository, &format)?;
        let git = &self.git;
        if is_ancestor(git, &scratch.git, &theirs, &ours).await? {
            return Ok(MergePlan::Decided(MergeOutcome::UpToDate));
        }
        let fast_forward = is_ancestor(git, &scratch.git, &ours, &theirs).await?;
        let after = if fast_forward {
            theirs.clone()
        } else {
            match merge_commits(git, &scratch, branch, &ours, &theirs).await? {
                Ok(commit) => commit,
                Err(conflicts) => {
                    return Ok(MergePlan::Decided(MergeOutcome::Conflicts(conflicts)));
                }
            }
        };
        let diffs = change::differences(git, &scratch.git, &ours, &after).await?;
        let overwritten = would_overwrite(git, &scratch.git, &repository, &ours, &diffs).await?;
        if !overwritten.is_empty() {
            return Ok(MergePlan::Decided(MergeOutcome::WouldOverwrite(
                overwritten,
            )));
        }
        let merged = Merged {
            into,
            before: ours,
            after,
            fast_forward,
            files: diffs.iter().map(|diff| diff.path.clone()).collect(),
        };
        Ok(MergePlan::Possible(Box::new(PossibleMerge {
            repository,
            scratch,
            merged,
            theirs,
            diffs,
        })))
    }
}

/// Returns the branch that is checked out, if a merge into it is possible now.
pub(crate) async fn checked_out(git: &Git, repository: &Repository) -> Result<String> {
    let reject = |problem: &str| Err(Error::repository(&repository.root, problem));
    if repository.bare {
        return reject("has no work tree to merge into: merge in a clone of it");
    }
    let in_progress = [
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
    ];
    for (file, what) in in_progress {
        if repository.git_dir.join(file).exists() {
            return reject(&format!("{what} is in progress: finish or abort it first"));
        }
    }
    let output = repository
        .query(git, &["symbolic-ref", "--quiet", "HEAD"])
        .await?;
    let name = output.text();
    match name.strip_prefix("refs/heads/") {
        Some(branch) if output.code == 0 => Ok(branch.to_owned()),
        _ => reject("no branch is checked out (detached HEAD): check one out first"),
    }
}

/// Creates a merge commit, or returns the conflicting files.
async fn merge_commits(
    git: &Git,
    scratch: &ScratchRepo,
    branch: &str,
    ours: &str,
    theirs: &str,
) -> Result<Result<String, Vec<String>>> {
    let tree = match merge_trees(git, &scratch.git, ours, theirs, None).await? {
        Ok(tree) => tree,
        Err(conflicts) => return Ok(Err(conflicts)),
    };
    let message = format!("Merge branch '{branch}'\n");
    let args = ["commit-tree", "-p", ours, "-p", theirs, "-F", "-", &tree];
    let output = scratch.git.command(git).input(message).run(&args).await?;
    Ok(Ok(output.text()))
}

/// Merges two commits and returns the tree, or the conflicting files. With `base`, only what `theirs` changed since
/// that commit is merged.
pub(crate) async fn merge_trees(
    git: &Git,
    private_git: &PrivateGitDir,
    ours: &str,
    theirs: &str,
    base: Option<&str>,
) -> Result<Result<String, Vec<String>>> {
    let merged = match base {
        Some(base) => stack::apply_onto(git, private_git, ours, base, theirs).await?,
        None => stack::merge_trees(git, private_git, ours, theirs).await?,
    };
    Ok(merged.map_err(|conflict| conflict.files))
}

/// Returns the files that the merge would change and that have uncommitted content.
pub(crate) async fn would_overwrite(
    git: &Git,
    private_git: &PrivateGitDir,
    repository: &Repository,
    ours: &str,
    diffs: &[FileDiff],
) -> Result<Vec<String>> {
    let edited = edited_files(git, private_git, repository, ours).await?;
    let removed = diffs.iter().filter(|diff| diff.kind == 'D');
    let removed: BTreeSet<&str> = removed.map(|diff| diff.path.as_str()).collect();
    let is_overwritten = |diff: &&FileDiff| {
        let untracked =
            || diff.kind == 'A' && is_in_the_way(&repository.root, &diff.path, &removed);
        edited.contains(&diff.path) || untracked()
    };
    Ok(diffs
        .iter()
        .filter(is_overwritten)
        .map(|diff| diff.path.clone())
        .collect())
}

/// Returns the tracked files with uncommitted content.
pub(crate) async fn edited_files(
    git: &Git,
    private_git: &PrivateGitDir,
    repository: &Repository,
    ours: &str,
) -> Result<BTreeSet<String>> {
    private_git.set_head(ours)?;
    private_git.add_core_config(&repository.core_config(git).await?)?;
    private_git.share_split_index(&repository.git_dir)?;
    let args = [
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=no",
        "--ignore-submodules=all",
        "--no-renames",
    ];
    let output = private_git
        .command_in(git, &repository.root)
        .read([&repository.root, &repository.git_dir])
        .index(&repository.git_dir.join("index"))
        .run(&args)
        .await?;
    let fields = output.nul_separated()?;
    let paths = fields.iter().filter_map(|field| field.get(3..));
    Ok(paths.map(str::to_owned).collect())
}

/// Updates the files, then the branch. Restores the files if the branch has moved concurrently.
async fn apply_merge(git: &Git, planned: &PossibleMerge, branch: &str) -> Result<()> {
    let PossibleMerge {
        repository,
        scratch,
        merged,
        theirs,
        diffs,
    } = planned;
    let (before, after) = (&merged.before, &merged.after);
    if !merged.fast_forward {
        let bases = [before.as_str(), theirs.as_str()];
        scratch
            .git
            .export_pack(git, repository, after, &bases)
            .await?;
    }
    let in_checkout = || {
        let command = scratch.git.command_in(git, &repository.root);
        let command = command.write(&repository.root).write(&repository.git_dir);
        command.index(&repository.git_dir.join("index"))
    };
    // Files with a new timestamp but the same content count as modified until the index is
    // refreshed.
    in_checkout()
        .output(&["update-index", "-q", "--refresh"])
        .await?;
    let updated = in_checkout()
        .run(&["read-tree", "-m", "-u", before, after])
        .await;
    if let Err(error) = updated {
        restore(in_checkout(), &repository.root, diffs, &BTreeSet::new()).await?;
        return Err(error);
    }
    let name = format!("refs/heads/{}", merged.into);
    let reason = format!("merge {branch}");
    let update = repository
        .update_ref(git, &name, after, before, &reason)
        .await?;
    if update.code == 0 {
        return Ok(());
    }
    let error = update.into_error();
    in_checkout()
        .run(&["read-tree", "-m", "-u", after, before])
        .await?;
    Err(Error::branch(
        &merged.into,
        format!("moved during the merge, nothing was merged: try again ({error})"),
    ))
}
