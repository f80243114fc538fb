//! A collector for the steps inside a running request.

use std::sync::Arc;

use parking_lot::Mutex;

use super::TraceNode;
use crate::Masker;

/// A shared list of steps. Several writers add steps and one reader takes them.
///
/// A turn reports its inner steps as events. A request that is not a turn has no events and uses this
/// list.
#[derive(Debug, Clone, Default)]
pub struct TraceCollector {
    nodes: Arc<Mutex<Vec<TraceNode>>>,
    masker: Masker,
}

/// The maximum number of steps. Further steps are ignored.
const MAX_NODES: usize = 256;

impl TraceCollector {
    /// Returns a collector that adds to the same list, with secrets masked.
    #[must_use]
    pub fn with_masker(&self, masker: Masker) -> Self {
        let nodes = Arc::clone(&self.nodes);
        Self { nodes, masker }
    }

    /// Adds a step that has ended.
    pub fn push(&self, mut node: TraceNode) {
        mask(&mut node, &self.masker);
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

/// Masks what a process or a provider reported in a step and in the steps inside it.
fn mask(node: &mut TraceNode, masker: &Masker) {
    let message = node.error.as_mut().map(|error| &mut error.message);
    for text in node.stderr.iter_mut().chain(message) {
        masker.string(text);
    }
    node.children
        .iter_mut()
        .for_each(|child| mask(child, masker));
}
