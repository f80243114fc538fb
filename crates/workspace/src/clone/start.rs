//! The files that an attempt starts with: its base, with the change of an earlier attempt.

use windlass_tasks::StartPoint;

use crate::error::Result;
use crate::git::{Git, PrivateGitDir, is_hash};

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
    let args = [
        "merge-tree",
        "--write-tree",
        "-z",
        "--name-only",
        "--no-messages",
        base,
        earlier,
    ];
    let output = private_git.command(git).output(&args).await?;
    let code = output.code;
    if code > 1 {
        return Ok(Start::not_applied("it cannot be merged with the base"));
    }
    let mut fields = output.nul_separated()?.into_iter();
    let tree = fields.next().unwrap_or_default();
    if code == 0 {
        return Ok(applied(&tree));
    }
    let files: Vec<String> = fields.take(MAX_NAMED).collect();
    Ok(Start::not_applied(format!(
        "it conflicts with the base in {}",
        files.join(", ")
    )))
}

fn applied(tree: &str) -> Start {
    Start {
        point: StartPoint::Change,
        tree: Some(tree.to_owned()),
    }
}
