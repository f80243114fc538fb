//! Stateless completions, for callers that store the conversation themselves.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use windlass_core::{AgentHandle, TraceCollector, TurnTrace};
use windlass_wire::{ErrorKind, ModelError, ModelEvent, ModelRequest};

use super::traced::{TracedResponse, traced};
use super::{ModelAgent, mode};

/// Dialect-specific fields that a caller may set. They only change how a model reasons. Fields that set a URL, a header
/// or a key must not be added.
const PASSTHROUGH_FIELDS: [&str; 7] = [
    "reasoning",
    "reasoning_effort",
    "thinking",
    "think",
    "verbosity",
    "include",
    "store",
];

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

impl CompletionModel for ModelAgent {
    fn complete_traced(
        &self,
        request: ModelRequest,
        nodes: &TraceCollector,
    ) -> BoxStream<'static, ModelEvent> {
        let shared = &self.shared;
        let trace = TurnTrace::start(&shared.clock, "answer", shared.kind.name());
        let step = TracedResponse::start(trace, nodes, shared.settings.prices());
        traced(ModelAgent::answer(self, request), step)
    }
}

impl ModelAgent {
    /// Answers a conversation that the caller stores. It keeps no state and runs no tools.
    ///
    /// The tools are the caller's. Their calls are returned as events, even if the model has no native tool calls, and
    /// the caller sends the results with its next request. Model, endpoint and key are those of the settings, whatever
    /// the request contains. Exactly the last event is `Done` or `Error`.
    pub fn answer(&self, mut request: ModelRequest) -> BoxStream<'static, ModelEvent> {
        let shared = &self.shared;
        if let Err(error) = shared.require_key() {
            let error = ModelError::new(ErrorKind::Authentication, error.to_string());
            return stream::iter([ModelEvent::Error(error)]).boxed();
        }
        let model = shared
            .settings
            .model
            .as_deref()
            .or(shared.kind.default_model());
        request.model = model.unwrap_or_default().to_owned();
        request
            .extra
            .retain(|key, _| PASSTHROUGH_FIELDS.contains(&key.as_str()));
        request.max_tokens = request.max_tokens.or(shared.settings.max_tokens);
        if request.sampling.temperature.is_none() {
            request.sampling.temperature = shared.settings.temperature;
        }
        request.stream = shared.settings.stream;
        request.stream_usage = shared.settings.stream;
        mode::stream_request(&shared.client, shared.settings.tool_mode, request)
    }
}
