//! `build_context` of the worker's contract, on an index.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use windlass_core::task::{Issue, Task};
use windlass_core::workspace::{ContextSource, TaskContext};

use crate::codebase::CodebaseIndex;
use crate::history::PastCommit;
use crate::related::Related;
use crate::walk::IndexLimits;
use crate::{Error, Result};

/// Knows a repository's past commits. This crate starts no process, so somebody else must.
pub trait HistorySource: fmt::Debug + Send + Sync {
    /// The past of the repository at `root`; `None` where there is none to be had. `known` is the commit up to which it
    /// is known already, and `commits` the most that are wanted.
    fn history<'a>(
        &'a self,
        root: &'a Path,
        known: Option<&'a str>,
        commits: usize,
    ) -> BoxFuture<'a, Option<NewHistory>>;
}

/// Past commits that were not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHistory {
    /// The commit that the repository stands at.
    pub head: String,
    /// The commits up to it, newest first.
    pub commits: Vec<PastCommit>,
    /// The commit upon which they follow, if that was known; otherwise they replace what is known.
    pub since: Option<String>,
}

/// Knows which parts of a project a task is about, for any project.
#[derive(Debug, Clone)]
pub struct CodebaseContext {
    cache_folder: Option<PathBuf>,
    limits: IndexLimits,
    history: Option<Arc<dyn HistorySource>>,
}

impl CodebaseContext {
    /// Keeps its caches in this folder, one file for each repository.
    pub fn new(cache_folder: impl Into<PathBuf>) -> Self {
        Self {
            cache_folder: Some(cache_folder.into()),
            ..Self::without_cache()
        }
    }

    /// Keeps nothing: every start is a first one.
    pub fn without_cache() -> Self {
        Self {
            cache_folder: None,
            limits: IndexLimits::default(),
            history: None,
        }
    }

    /// Looks at past commits too.
    pub fn with_history(mut self, history: impl HistorySource + 'static) -> Self {
        self.history = Some(Arc::new(history));
        self
    }

    /// Looks at so much and no more.
    pub fn with_limits(mut self, limits: IndexLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The index of a folder, up to date, its past included.
    pub async fn open(&self, root: &Path) -> Result<CodebaseIndex> {
        let (root, folder, limits) = (root.to_owned(), self.cache_folder.clone(), self.limits);
        let load = move || CodebaseIndex::load(&root, folder.as_deref(), limits);
        let mut index = blocking(load).await?;
        if let Some(source) = &self.history {
            let known = index.history_head();
            let commits = crate::history::History::MAX_COMMITS;
            match source.history(index.root(), known, commits).await {
                Some(new) => index.stage_history(&new.head, &new.commits, new.since.as_deref()),
                None => index.clear_history(),
            }
        }
        blocking(move || {
            index.refresh()?;
            Ok(index)
        })
        .await?
    }

    /// The files and symbols that a task, told in these words, is probably about.
    pub async fn related(&self, root: &Path, task: &str) -> Result<Related> {
        let (index, task) = (self.open(root).await?, task.to_owned());
        blocking(move || index.related(&task)).await
    }
}

impl ContextSource for CodebaseContext {
    fn build_context<'a>(
        &'a self,
        root: &'a Path,
        task: &'a Task,
        issue: Option<&'a Issue>,
    ) -> BoxFuture<'a, windlass_core::Result<TaskContext>> {
        async move {
            let related = self.related(root, &task_text(task, issue)).await?;
            Ok(TaskContext {
                task: task.clone(),
                related_files: related.files,
                related_symbols: related.symbols,
                issue_context: issue.cloned(),
            })
        }
        .boxed()
    }
}

/// A task in words. What it is part of is told last: a long text is cut at its end.
fn task_text(task: &Task, issue: Option<&Issue>) -> String {
    let mut text = format!("{}\n{}", task.title, task.description);
    if let Some(issue) = issue {
        text.push('\n');
        text.push_str(&issue.title);
    }
    text
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::Stopped(error.to_string()))
}
