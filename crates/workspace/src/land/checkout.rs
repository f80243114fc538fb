//! A checkout of the branch that moves: its files and its index move with it, and no edit is lost.
//!
//! The files are updated first, with a copy of the index, then the branch, then the index. Meanwhile the index is
//! locked, as git does it. If the process is killed in between, files have content that is the branch's own: such
//! content does not count as an edit, and the next landing puts it into the index.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::index_lock::IndexLock;
use crate::change::{self, FileDiff};
use crate::checkout_files::restore;
use crate::error::{Error, Result};
use crate::git::{Git, PrivateGitDir, Repository};
use crate::merge::{checked_out, would_overwrite};

/// Maximum number of files that are named in a message.
const MAX_NAMED: usize = 5;

/// The work tree in which a branch is checked out.
#[derive(Debug)]
pub(super) struct BranchCheckout {
    repository: Repository,
    branch: String,
}

/// Files that have been updated, while the branch has not moved.
#[derive(Debug)]
pub(super) struct FileUpdate<'a> {
    checkout: &'a BranchCheckout,
    index: std::path::PathBuf,
    _lock: IndexLock,
}

impl BranchCheckout {
    /// Returns the work tree in which the branch is checked out, if any.
    pub(super) async fn find(
        git: &Git,
        repository: &Repository,
        branch: &str,
    ) -> Result<Option<Self>> {
        let status = repository.branch(git, branch).await?;
        let Some(path) = status.and_then(|status| status.checked_out) else {
            return Ok(None);
        };
        let root = Path::new(&path);
        if !root.exists() {
            return Err(Error::branch(
                branch,
                format!("is checked out in {path}, which does not exist: run git worktree prune"),
            ));
        }
        let repository = Repository::find(root)?;
        let branch = branch.to_owned();
        Ok((!repository.bare).then_some(Self { repository, branch }))
    }

    /// Returns why the files cannot be updated now.
    pub(super) async fn obstacle(
        &self,
        git: &Git,
        private_git: &PrivateGitDir,
        (before, after): (&str, &str),
        diffs: &[FileDiff],
    ) -> Result<Option<String>> {
        match checked_out(git, &self.repository).await {
            Ok(branch) if branch == self.branch => {}
            Ok(_) => return Ok(Some("another branch was checked out meanwhile".to_owned())),
            Err(error) => return Ok(Some(error.to_string())),
        }
        let edited = would_overwrite(git, private_git, &self.repository, before, diffs).await?;
        if edited.is_empty() {
            return Ok(None);
        }
        let same = self.same_as(git, private_git, after, diffs).await?;
        let lost: Vec<String> = edited
            .into_iter()
            .filter(|path| !same.contains(path))
            .collect();
        Ok((!lost.is_empty()).then(|| {
            let named = lost.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>();
            format!(
                "uncommitted edits in {} would be lost: commit or stash them in {}",
                named.join(", "),
                self.repository.root.display()
            )
        }))
    }

    /// Updates the files to `after`. Returns the reason if they cannot be updated now.
    pub(super) async fn begin<'a>(
        &'a self,
        git: &Git,
        private_git: &PrivateGitDir,
        (before, after): (&str, &str),
    ) -> Result<std::result::Result<FileUpdate<'a>, String>> {
        let repository = &self.repository;
        let Some(lock) = IndexLock::acquire(&repository.git_dir)? else {
            return Ok(Err(self.locked()));
        };
        let diffs = change::differences(git, private_git, before, after).await?;
        let commits = (before, after);
        if let Some(why) = self.obstacle(git, private_git, commits, &diffs).await? {
            return Ok(Err(why));
        }
        let index = self.copy_index(private_git)?;
        let adopted = self.adopt(git, private_git, after, &diffs).await?;
        // Files with a new timestamp but the same content count as modified until the index is refreshed.
        self.command(git, private_git)
            .output(&["update-index", "-q", "--refresh"])
            .await?;
        let updated = self
            .command(git, private_git)
            .run(&["read-tree", "-m", "-u", before, after])
            .await;
        if let Err(error) = updated {
            let command = self.command(git, private_git);
            restore(command, &repository.root, &diffs, &adopted).await?;
            return Err(error);
        }
        Ok(Ok(FileUpdate {
            checkout: self,
            index,
            _lock: lock,
        }))
    }

    /// Completes what a killed process left undone after it moved the branch to `commit`: the index.
    pub(super) async fn settle(
        &self,
        git: &Git,
        private_git: &PrivateGitDir,
        commit: &str,
    ) -> Result<()> {
        let parent = format!("{commit}^");
        let Ok(diffs) = change::differences(git, private_git, &parent, commit).await else {
            return Ok(());
        };
        let (_, head) = self.repository.head(git).await?;
        if head != commit {
            return Ok(());
        }
        let edited = would_overwrite(git, private_git, &self.repository, commit, &diffs).await?;
        if edited.is_empty() {
            return Ok(());
        }
        let Some(_lock) = IndexLock::acquire(&self.repository.git_dir)? else {
            return Ok(());
        };
        let index = self.copy_index(private_git)?;
        self.adopt(git, private_git, commit, &diffs).await?;
        self.install(&index)
    }

    fn locked(&self) -> String {
        format!(
            "{} is locked: another git command is running, or one was killed and left the file",
            self.repository.git_dir.join("index.lock").display()
        )
    }

    /// Creates a command that works on the files, with the private copy of the index.
    fn command<'g>(&self, git: &'g Git, private_git: &PrivateGitDir) -> crate::git::GitCommand<'g> {
        let (root, git_dir) = (&self.repository.root, &self.repository.git_dir);
        let command = private_git.command_in(git, root).write(root);
        command.read([git_dir])
    }

    fn copy_index(&self, private_git: &PrivateGitDir) -> Result<std::path::PathBuf> {
        let copy = private_git.index();
        let index = self.repository.git_dir.join("index");
        fs::copy(&index, &copy).map_err(|error| Error::io(&index, &error))?;
        Ok(copy)
    }

    /// Puts the files that have the content of `after` already into the copy of the index, and returns them.
    async fn adopt(
        &self,
        git: &Git,
        private_git: &PrivateGitDir,
        after: &str,
        diffs: &[FileDiff],
    ) -> Result<BTreeSet<String>> {
        let same = self.same_as(git, private_git, after, diffs).await?;
        if same.is_empty() {
            return Ok(same);
        }
        let paths: String = same.iter().map(|path| format!("{path}\0")).collect();
        let args = ["update-index", "-z", "--add", "--remove", "--stdin"];
        self.command(git, private_git)
            .input(paths)
            .run(&args)
            .await?;
        Ok(same)
    }

    /// Returns the files of these that have the content of `after`.
    async fn same_as(
        &self,
        git: &Git,
        private_git: &PrivateGitDir,
        after: &str,
        diffs: &[FileDiff],
    ) -> Result<BTreeSet<String>> {
        let index = private_git.index().with_file_name("after-index");
        let root = &self.repository.root;
        let command = || {
            let command = private_git.command_in(git, root);
            command.read([root]).index(&index)
        };
        command().run(&["read-tree", after]).await?;
        command()
            .output(&["update-index", "-q", "--refresh"])
            .await?;
        let output = command().run(&["diff-files", "-z", "--name-only"]).await?;
        let differing: BTreeSet<String> = output.nul_separated()?.into_iter().collect();
        let is_same = |diff: &&FileDiff| match diff.kind {
            'D' => root.join(&diff.path).symlink_metadata().is_err(),
            _ => !differing.contains(&diff.path),
        };
        let same = diffs.iter().filter(is_same);
        Ok(same.map(|diff| diff.path.clone()).collect())
    }

    /// Replaces the index by its copy. The caller has the lock.
    fn install(&self, copy: &Path) -> Result<()> {
        let index = self.repository.git_dir.join("index");
        let new = self.repository.git_dir.join("index.windlass");
        fs::copy(copy, &new)
            .and_then(|_| fs::rename(&new, &index))
            .map_err(|error| Error::io(&index, &error))
    }
}

impl FileUpdate<'_> {
    /// Completes the update, after the branch has moved.
    pub(super) fn commit(self) -> Result<()> {
        self.checkout.install(&self.index)
    }

    /// Restores the files, because the branch has not moved.
    pub(super) async fn undo(
        self,
        git: &Git,
        private_git: &PrivateGitDir,
        (before, after): (&str, &str),
    ) -> Result<()> {
        self.checkout
            .command(git, private_git)
            .run(&["read-tree", "-m", "-u", after, before])
            .await?;
        Ok(())
    }
}
