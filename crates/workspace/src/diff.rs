//! A finished change, for people to read.

use std::path::Path;

use crate::change::{DIFF_FLAGS, truncate_middle};
use crate::clone::Clones;
use crate::error::Result;
use crate::git::Repository;

/// The most that is shown of a diff.
const SHOWN_BYTES: usize = 4 << 20;

impl Clones {
    /// What a commit changed since `base`, or else since the one before it, as a unified diff, bounded.
    pub async fn diff(&self, root: &Path, base: Option<&str>, commit: &str) -> Result<String> {
        let before = format!("{commit}^");
        self.compare(root, "-p", base.unwrap_or(&before), commit)
            .await
    }

    /// How many lines changed in which files between two commits.
    pub async fn stat(&self, root: &Path, old: &str, new: &str) -> Result<String> {
        self.compare(root, "--stat", old, new).await
    }

    async fn compare(&self, root: &Path, how: &str, old: &str, new: &str) -> Result<String> {
        let repository = Repository::find(root)?;
        let mut args = vec!["diff-tree", "-r", how];
        args.extend(DIFF_FLAGS);
        args.extend([old, new, "--"]);
        let said = repository.query(&self.git, &args).await?;
        if said.code != 0 {
            return Err(said.into_error());
        }
        Ok(truncate_middle(&said.stdout.text(), SHOWN_BYTES))
    }
}
