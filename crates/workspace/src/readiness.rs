//! What a repository needs before a task can start in it.

use std::path::Path;

use crate::clone::{Clones, ScratchRepo};
use crate::error::Result;
use crate::git::Repository;
use crate::merge::edited_files;

impl Clones {
    /// Returns how many tracked files of the checkout at `root` have uncommitted edits, which no task sees. It is an
    /// error if there is no commit that a task could start from.
    pub async fn uncommitted_edits(&self, root: &Path) -> Result<usize> {
        let repository = Repository::find(root)?;
        let (format, head) = repository.head(&self.git).await?;
        if repository.bare {
            return Ok(0);
        }
        let scratch = ScratchRepo::new(self, &repository, &format)?;
        let edited = edited_files(&self.git, &scratch.git, &repository, &head).await?;
        Ok(edited.len())
    }
}
