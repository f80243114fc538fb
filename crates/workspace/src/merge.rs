//! Bringing a finished branch into what the user has checked out.
//!
//! Everything is found out first, in a git folder of our own: whether the two can be merged, what the result
//! is, and whether an uncommitted edit would be lost. Only then the files are updated, by git's own
//! two-tree merge, which refuses as a whole; the branch moves last, by compare-and-swap. Hooks do not run.

use std::collections::BTreeSet;
use std::path::Path;

use crate::change::{self, FileDiff};
use crate::clone::{Clones, ScratchRepo};
use crate::error::{Error, Result};
use crate::git::{Git, Repository};

/// What would happen, or has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeOutcome {
    /// The branch is in.
    Merged(Merged),
    /// Everything on the branch was there already.
    UpToDate,
    /// Both sides changed the same lines. Nothing was touched.
    Conflicts(Vec<String>),
    /// These files have uncommitted edits, or are not tracked, and the merge would overwrite them. Nothing was
    /// touched.
    WouldOverwrite(Vec<String>),
}

/// What a merge did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The branch that moved.
    pub into: String,
    /// Where it stood before.
    pub before: String,
    /// Where it stands now.
    pub after: String,
    /// Whether it merely moved forward, without a commit of two parents.
    pub fast_forward: bool,
    /// The files that changed, sorted.
    pub files: Vec<String>,
}

impl Merged {
    /// The command that takes it back. It keeps uncommitted edits.
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
}

/// What is known before anything is touched.
enum MergePlan {
    Possible(Box<PossibleMerge>),
    Decided(MergeOutcome),
}

impl Clones {
    /// Merges `branch` into what is checked out at `root`.
    pub async fn merge(&self, root: &Path, branch: &str) -> Result<MergeOutcome> {
        match self.plan_merge(root, branch).await? {
            MergePlan::Decided(merge) => Ok(merge),
            MergePlan::Possible(planned) => {
                apply_merge(&self.git, &planned, branch).await?;
                Ok(MergeOutcome::Merged(planned.merged))
            }
        }
    }

    /// What [`merge`](Self::merge) would do now. Nothing is touched.
    pub async fn preview(&self, root: &Path, branch: &str) -> Result<MergeOutcome> {
        Ok(match self.plan_merge(root, branch).await? {
            MergePlan::Decided(merge) => merge,
            MergePlan::Possible(planned) => MergeOutcome::Merged(planned.merged),
        })
    }

    async fn plan_merge(&self, root: &Path, branch: &str) -> Result<MergePlan> {
        let repository = Repository::find(root)?;
        let into = checked_out(&self.git, &repository).await?;
        let (format, ours) = repository.head(&self.git).await?;
        let theirs = repository.branch(&self.git, branch).await?;
        let theirs = theirs
            .ok_or_else(|| Error::branch(branch, "there is no such branch"))?
            .commit;
        let scratch = ScratchRepo::new(self, &repository, &format)?;
        let git = &self.git;
        if is_ancestor(git, &scratch, &theirs, &ours).await? {
            return Ok(MergePlan::Decided(MergeOutcome::UpToDate));
        }
        let fast_forward = is_ancestor(git, &scratch, &ours, &theirs).await?;
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
        let differences = change::differences(git, &scratch.git, &ours, &after).await?;
        let lost = would_overwrite(git, &scratch, &repository, &ours, &differences).await?;
        if !lost.is_empty() {
            return Ok(MergePlan::Decided(MergeOutcome::WouldOverwrite(lost)));
        }
        let merged = Merged {
            into,
            before: ours,
            after,
            fast_forward,
            files: differences.into_iter().map(|one| one.path).collect(),
        };
        Ok(MergePlan::Possible(Box::new(PossibleMerge {
            repository,
            scratch,
            merged,
            theirs,
        })))
    }
}

/// The branch that is checked out, if a merge into it makes sense now.
async fn checked_out(git: &Git, repository: &Repository) -> Result<String> {
    let refuse = |problem: &str| Err(Error::repository(&repository.root, problem));
    if repository.bare {
        return refuse("has no work tree to merge into: merge in a clone of it");
    }
    let under_way = [
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
    ];
    for (file, what) in under_way {
        if repository.git_dir.join(file).exists() {
            return refuse(&format!("{what} is under way: finish or abort it first"));
        }
    }
    let said = repository
        .query(git, &["symbolic-ref", "--quiet", "HEAD"])
        .await?;
    let name = said.text();
    match name.strip_prefix("refs/heads/") {
        Some(branch) if said.code == 0 => Ok(branch.to_owned()),
        _ => refuse("no branch is checked out (detached HEAD): check one out first"),
    }
}

async fn is_ancestor(git: &Git, scratch: &ScratchRepo, old: &str, new: &str) -> Result<bool> {
    let said = scratch
        .git
        .command(git)
        .output(&["merge-base", "--is-ancestor", old, new])
        .await?;
    match said.code {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(said.into_error()),
    }
}

/// A commit with both histories, or the files that conflict.
async fn merge_commits(
    git: &Git,
    scratch: &ScratchRepo,
    branch: &str,
    ours: &str,
    theirs: &str,
) -> Result<Result<String, Vec<String>>> {
    let args = [
        "merge-tree",
        "--write-tree",
        "-z",
        "--name-only",
        "--no-messages",
        ours,
        theirs,
    ];
    let said = scratch.git.command(git).output(&args).await?;
    if said.code > 1 {
        return Err(said.into_error());
    }
    let conflicts = said.code == 1;
    let mut pieces = said.nul_separated()?.into_iter();
    let tree = pieces.next().unwrap_or_default();
    if conflicts {
        let files: BTreeSet<String> = pieces.collect();
        return Ok(Err(files.into_iter().collect()));
    }
    let message = format!("Merge branch '{branch}'\n");
    let args = ["commit-tree", "-p", ours, "-p", theirs, "-F", "-", &tree];
    let said = scratch.git.command(git).input(message).run(&args).await?;
    Ok(Ok(said.text()))
}

/// The files that the merge would change and that hold something no commit has.
async fn would_overwrite(
    git: &Git,
    scratch: &ScratchRepo,
    repository: &Repository,
    ours: &str,
    differences: &[FileDiff],
) -> Result<Vec<String>> {
    scratch.git.set_head(ours)?;
    scratch
        .git
        .add_core_config(&repository.core_config(git).await?)?;
    let args = [
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=no",
        "--ignore-submodules=all",
        "--no-renames",
    ];
    let said = scratch
        .git
        .command_in(git, &repository.root)
        .read([&repository.root, &repository.git_dir])
        .index(&repository.git_dir.join("index"))
        .run(&args)
        .await?;
    let pieces = said.nul_separated()?;
    let edited: BTreeSet<&str> = pieces.iter().filter_map(|piece| piece.get(3..)).collect();
    let is_lost = |one: &&FileDiff| {
        let untracked =
            || one.kind == 'A' && repository.root.join(&one.path).symlink_metadata().is_ok();
        edited.contains(one.path.as_str()) || untracked()
    };
    Ok(differences
        .iter()
        .filter(is_lost)
        .map(|one| one.path.clone())
        .collect())
}

/// Updates the files, then the branch; back again if the branch has moved meanwhile.
async fn apply_merge(git: &Git, planned: &PossibleMerge, branch: &str) -> Result<()> {
    let PossibleMerge {
        repository,
        scratch,
        merged,
        theirs,
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
        let call = scratch.git.command_in(git, &repository.root);
        let call = call.write(&repository.root).write(&repository.git_dir);
        call.index(&repository.git_dir.join("index"))
    };
    // Files that were touched but not changed count as changed until looked at again.
    in_checkout()
        .output(&["update-index", "-q", "--refresh"])
        .await?;
    in_checkout()
        .run(&["read-tree", "-m", "-u", before, after])
        .await?;
    let name = format!("refs/heads/{}", merged.into);
    let why = format!("merge {branch}");
    let answer = repository
        .update_ref(git, &name, after, before, &why)
        .await?;
    if answer.code == 0 {
        return Ok(());
    }
    let said = answer.into_error();
    in_checkout()
        .run(&["read-tree", "-m", "-u", after, before])
        .await?;
    Err(Error::branch(
        &merged.into,
        format!("moved meanwhile, and nothing was merged: try again ({said})"),
    ))
}
