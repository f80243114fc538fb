//! `build_context` of the worker's contract, based on an index.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use windlass_tasks::{ContextSource, Issue, Task, TaskContext};

use crate::codebase::CodebaseIndex;
use crate::history::PastCommit;
use crate::related::Related;
use crate::walk::IndexLimits;
use crate::{Error, Result};

/// Provides the commit history of a repository. This crate starts no processes, so the caller must run git.
pub trait HistorySource: fmt::Debug + Send + Sync {
    /// Returns the history of the repository at `root`, or `None` without one. `known` is the newest
    /// commit that is already known, and `commits` is the maximum number of commits.
    fn history<'a>(
        &'a self,
        root: &'a Path,
        known: Option<&'a str>,
        commits: usize,
    ) -> BoxFuture<'a, Option<NewHistory>>;
}

/// Commits that were not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHistory {
    /// The current commit of the repository.
    pub head: String,
    /// The commits up to `head`, newest first.
    pub commits: Vec<PastCommit>,
    /// The commit that they follow, if it was known; otherwise they replace the known history.
    pub since: Option<String>,
}

/// Finds the relevant parts of a project for a task, in any project.
#[derive(Debug, Clone)]
pub struct CodebaseContext {
    cache_dir: Option<PathBuf>,
    limits: IndexLimits,
    history: Option<Arc<dyn HistorySource>>,
}

impl CodebaseContext {
    /// Creates a context source with its caches in this directory, one file per repository.
    pub fn new(cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            cache_dir: Some(cache_dir.into()),
            ..Self::without_cache()
        }
    }

    /// Creates a context source without a cache: every call indexes from scratch.
    pub fn without_cache() -> Self {
        Self {
            cache_dir: None,
            limits: IndexLimits::default(),
            history: None,
        }
    }

    /// Also uses the commit history.
    pub fn with_history(mut self, history: impl HistorySource + 'static) -> Self {
        self.history = Some(Arc::new(history));
        self
    }

    /// Sets the limits of the index.
    pub fn with_limits(mut self, limits: IndexLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Opens and updates the index of a directory, including its history.
    pub async fn open(&self, root: &Path) -> Result<CodebaseIndex> {
        let (root, cache_dir, limits) = (root.to_owned(), self.cache_dir.clone(), self.limits);
        let load = move || CodebaseIndex::load(&root, cache_dir.as_deref(), limits);
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

    /// Returns the files and symbols that are probably relevant to a task description.
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

/// Returns the text of a task. The issue comes last, because a long text is truncated at its end.
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
