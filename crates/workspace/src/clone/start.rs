//! The files that an attempt starts with: its base, with the change of an earlier attempt or a conflict.

use windlass_tasks::StartPoint;

use crate::error::{Error, Result};
use crate::git::{Git, PrivateGitDir, is_hash};
use crate::stack::{apply_onto, merge_trees};

/// Maximum number of conflicting files that are named.
const MAX_NAMED: usize = 5;

/// The files of a new clone.
#[derive(Debug, Default)]
pub(crate) struct Start {
    pub(crate) point: StartPoint,
    /// The tree, if it is not the base's.
    pub(crate) tree: Option<String>,
}

impl Start {
    fn not_applied(why: impl Into<String>) -> Self {
        Self {
            point: StartPoint::NotApplied(why.into()),
            tree: None,
        }
    }
}

/// Applies a kept change to the base. The base may have moved since: then the two are merged.
pub(crate) async fn start_from(
    git: &Git,
    private_git: &PrivateGitDir,
    base: &str,
    earlier: &str,
) -> Result<Start> {
    if !is_hash(earlier) {
        return Ok(Start::not_applied("its commit is not valid"));
    }
    let (tree, parent) = (format!("{earlier}^{{tree}}"), format!("{earlier}^"));
    let args = ["rev-parse", "--quiet", &tree, &parent];
    let output = private_git.command(git).output(&args).await?;
    let found = output.text();
    let Some((tree, parent)) = found.split_once('\n').filter(|_| output.code == 0) else {
        return Ok(Start::not_applied("its commit is not in this repository"));
    };
    if parent == base {
        return Ok(applied(tree));
    }
    Ok(
        match apply_onto(git, private_git, base, parent, earlier).await {
            Err(error @ Error::DiskFull { .. }) => return Err(error),
            Err(_) => Start::not_applied("it cannot be merged with the base"),
            Ok(Ok(tree)) => applied(&tree),
            Ok(Err(conflict)) => {
                let files: Vec<String> = conflict.files.into_iter().take(MAX_NAMED).collect();
                Start::not_applied(format!(
                    "it conflicts with the base in {}",
                    files.join(", ")
                ))
            }
        },
    )
}

/// Starts with the conflicts between the parents of a base that merges them.
pub(crate) async fn start_with_conflict(
    git: &Git,
    private_git: &PrivateGitDir,
    base: &str,
) -> Result<Start> {
    let (ours, theirs) = (format!("{base}^1"), format!("{base}^2"));
    Ok(match merge_trees(git, private_git, &ours, &theirs).await? {
        Ok(tree) => applied(&tree),
        Err(conflict) => Start {
            point: StartPoint::Conflict(conflict.files),
            tree: Some(conflict.tree),
        },
    })
}

fn applied(tree: &str) -> Start {
    Start {
        point: StartPoint::Change,
        tree: Some(tree.to_owned()),
    }
}
