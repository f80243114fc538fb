//! A model behind HTTP as a [`CompletionModel`].

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::{Map, Value};
use windlass_core::{TurnTrace, WorkLabel};
use windlass_wire::{ErrorKind, ModelError, ModelEvent, ModelRequest};

use super::completion::{CompletionContext, EmbeddingCall, RelayCall};
use super::traced::{TracedResponse, traced};
use super::{CompletionModel, ModelAgent, ModelKind, ToolMode, mode, relay};

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

impl CompletionModel for ModelAgent {
    fn complete_in(
        &self,
        request: ModelRequest,
        context: &CompletionContext,
    ) -> BoxStream<'static, ModelEvent> {
        let shared = &self.shared;
        let trace = TurnTrace::start(&shared.clock, "answer", shared.kind.name());
        let step = TracedResponse::start(trace, &context.nodes, shared.settings.prices());
        traced(self.answer_for(request, &context.work), step)
    }

    fn relay(
        &self,
        request: Box<ModelRequest>,
        context: &CompletionContext,
    ) -> Result<RelayCall, Box<ModelRequest>> {
        relay::relay(self, request, context)
    }

    fn embed(
        &self,
        mut fields: Map<String, Value>,
        context: &CompletionContext,
    ) -> Option<EmbeddingCall> {
        let shared = &self.shared;
        if shared.kind == ModelKind::Anthropic {
            return None;
        }
        let key = shared.require_key();
        let model = shared.settings.model.as_deref();
        let model = model.or(shared.kind.default_model()).unwrap_or_default();
        fields.insert("model".to_owned(), model.into());
        let client = shared.client_for(&context.work);
        Some(Box::pin(async move {
            key.map_err(|error| ModelError::new(ErrorKind::Authentication, error.to_string()))?;
            client.embed(&Value::Object(fields)).await
        }))
    }
}

impl ModelAgent {
    /// Answers a conversation that the caller stores. It keeps no state and runs no tools.
    ///
    /// The tools are the caller's. Their calls are returned as events, even if the model has no native tool calls, and
    /// the caller sends the results with its next request. Model, endpoint and key are those of the settings, whatever
    /// the request contains. Exactly the last event is `Done` or `Error`.
    pub fn answer(&self, request: ModelRequest) -> BoxStream<'static, ModelEvent> {
        self.answer_for(request, &WorkLabel::default())
    }

    /// Answers like [`answer`](Self::answer), and counts the calls for this work.
    fn answer_for(
        &self,
        mut request: ModelRequest,
        work: &WorkLabel,
    ) -> BoxStream<'static, ModelEvent> {
        let shared = &self.shared;
        if let Err(error) = shared.require_key() {
            let error = ModelError::new(ErrorKind::Authentication, error.to_string());
            return stream::iter([ModelEvent::Error(error)]).boxed();
        }
        let tool_mode = self.prepare(&mut request);
        mode::stream_request(&shared.client_for(work), tool_mode, request)
    }

    /// Sets what the settings decide, and removes what a caller must not set. Returns the tool mode.
    pub(super) fn prepare(&self, request: &mut ModelRequest) -> ToolMode {
        let shared = &self.shared;
        let model = shared
            .settings
            .model
            .as_deref()
            .or(shared.kind.default_model());
        request.model = model.unwrap_or_default().to_owned();
        request
            .extra
            .retain(|key, _| PASSTHROUGH_FIELDS.contains(&key.as_str()));
        let fit = shared.fit(None);
        request.max_tokens = request.max_tokens.or(shared.settings.max_tokens);
        if request.sampling.temperature.is_none() {
            request.sampling.temperature = fit.temperature;
        }
        // A caller that waits for the whole answer gets it from one document, which costs half as much as a stream.
        request.stream &= shared.settings.stream;
        request.stream_usage = request.stream;
        fit.tool_mode
    }
}
