//! One answer to a whole conversation, for callers that keep it themselves.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use windlass_core::{AgentHandle, TraceCollector, TurnTrace};
use windlass_wire::{ErrorKind, ModelError, ModelEvent, ModelRequest};

use super::traced::{TracedResponse, traced};
use super::{ModelAgent, mode};

/// Fields beyond the common words that a caller may set: they change how a model thinks, and nothing else. What names
/// an address, a header or a key is in no list.
const PASSTHROUGH_FIELDS: [&str; 7] = [
    "reasoning",
    "reasoning_effort",
    "thinking",
    "think",
    "verbosity",
    "include",
    "store",
];

/// Whoever answers a conversation that the caller keeps, with the caller's own tools.
///
/// Nothing is remembered, and nothing is run. The last event, and no other, is `Done` or `Error`; dropping the stream
/// ends the work. There are no agent events to tell a trace by: each step goes into the list that is handed in.
pub trait CompletionModel: Send + Sync {
    /// Answers, and adds to `nodes` each step inside as it ends: which model was asked, what it took, how it failed.
    fn complete_traced(
        &self,
        request: ModelRequest,
        nodes: &TraceCollector,
    ) -> BoxStream<'static, ModelEvent>;

    /// Answers a caller that does not want to know more.
    fn complete(&self, request: ModelRequest) -> BoxStream<'static, ModelEvent> {
        self.complete_traced(request, &TraceCollector::default())
    }
}

/// What a handle carries that can answer so.
struct NativeCompletion(Arc<dyn CompletionModel>);

/// The handle, for whoever wants answers to whole conversations too.
pub(crate) fn with_completion_model(
    handle: &AgentHandle,
    answers: Arc<dyn CompletionModel>,
) -> AgentHandle {
    handle.with_extra(NativeCompletion(answers))
}

/// The agent as one that takes a conversation and the caller's tools as they are, if it is such a one: a model, or a
/// composite of nothing but models.
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
    /// Answers a conversation that the caller keeps: nothing is remembered, and nothing is run.
    ///
    /// The tools are the caller's. Their calls come back as events, also from a model that has no calls of its own, and
    /// the results come with the caller's next request. Model, endpoint and key are those of the settings, whatever
    /// the request says. The last event, and no other, is `Done` or `Error`.
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
        mode::stream_request(&shared.line, shared.settings.tool_mode, request)
    }
}
