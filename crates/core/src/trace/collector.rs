//! A collector for the steps inside a running request.

use std::sync::Arc;

use parking_lot::Mutex;

use super::TraceNode;

/// A shared list of steps. Several writers add steps and one reader takes them.
///
/// A turn reports its inner steps as events. A request that is not a turn has no events and uses this
/// list.
#[derive(Debug, Clone, Default)]
pub struct TraceCollector {
    nodes: Arc<Mutex<Vec<TraceNode>>>,
}

/// The maximum number of steps. Further steps are ignored.
const MAX_NODES: usize = 256;

impl TraceCollector {
    /// Adds a step that has ended.
    pub fn push(&self, node: TraceNode) {
        let mut nodes = self.nodes.lock();
        if nodes.len() < MAX_NODES {
            nodes.push(node);
        }
    }

    /// Returns the steps so far, in the order they ended, and empties the list.
    pub fn take(&self) -> Vec<TraceNode> {
        let mut nodes = self.nodes.lock();
        std::mem::take(&mut *nodes)
    }
}
