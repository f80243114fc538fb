//! An attempt's clone as a [`WorkingCopy`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use windlass_tasks::{BasePart, Change, Commit, FileChange, StartPoint, WorkingCopy};

use super::base::forget_base;
use super::file_states::FileStates;
use super::meta::META_DIR;
use super::{Clones, OpenClone, readable_dirs};
use crate::blocking;
use crate::change;
use crate::error::{Error, Result};
use crate::keep;
use crate::paths::Root;
use crate::publish;

/// The private clone of an attempt.
#[derive(Debug)]
pub struct AttemptClone {
    clones: Clones,
    open_clone: OpenClone,
    /// Committing the same content again returns the same commit.
    last: Mutex<Option<LastCommit>>,
    /// The published commit, and whether its change is kept already.
    published: Mutex<Option<(Commit, bool)>>,
}

/// The last commit of a clone.
#[derive(Debug, Clone)]
struct LastCommit {
    message: String,
    commit: Commit,
    /// The files before git read them. `None` if git must compare them.
    files: Option<Arc<FileStates>>,
}

impl AttemptClone {
    pub(crate) fn new(clones: Clones, open_clone: OpenClone) -> Self {
        Self {
            clones,
            open_clone,
            last: Mutex::new(None),
            published: Mutex::new(None),
        }
    }

    async fn make_commit(&self, message: String) -> Result<Commit> {
        let last = self.last().clone();
        let last = last.filter(|last| last.message == message);
        let known = last.as_ref().and_then(|last| last.files.clone());
        let (work, meta) = (
            self.open_clone.work.clone(),
            self.open_clone.dir.join(META_DIR),
        );
        // Most often nothing changed since the tests, and then no sandbox is needed to find that out.
        let examine = move || {
            if known.is_some_and(|known| known.are_unchanged(&work)) {
                return Ok(None);
            }
            Ok(Some(FileStates::examine(&work, &meta).map(Arc::new)))
        };
        let files = blocking(examine).await?;
        let last = last.map(|last| last.commit);
        let files = match (files, last.clone()) {
            (None, Some(unchanged)) => return Ok(unchanged),
            (files, _) => files.flatten(),
        };
        let commit =
            change::commit_files(&self.clones.git, &self.open_clone, &message, last.as_ref())
                .await?;
        if commit.id != self.open_clone.base {
            *self.last() = Some(LastCommit {
                message,
                commit: commit.clone(),
                files,
            });
        }
        Ok(commit)
    }

    async fn publish_commit(&self, commit: &Commit, branch: &str) -> Result<()> {
        if commit.id == self.open_clone.base {
            let base = commit.id.clone();
            return Err(Error::NothingToCommit { base });
        }
        let is_kept = publish::publish(&self.clones.git, &self.open_clone, commit, branch).await?;
        *self.published.lock() = Some((commit.clone(), is_kept));
        Ok(())
    }

    async fn keep_change(&self, message: String) -> Result<Option<Commit>> {
        let (clones, clone) = (&self.clones, &self.open_clone);
        let Some(origin) = &clone.origin else {
            return Ok(None);
        };
        let published = self.published.lock().clone();
        match published {
            Some((commit, true)) => {
                keep::prune_if_due(clones, &clone.repository).await;
                Ok(Some(commit))
            }
            Some((commit, false)) => keep::keep_published(clones, clone, origin, commit)
                .await
                .map(Some),
            None => keep::keep(clones, clone, origin, message).await,
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<LastCommit>> {
        self.last.lock()
    }
}

impl WorkingCopy for AttemptClone {
    fn root(&self) -> &Path {
        &self.open_clone.work
    }

    fn base(&self) -> &str {
        &self.open_clone.base
    }

    fn base_parts(&self) -> &[BasePart] {
        &self.open_clone.base_parts
    }

    fn start(&self) -> &StartPoint {
        &self.open_clone.start
    }

    fn readable_dirs(&self) -> Vec<PathBuf> {
        readable_dirs(&self.open_clone.work)
    }

    fn read<'a>(
        &'a self,
        path: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, windlass_core::Result<Option<String>>> {
        let (root, path) = (self.open_clone.work.clone(), path.to_owned());
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        Box::pin(async move {
            // Content that cannot be returned is treated as missing: a link that leads out, a
            // directory, a file that is too large.
            let read = move || Ok(Root::open(&root)?.read(&path, limit).ok());
            let bytes = blocking(read).await?;
            Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
        })
    }

    fn apply(&self, files: Vec<FileChange>) -> BoxFuture<'_, windlass_core::Result<Vec<String>>> {
        let root = self.open_clone.work.clone();
        Box::pin(async move { Ok(blocking(move || change::apply(&root, files)).await?) })
    }

    fn change(&self) -> BoxFuture<'_, windlass_core::Result<Change>> {
        Box::pin(
            async move { Ok(change::current_change(&self.clones.git, &self.open_clone).await?) },
        )
    }

    fn commit(&self, message: String) -> BoxFuture<'_, windlass_core::Result<Commit>> {
        Box::pin(async move { Ok(self.make_commit(message).await?) })
    }

    fn change_of<'a>(&'a self, commit: &'a Commit) -> BoxFuture<'a, windlass_core::Result<Change>> {
        Box::pin(async move {
            Ok(change::change_to(&self.clones.git, &self.open_clone, &commit.tree).await?)
        })
    }

    fn publish<'a>(
        &'a self,
        commit: &'a Commit,
        branch: &'a str,
    ) -> BoxFuture<'a, windlass_core::Result<()>> {
        Box::pin(async move { Ok(self.publish_commit(commit, branch).await?) })
    }

    fn keep(&self, message: String) -> BoxFuture<'_, windlass_core::Result<Option<Commit>>> {
        Box::pin(async move { Ok(self.keep_change(message).await?) })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, windlass_core::Result<()>> {
        let (dir, clone) = (self.clones.dir.clone(), self.open_clone.dir.clone());
        Box::pin(async move {
            blocking(move || dir.remove(&clone)).await?;
            forget_base(&self.clones, &self.open_clone).await;
            Ok(())
        })
    }
}
