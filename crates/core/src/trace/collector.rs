//! Where the steps inside a request are told of while it runs.

use std::sync::{Arc, Mutex, PoisonError};

use super::TraceNode;

/// A list that many may add to and one takes.
///
/// A turn tells of its inner steps by events; an answer that is no turn has no such events and gets this list.
#[derive(Debug, Clone, Default)]
pub struct TraceCollector {
    nodes: Arc<Mutex<Vec<TraceNode>>>,
}

/// How many steps are kept; more is a fault of whoever tells of them.
const MAX_NODES: usize = 256;

impl TraceCollector {
    /// Adds a step that has ended.
    pub fn push(&self, node: TraceNode) {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        if nodes.len() < MAX_NODES {
            nodes.push(node);
        }
    }

    /// The steps so far, in the order they ended; the list is empty afterwards.
    pub fn take(&self) -> Vec<TraceNode> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *nodes)
    }
}
