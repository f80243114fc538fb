//! Stateless completions, for callers that store the conversation themselves.

use std::sync::Arc;

use futures::stream::BoxStream;
use windlass_core::{AgentHandle, TraceCollector};
use windlass_wire::{ModelEvent, ModelRequest};

/// Answers a conversation that the caller stores, with the tools of the caller.
///
/// It keeps no state and runs no tools. Exactly the last event is `Done` or `Error`. Dropping the stream ends the work.
/// There are no agent events to build a trace from: each step is added to the collector that the caller passes.
pub trait CompletionModel: Send + Sync {
    /// Answers the request and adds each finished step to `nodes`: the model, its usage and its error.
    fn complete_traced(
        &self,
        request: ModelRequest,
        nodes: &TraceCollector,
    ) -> BoxStream<'static, ModelEvent>;

    /// Answers the request without a trace.
    fn complete(&self, request: ModelRequest) -> BoxStream<'static, ModelEvent> {
        self.complete_traced(request, &TraceCollector::default())
    }
}

/// The extension of a handle that provides its completion model.
struct NativeCompletion(Arc<dyn CompletionModel>);

/// Returns the handle with this completion model attached.
pub(crate) fn with_completion_model(
    handle: &AgentHandle,
    model: Arc<dyn CompletionModel>,
) -> AgentHandle {
    handle.with_extra(NativeCompletion(model))
}

/// Returns the completion model of an agent, if it has one: a model does, and so does a composite of models only.
pub fn completion_model(handle: &AgentHandle) -> Option<Arc<dyn CompletionModel>> {
    let native = handle.extra::<NativeCompletion>()?;
    Some(Arc::clone(&native.0))
}
