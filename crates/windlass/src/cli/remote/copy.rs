//! The clone of an attempt whose results go to a remote.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use windlass_core::{Error, Result};
use windlass_tasks::{
    AttemptRef, BasePart, Change, Commit, FileChange, StartPoint, TaskStore, WorkingCopy,
};

use super::super::publish::PushFailure;
use super::mirror::RemoteMirror;

/// How many characters of a commit are shown, and distinguish a second change of the same attempt.
const SHORT: usize = 10;

/// A clone on a mirror.
#[derive(Debug)]
pub(super) struct RemoteCopy {
    pub(super) copy: Box<dyn WorkingCopy>,
    pub(super) attempt: AttemptRef,
    pub(super) mirror: RemoteMirror,
    pub(super) store: Arc<dyn TaskStore>,
}

impl RemoteCopy {
    /// Moves the remote's branch to the commit. What is there is replaced only if the store says that an earlier attempt
    /// at the same task published it.
    async fn push_branch(&self, commit: &Commit, branch: &str) -> Result<()> {
        let git = self.mirror.git().await?;
        let reference = format!("refs/heads/{branch}");
        let there = git.commit(&reference).await?;
        if there.as_ref() == Some(&commit.id) {
            return Ok(());
        }
        let lease = match there {
            None => String::new(),
            Some(there) if self.is_earlier(&there).await? => there,
            Some(there) => return Err(self.foreign(branch, &there)),
        };
        match git.push(&commit.id, &reference, &lease).await? {
            Ok(()) => Ok(()),
            Err(failure) => Err(git.error(&failure)),
        }
    }

    /// Returns `true` if the store knows the commit as the result of an earlier attempt at the task.
    async fn is_earlier(&self, commit: &str) -> Result<bool> {
        let unavailable = |error| Error::InvalidInput(format!("{error}"));
        let attempts = self.store.attempts(self.attempt.task).await;
        for earlier in attempts.map_err(unavailable)? {
            if earlier.number >= self.attempt.number {
                continue;
            }
            let at = AttemptRef {
                number: earlier.number,
                ..self.attempt
            };
            let proof = self.store.proof_of(at).await.map_err(unavailable)?;
            let proved = proof.map(|proof| proof.commit);
            if [earlier.commit, proved]
                .iter()
                .flatten()
                .any(|known| known == commit)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn foreign(&self, branch: &str, there: &str) -> Error {
        let short: String = there.chars().take(SHORT).collect();
        Error::InvalidInput(format!(
            "{} has other work on {branch} ({short}), and it is kept: rename or delete the branch there, then try again",
            self.mirror.url
        ))
    }

    /// Keeps the change on the remote, under a name of its own.
    async fn push_kept(&self, commit: &Commit) -> Result<()> {
        let git = self.mirror.git().await?;
        let AttemptRef { task, number } = self.attempt;
        let store = &self.mirror.refs.store;
        let mut reference = format!("refs/windlass/{store}/task-{task}/attempt-{number}");
        for _ in 0..2 {
            match git.push(&commit.id, &reference, "").await? {
                Ok(()) => return Ok(()),
                Err(PushFailure::Ahead) => {
                    if git.commit(&reference).await?.as_ref() == Some(&commit.id) {
                        return Ok(());
                    }
                    let suffix: String = commit.id.chars().take(SHORT).collect();
                    reference = format!("{reference}-{suffix}");
                }
                Err(failure) => return Err(git.error(&failure)),
            }
        }
        Err(git.error(&PushFailure::Ahead))
    }
}

impl WorkingCopy for RemoteCopy {
    fn root(&self) -> &Path {
        self.copy.root()
    }

    fn base(&self) -> &str {
        self.copy.base()
    }

    fn base_parts(&self) -> &[BasePart] {
        self.copy.base_parts()
    }

    fn start(&self) -> &StartPoint {
        self.copy.start()
    }

    fn readable_dirs(&self) -> Vec<PathBuf> {
        self.copy.readable_dirs()
    }

    fn read<'a>(&'a self, path: &'a str, limit: usize) -> BoxFuture<'a, Result<Option<String>>> {
        self.copy.read(path, limit)
    }

    fn apply(&self, files: Vec<FileChange>) -> BoxFuture<'_, Result<Vec<String>>> {
        self.copy.apply(files)
    }

    fn change(&self) -> BoxFuture<'_, Result<Change>> {
        self.copy.change()
    }

    fn commit(&self, message: String) -> BoxFuture<'_, Result<Commit>> {
        self.copy.commit(message)
    }

    fn change_of<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, Result<Change>> {
        self.copy.change_of(commit)
    }

    /// The mirror gets the objects, and the remote gets them from there.
    fn publish<'a>(&'a self, commit: &'a Commit, branch: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.copy.publish(commit, branch).await?;
            self.push_branch(commit, branch).await
        })
    }

    fn keep(&self, message: String) -> BoxFuture<'_, Result<Option<Commit>>> {
        Box::pin(async move {
            let kept = self.copy.keep(message).await?;
            if let Some(commit) = &kept {
                self.push_kept(commit).await?;
            }
            Ok(kept)
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<()>> {
        self.copy.close()
    }
}
