//! A place as its user sees it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;
use windlass_core::workspace::{Change, Commit, FileChange, WorkingCopy};

use super::{Clones, OpenClone};
use crate::blocking;
use crate::change;
use crate::error::{Error, Result};
use crate::paths::Root;
use crate::publish;

/// An attempt's own clone.
#[derive(Debug)]
pub struct AttemptClone {
    clones: Clones,
    opened: OpenClone,
    /// The last commit with its message: the same again is the same commit.
    last: Mutex<Option<(String, Commit)>>,
}

impl AttemptClone {
    pub(crate) fn new(clones: Clones, opened: OpenClone) -> Self {
        Self {
            clones,
            opened,
            last: Mutex::new(None),
        }
    }

    async fn make_commit(&self, message: String) -> Result<Commit> {
        let (git, base) = (&self.clones.git, &self.opened.base);
        let change::Snapshot { tree, differences } = change::snapshot(git, &self.opened).await?;
        if differences.is_empty() {
            return Err(Error::NothingToCommit { base: base.clone() });
        }
        if let Some((said, last)) = &*self.last()
            && *said == message
            && last.tree == tree
        {
            return Ok(last.clone());
        }
        let call = self.opened.git.command(git).input(message.clone());
        let args = ["commit-tree", "-p", base, "-F", "-", &tree];
        let id = call.run(&args).await?.text();
        let commit = Commit { id, tree };
        *self.last() = Some((message, commit.clone()));
        Ok(commit)
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Option<(String, Commit)>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorkingCopy for AttemptClone {
    fn root(&self) -> &Path {
        &self.opened.work
    }

    fn base(&self) -> &str {
        &self.opened.base
    }

    fn read<'a>(
        &'a self,
        path: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, windlass_core::Result<Option<String>>> {
        let (folder, path) = (self.opened.work.clone(), path.to_owned());
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        Box::pin(async move {
            // Whatever cannot be shown is not shown: a link that leads out, a folder, a file that is too large.
            let read = move || Ok(Root::open(&folder)?.read(&path, limit).ok());
            let bytes = blocking(read).await?;
            Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
        })
    }

    fn apply(&self, files: Vec<FileChange>) -> BoxFuture<'_, windlass_core::Result<Vec<String>>> {
        let root = self.opened.work.clone();
        Box::pin(async move { Ok(blocking(move || change::apply(&root, files)).await?) })
    }

    fn change(&self) -> BoxFuture<'_, windlass_core::Result<Change>> {
        Box::pin(async move { Ok(change::current_change(&self.clones.git, &self.opened).await?) })
    }

    fn commit(&self, message: String) -> BoxFuture<'_, windlass_core::Result<Commit>> {
        Box::pin(async move { Ok(self.make_commit(message).await?) })
    }

    fn publish<'a>(
        &'a self,
        commit: &'a Commit,
        branch: &'a str,
    ) -> BoxFuture<'a, windlass_core::Result<()>> {
        Box::pin(async move {
            Ok(publish::publish(&self.clones.git, &self.opened, commit, branch).await?)
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, windlass_core::Result<()>> {
        let (folder, place) = (self.clones.folder.clone(), self.opened.folder.clone());
        Box::pin(async move { Ok(blocking(move || folder.remove(&place)).await?) })
    }
}
