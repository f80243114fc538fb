//! Saves the traces of served models in the task store.

use std::sync::Arc;

use futures::future::BoxFuture;
use windlass_core::TraceNode;
use windlass_gateway::TraceSink;
use windlass_tasks::Traces;

/// Saves traces in a store.
#[derive(Debug, Clone)]
pub struct StoreTraceSink(pub Arc<dyn Traces>);

impl TraceSink for StoreTraceSink {
    fn save(&self, id: String, root: TraceNode) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.0.put_trace(id.clone(), None, root).await {
                tracing::warn!(%id, %error, "cannot save trace");
            }
        })
    }
}
