//! Merges of two commits, made with objects alone.

use crate::error::Result;
use crate::git::{Git, PrivateGitDir};

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MergedOnto {
    /// The commit that contains both.
    Merged(String),
    /// Both changed the same lines.
    Conflict(MergeConflict),
}

/// A merge that needs a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergeConflict {
    /// The tree of the merge, with conflict markers in the files.
    pub(crate) tree: String,
    /// The conflicting files, sorted.
    pub(crate) files: Vec<String>,
}

/// Returns `true` if `new` contains `old`.
pub(crate) async fn is_ancestor(
    git: &Git,
    objects: &PrivateGitDir,
    old: &str,
    new: &str,
) -> Result<bool> {
    let args = ["merge-base", "--is-ancestor", old, new];
    let output = objects.command(git).output(&args).await?;
    match output.code {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(output.into_error()),
    }
}

/// Merges `commit` onto `onto`. The result is one of the two if it contains the other, and else a new commit in
/// `objects`, which is the same whenever the two are merged.
pub(crate) async fn merge_onto(
    git: &Git,
    objects: &PrivateGitDir,
    onto: &str,
    commit: &str,
) -> Result<MergedOnto> {
    if is_ancestor(git, objects, commit, onto).await? {
        return Ok(MergedOnto::Merged(onto.to_owned()));
    }
    if is_ancestor(git, objects, onto, commit).await? {
        return Ok(MergedOnto::Merged(commit.to_owned()));
    }
    Ok(match merge_trees(git, objects, onto, commit).await? {
        Ok(tree) => {
            let merged = commit_merge(git, objects, &tree, onto, commit).await?;
            MergedOnto::Merged(merged)
        }
        Err(conflict) => MergedOnto::Conflict(conflict),
    })
}

/// Merges the trees of two commits.
pub(crate) async fn merge_trees(
    git: &Git,
    objects: &PrivateGitDir,
    ours: &str,
    theirs: &str,
) -> Result<std::result::Result<String, MergeConflict>> {
    let args = [
        "merge-tree",
        "--write-tree",
        "-z",
        "--name-only",
        "--no-messages",
        ours,
        theirs,
    ];
    let output = objects.command(git).output(&args).await?;
    if output.code > 1 {
        return Err(output.into_error());
    }
    let has_conflict = output.code == 1;
    let mut fields = output.nul_separated()?.into_iter();
    let tree = fields.next().unwrap_or_default();
    if !has_conflict {
        return Ok(Ok(tree));
    }
    let mut files: Vec<String> = fields.collect();
    files.sort();
    files.dedup();
    Ok(Err(MergeConflict { tree, files }))
}

/// Applies what `commit` changed since `since` to the files of `onto`, whatever the histories of the three are.
pub(crate) async fn apply_onto(
    git: &Git,
    objects: &PrivateGitDir,
    onto: &str,
    since: &str,
    commit: &str,
) -> Result<std::result::Result<String, MergeConflict>> {
    // Older versions of git have no option for the merge base, so new commits of the same files define it.
    let since = commit_files(git, objects, since, None).await?;
    let ours = commit_files(git, objects, onto, Some(&since)).await?;
    let theirs = commit_files(git, objects, commit, Some(&since)).await?;
    merge_trees(git, objects, &ours, &theirs).await
}

/// Creates a commit with the files of `commit` and this parent.
async fn commit_files(
    git: &Git,
    objects: &PrivateGitDir,
    commit: &str,
    parent: Option<&str>,
) -> Result<String> {
    let tree = format!("{commit}^{{tree}}");
    let mut args = vec!["commit-tree", "-m", "files", tree.as_str()];
    if let Some(parent) = parent {
        args.extend(["-p", parent]);
    }
    let command = objects.command(git).date("@0 +0000");
    Ok(command.run(&args).await?.text())
}

/// Creates a merge commit that contains both, with the files of `ours`.
pub(crate) async fn keep_ours(
    git: &Git,
    objects: &PrivateGitDir,
    ours: &str,
    theirs: &str,
) -> Result<String> {
    let tree = format!("{ours}^{{tree}}");
    let tree = objects.command(git).run(&["rev-parse", &tree]).await?;
    commit_merge(git, objects, &tree.text(), ours, theirs).await
}

/// Creates a merge commit with the date of its newer parent, so that it is the same each time.
async fn commit_merge(
    git: &Git,
    objects: &PrivateGitDir,
    tree: &str,
    ours: &str,
    theirs: &str,
) -> Result<String> {
    let args = ["log", "--no-walk", "--format=%ct", ours, theirs];
    let dates = objects.command(git).run(&args).await?.text();
    let dates = dates.lines().filter_map(|line| line.parse::<u64>().ok());
    let date = format!("@{} +0000", dates.max().unwrap_or_default());
    let short: String = theirs.chars().take(12).collect();
    let message = format!("Merge {short} into the base of a task\n");
    let command = objects.command(git).date(&date).input(message);
    let args = ["commit-tree", "-p", ours, "-p", theirs, "-F", "-", tree];
    Ok(command.run(&args).await?.text())
}
