//! The versions of a change: the difference between two of them, and a checkout of one to read.

use std::path::{Path, PathBuf};

use crate::change::DIFF_FLAGS;
use crate::clone::{Checkout, CheckoutSource, Clones, readable_dirs};
use crate::diff::MAX_DIFF_BYTES;
use crate::error::{Error, Result};
use crate::git::Repository;

/// With more paths than this, the difference is not limited to them.
const MAX_PATHS: usize = 1_000;

/// The files of a commit, to be read. They are removed when this is dropped.
#[derive(Debug)]
pub struct ReadCheckout {
    checkout: Checkout,
}

impl ReadCheckout {
    /// Returns the directory with the files.
    pub fn path(&self) -> &Path {
        &self.checkout.work
    }

    /// Returns the directories outside of it that a process in it must be able to read.
    pub fn readable_dirs(&self) -> Vec<PathBuf> {
        readable_dirs(self.path())
    }
}

impl Clones {
    /// Checks out a commit of the repository at `root` in a separate directory.
    pub async fn checkout(&self, root: &Path, commit: &str) -> Result<ReadCheckout> {
        let repository = Repository::find(root)?;
        let (format, _) = repository.head(&self.git).await?;
        let tree = self.tree_of(&repository, commit).await?;
        let source = CheckoutSource::repository(self, repository, &format).await?;
        let checkout = Checkout::create(self, &source, commit, &tree).await?;
        Ok(ReadCheckout { checkout })
    }

    /// Returns the difference between two versions of a change, as a unified diff. Each version is a commit with
    /// its base as the first parent. Only files that one of the versions changes are compared: the bases may differ.
    /// A long diff is truncated.
    pub async fn version_diff(&self, root: &Path, old: &str, new: &str) -> Result<String> {
        let repository = Repository::find(root)?;
        let mut paths = Vec::new();
        for commit in [old, new] {
            self.tree_of(&repository, commit).await?;
            paths.extend(self.changed_paths(&repository, commit).await?);
        }
        paths.sort_unstable();
        paths.dedup();
        if paths.is_empty() {
            return Ok(String::new());
        }
        let mut args = vec!["--literal-pathspecs", "diff-tree", "-r", "-p"];
        args.extend(DIFF_FLAGS);
        args.extend([old, new, "--"]);
        if paths.len() <= MAX_PATHS {
            args.extend(paths.iter().map(String::as_str));
        }
        let output = repository.query(&self.git, &args).await?;
        if output.code != 0 {
            return Err(output.into_error());
        }
        let text = output.stdout.text();
        Ok(crate::change::truncate_middle(&text, MAX_DIFF_BYTES))
    }

    /// Returns the paths that a commit changes since its first parent.
    async fn changed_paths(&self, repository: &Repository, commit: &str) -> Result<Vec<String>> {
        let base = format!("{commit}^");
        let mut args = vec!["diff-tree", "-r", "-z", "--name-only"];
        args.extend(DIFF_FLAGS);
        args.extend([base.as_str(), commit, "--"]);
        let output = repository.query(&self.git, &args).await?;
        if output.code != 0 {
            return Err(Error::repository(
                &repository.root,
                format!("the base of {commit} is not there"),
            ));
        }
        let text = output.stdout.text();
        let paths = text.split('\0').filter(|path| !path.is_empty());
        Ok(paths.map(str::to_owned).collect())
    }
}
