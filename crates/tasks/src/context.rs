//! The parts of a project that are relevant to a task.

use std::fmt;
use std::path::Path;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use windlass_core::Result;

use crate::project::Issue;
use crate::task::Task;

/// Selects the parts of a project that are relevant to a task.
pub trait ContextSource: fmt::Debug + Send + Sync {
    /// Builds the context for an agent before it starts; `build_context` of the worker's contract.
    fn build_context<'a>(
        &'a self,
        root: &'a Path,
        task: &'a Task,
        issue: Option<&'a Issue>,
    ) -> BoxFuture<'a, Result<TaskContext>>;
}

/// The context that an agent receives before it starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskContext {
    /// The task.
    pub task: Task,
    /// The files most likely relevant, best first, at most [`Self::MAX_FILES`].
    pub related_files: Vec<RelatedFile>,
    /// The symbols most likely relevant, best first, at most [`Self::MAX_SYMBOLS`].
    pub related_symbols: Vec<RelatedSymbol>,
    /// The issue that the task belongs to.
    pub issue_context: Option<Issue>,
}

impl TaskContext {
    /// The maximum number of files in a context.
    pub const MAX_FILES: usize = 10;
    /// The maximum number of symbols in a context.
    pub const MAX_SYMBOLS: usize = 20;
}

/// A file that is likely relevant to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelatedFile {
    /// The path relative to the root.
    pub path: String,
    /// The relevance, comparable within one context only.
    pub score: f64,
    /// Why it was chosen.
    pub why: String,
}

/// A symbol that is likely relevant to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelatedSymbol {
    /// The name as written in the source.
    pub name: String,
    /// The kind, such as function or class.
    pub kind: String,
    /// The file that defines it, relative to the root.
    pub path: String,
    /// The line of its definition, counted from one.
    pub line: u32,
    /// The relevance, comparable within one context only.
    pub score: f64,
    /// Why it was chosen.
    pub why: String,
}
