//! Diffs of finished changes, for people to read.

use std::path::Path;

use crate::change::{DIFF_FLAGS, truncate_middle};
use crate::clone::Clones;
use crate::error::Result;
use crate::git::Repository;

/// Maximum size of a returned diff.
pub(crate) const MAX_DIFF_BYTES: usize = 4 << 20;

impl Clones {
    /// Returns what a commit changed since `base`, or since its parent if there is no base, as a
    /// unified diff. A long diff is truncated.
    pub async fn diff(&self, root: &Path, base: Option<&str>, commit: &str) -> Result<String> {
        let before = format!("{commit}^");
        self.compare(root, "-p", base.unwrap_or(&before), commit)
            .await
    }

    /// Returns the number of changed lines per file between two commits.
    pub async fn stat(&self, root: &Path, old: &str, new: &str) -> Result<String> {
        self.compare(root, "--stat", old, new).await
    }

    async fn compare(&self, root: &Path, format: &str, old: &str, new: &str) -> Result<String> {
        let repository = Repository::find(root)?;
        let mut args = vec!["diff-tree", "-r", format];
        args.extend(DIFF_FLAGS);
        args.extend([old, new, "--"]);
        let output = repository.query(&self.git, &args).await?;
        if output.code != 0 {
            return Err(output.into_error());
        }
        Ok(truncate_middle(&output.stdout.text(), MAX_DIFF_BYTES))
    }
}
