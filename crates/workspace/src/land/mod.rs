//! Brings proved changes onto a branch: merged in a private git directory, tested there, and moved last, by
//! compare-and-swap.

mod checkout;
mod index_lock;

use futures::future::BoxFuture;
use windlass_tasks::{
    AdvanceResult, Commit, LandingCopy, LandingSite, LandingStrategy, MergeRequest, MergeResult,
    Project, WorkingCopy,
};

use crate::change;
use crate::clone::{Clones, TestCopy};
use crate::error::{Error, Result};
use crate::git::{Git, PrivateGitDir, Repository, check_branch, stale_lock};
use crate::merge::merge_trees;
use crate::stack::is_ancestor;

use checkout::BranchCheckout;

/// How often to try to move a branch that another process locks.
const MAX_ATTEMPTS: u32 = 3;

/// Changes on top of a branch.
#[derive(Debug)]
struct MergedChanges {
    clones: Clones,
    copy: TestCopy,
    repository: Repository,
    /// Where the branch is checked out.
    checkout: Option<BranchCheckout>,
    branch: String,
    before: String,
    commit: Commit,
    /// The merged commits. The repository has them already.
    merged: Vec<String>,
}

impl LandingSite for Clones {
    fn current_branch<'a>(
        &'a self,
        project: &'a Project,
    ) -> BoxFuture<'a, windlass_core::Result<Option<String>>> {
        Box::pin(async move {
            let repository = Repository::find(&project.root)?;
            let head = ["symbolic-ref", "--quiet", "HEAD"];
            let output = repository.query(&self.git, &head).await?;
            let name = output.text();
            let branch = name
                .strip_prefix("refs/heads/")
                .filter(|_| output.code == 0);
            Ok(branch.map(str::to_owned))
        })
    }

    fn contains<'a>(
        &'a self,
        project: &'a Project,
        branch: &'a str,
        commit: &'a str,
    ) -> BoxFuture<'a, windlass_core::Result<bool>> {
        Box::pin(async move { Ok(self.branch_contains(project, branch, commit).await?) })
    }

    fn merge<'a>(
        &'a self,
        project: &'a Project,
        request: MergeRequest<'a>,
    ) -> BoxFuture<'a, windlass_core::Result<MergeResult>> {
        Box::pin(async move { Ok(self.merge_onto(project, request).await?) })
    }
}

impl Clones {
    async fn branch_contains(&self, project: &Project, branch: &str, commit: &str) -> Result<bool> {
        check_branch(branch)?;
        let repository = Repository::find(&project.root)?;
        let name = format!("refs/heads/{branch}");
        let args = ["merge-base", "--is-ancestor", commit, &name];
        // A commit that was never moved to may be missing.
        if repository.query(&self.git, &args).await?.code != 0 {
            return Ok(false);
        }
        if let Some(checkout) = BranchCheckout::find(&self.git, &repository, branch).await? {
            let (format, _) = repository.head(&self.git).await?;
            let copy = TestCopy::create(self, &repository, &format, commit).await?;
            checkout.settle(&self.git, &copy.git, commit).await?;
        }
        Ok(true)
    }

    async fn merge_onto(
        &self,
        project: &Project,
        request: MergeRequest<'_>,
    ) -> Result<MergeResult> {
        let repository = Repository::find(&project.root)?;
        let branch = request.branch;
        let Some(status) = repository.branch(&self.git, branch).await? else {
            return Err(Error::branch(branch, "does not exist: create it first"));
        };
        let before = status.commit;
        let checkout = BranchCheckout::find(&self.git, &repository, branch).await?;
        let (format, _) = repository.head(&self.git).await?;
        let copy = TestCopy::create(self, &repository, &format, &before).await?;
        let git = &self.git;
        let MergedCommit { commit, merged } = match merge(git, &copy.git, &before, request).await? {
            Ok(Some(merge)) => merge,
            Ok(None) => return Ok(MergeResult::Contained),
            Err((at, files)) => return Ok(MergeResult::Conflict { at, files }),
        };
        if let Some(checkout) = &checkout {
            let diffs = change::differences(git, &copy.git, &before, &commit.id).await?;
            if let Some(why) = checkout
                .obstacle(git, &copy.git, (&before, &commit.id), &diffs)
                .await?
            {
                return Ok(MergeResult::NotNow(why));
            }
        }
        Ok(MergeResult::Ready(Box::new(MergedChanges {
            clones: self.clone(),
            copy,
            repository,
            checkout,
            branch: branch.to_owned(),
            before,
            commit,
            merged,
        })))
    }
}

/// A commit that has the branch and the changes.
struct MergedCommit {
    commit: Commit,
    merged: Vec<String>,
}

/// The index of the change that conflicts, and its files.
type Conflict = (usize, Vec<String>);

/// Merges the changes that the branch does not have. Returns `None` if it has all of them.
async fn merge(
    git: &Git,
    private_git: &PrivateGitDir,
    before: &str,
    request: MergeRequest<'_>,
) -> Result<std::result::Result<Option<MergedCommit>, Conflict>> {
    let mut current = before.to_owned();
    let mut tree = tree_of(git, private_git, before).await?;
    let first_tree = tree.clone();
    let mut merged: Vec<String> = Vec::new();
    for (at, change) in request.commits.iter().enumerate() {
        if is_ancestor(git, private_git, change, before).await? {
            continue;
        }
        let parent = format!("{change}^");
        let base = match request.strategy {
            LandingStrategy::Merge => None,
            LandingStrategy::Rebase => Some(parent.as_str()),
        };
        tree = match merge_trees(git, private_git, &current, change, base).await? {
            Ok(tree) => tree,
            Err(files) => return Ok(Err((at, files))),
        };
        merged.push(change.clone());
        // The next change is merged with the ones before it. This commit is never published.
        let args = [
            "commit-tree",
            "-p",
            &current,
            "-p",
            change,
            "-F",
            "-",
            &tree,
        ];
        let command = private_git.command(git).input("merge\n");
        current = command.run(&args).await?.text();
    }
    let Some(last) = merged.last() else {
        return Ok(Ok(None));
    };
    let is_rebase = request.strategy == LandingStrategy::Rebase;
    if is_rebase && tree == first_tree {
        return Ok(Ok(None));
    }
    let fast_forward = merged.len() == 1 && is_ancestor(git, private_git, before, last).await?;
    let id = if fast_forward && (!is_rebase || parent_of(git, private_git, last).await? == before) {
        last.clone()
    } else {
        let (message, mut parents) = if is_rebase {
            let args = ["log", "-1", "--format=%B", last];
            let message = private_git.command(git).run(&args).await?;
            (format!("{}\n", message.text()), Vec::new())
        } else {
            (request.message.to_owned(), merged.clone())
        };
        parents.insert(0, before.to_owned());
        let mut args = vec!["commit-tree"];
        for parent in &parents {
            args.extend(["-p", parent]);
        }
        args.extend(["-F", "-", &tree]);
        let command = private_git.command(git).input(message);
        command.run(&args).await?.text()
    };
    Ok(Ok(Some(MergedCommit {
        commit: Commit { id, tree },
        merged,
    })))
}

async fn tree_of(git: &Git, private_git: &PrivateGitDir, commit: &str) -> Result<String> {
    let tree = format!("{commit}^{{tree}}");
    let output = private_git.command(git).run(&["rev-parse", &tree]).await?;
    Ok(output.text())
}

async fn parent_of(git: &Git, private_git: &PrivateGitDir, commit: &str) -> Result<String> {
    let parent = format!("{commit}^");
    let output = private_git
        .command(git)
        .run(&["rev-parse", &parent])
        .await?;
    Ok(output.text())
}

impl MergedChanges {
    async fn move_branch(&self) -> Result<AdvanceResult> {
        let git = &self.clones.git;
        let mut bases = vec![self.before.as_str()];
        bases.extend(self.merged.iter().map(String::as_str));
        self.copy
            .git
            .export_pack(git, &self.repository, &self.commit.id, &bases)
            .await?;
        let Some(checkout) = &self.checkout else {
            return self.update_ref().await;
        };
        let commits = (self.before.as_str(), self.commit.id.as_str());
        let private_git = &self.copy.git;
        let update = match checkout.begin(git, private_git, commits).await? {
            Ok(update) => update,
            Err(why) => return Ok(AdvanceResult::NotNow(why)),
        };
        let moved = self.update_ref().await;
        match &moved {
            Ok(AdvanceResult::Moved) => update.commit()?,
            _ => update.undo(git, private_git, commits).await?,
        }
        moved
    }

    async fn update_ref(&self) -> Result<AdvanceResult> {
        let git = &self.clones.git;
        let name = format!("refs/heads/{}", self.branch);
        let (after, before) = (&self.commit.id, &self.before);
        let mut error = None;
        for _ in 0..MAX_ATTEMPTS {
            let output = self
                .repository
                .update_ref(git, &name, after, before, "land")
                .await?;
            if output.code == 0 {
                return Ok(AdvanceResult::Moved);
            }
            error = Some(output.into_error());
            match self.repository.ref_commit(git, &name).await? {
                Some(current) if current == *after => return Ok(AdvanceResult::Moved),
                Some(current) if current == *before => {
                    let common = &self.repository.common;
                    stale_lock::wait_or_remove_any(common, &name)
                        .await
                        .map_err(|error| Error::io(common, &error))?;
                }
                _ => return Ok(AdvanceResult::Stale),
            }
        }
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        Err(Error::branch(
            &self.branch,
            format!("cannot be moved: {error}"),
        ))
    }
}

impl LandingCopy for MergedChanges {
    fn working_copy(&self) -> &dyn WorkingCopy {
        &self.copy.copy
    }

    fn commit(&self) -> &Commit {
        &self.commit
    }

    fn advance(&self) -> BoxFuture<'_, windlass_core::Result<AdvanceResult>> {
        Box::pin(async move { Ok(self.move_branch().await?) })
    }
}
