//! Traces.

use std::fmt;

use windlass_core::TraceNode;

use super::error::StoreFuture;
use crate::id::TaskId;

/// Stores the traces of turns.
pub trait Traces: fmt::Debug + Send + Sync {
    /// Stores a trace under its id, with its task if it has one.
    fn put_trace(&self, id: String, task: Option<TaskId>, root: TraceNode) -> StoreFuture<'_, ()>;
    /// Returns a trace.
    fn trace(&self, id: String) -> StoreFuture<'_, TraceNode>;
    /// Returns the ids of the newest traces, of one task or of all.
    fn traces(&self, task: Option<TaskId>, limit: u32) -> StoreFuture<'_, Vec<String>>;
}
