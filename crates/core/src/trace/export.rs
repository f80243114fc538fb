//! Passes stored traces on to systems outside of Windlass.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::TraceNode;

/// Gets each trace after it was stored. A store calls it for every trace of this process.
pub trait TraceObserver: fmt::Debug + Send + Sync {
    /// Processes a trace of the store with this id. It must not wait: the caller does.
    fn on_trace(&self, store: &str, id: String, root: TraceNode);
}

/// How many spans this process has passed on, and how many it could not.
#[derive(Debug, Default)]
pub struct SpanCounts {
    exported: AtomicU64,
    dropped: AtomicU64,
}

impl SpanCounts {
    /// Counts spans that were delivered.
    pub fn add_exported(&self, count: usize) {
        self.exported.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Counts spans that were given up.
    pub fn add_dropped(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Returns how many spans were delivered.
    pub fn exported(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// Returns how many spans were given up.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}
