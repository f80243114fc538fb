//! Stateless completions, for callers that store the conversation themselves.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use serde_json::{Map, Value};
use windlass_core::{AgentHandle, Masker, TraceCollector, WorkLabel};
use windlass_wire::{Dialect, ModelError, ModelEvent, ModelRequest};

use super::masked::MaskedEvents;
use super::masked_frames::MaskedFrames;

/// Where the steps of a completion are recorded, and for which work its calls are counted.
#[derive(Debug, Clone, Default)]
pub struct CompletionContext {
    /// Receives each finished step.
    pub nodes: TraceCollector,
    /// The work.
    pub work: WorkLabel,
}

/// Answers a conversation that the caller stores, with the tools of the caller.
///
/// It keeps no state and runs no tools. Exactly the last event is `Done` or `Error`. Dropping the stream ends the work.
/// There are no agent events to build a trace from: each step is added to the collector of the context.
pub trait CompletionModel: Send + Sync {
    /// Answers the request and records each finished step: the model, its usage and its error.
    fn complete_in(
        &self,
        request: ModelRequest,
        context: &CompletionContext,
    ) -> BoxStream<'static, ModelEvent>;

    /// Returns the call for embeddings of this input, or `None` if the model's server has none. The fields are those of
    /// OpenAI's API; the model is that of the settings.
    fn embed(
        &self,
        fields: Map<String, Value>,
        context: &CompletionContext,
    ) -> Option<EmbeddingCall> {
        let _ = (fields, context);
        None
    }

    /// Sends a request in the API that it came in, and relays the response as the server sends it. Returns the request if
    /// the response must be translated.
    fn relay(
        &self,
        request: Box<ModelRequest>,
        context: &CompletionContext,
    ) -> Result<RelayCall, Box<ModelRequest>> {
        let _ = context;
        Err(request)
    }

    /// Answers the request without a trace.
    fn complete(&self, request: ModelRequest) -> BoxStream<'static, ModelEvent> {
        self.complete_in(request, &CompletionContext::default())
    }
}

/// A request that is relayed. Dropping it ends the work.
pub type RelayCall = BoxFuture<'static, Result<RelayedBody, ModelError>>;

/// The body of a relayed response: complete frames of a stream, or one document. An error is the last item, and follows
/// what was received before.
pub type RelayedBody = BoxStream<'static, Result<Bytes, ModelError>>;

/// A call for embeddings. Dropping it ends the work.
pub type EmbeddingCall = BoxFuture<'static, Result<Value, ModelError>>;

/// The extension of a handle that provides its completion model.
struct NativeCompletion(Arc<dyn CompletionModel>);

/// Returns the handle with this completion model attached.
pub(crate) fn with_completion_model(
    handle: &AgentHandle,
    model: Arc<dyn CompletionModel>,
) -> AgentHandle {
    handle.with_extra(NativeCompletion(model))
}

/// Returns the completion model of an agent, if it has one: a model does, and so does a composite of models only. Its
/// answers are masked like the events of the agent.
pub fn completion_model(handle: &AgentHandle) -> Option<Arc<dyn CompletionModel>> {
    let native = handle.extra::<NativeCompletion>()?;
    let model = Arc::clone(&native.0);
    if handle.masker().is_empty() {
        return Some(model);
    }
    let masker = handle.masker().clone();
    Some(Arc::new(MaskedModel { model, masker }))
}

/// A completion model that masks known secrets in its answers, errors and trace.
struct MaskedModel {
    model: Arc<dyn CompletionModel>,
    masker: Masker,
}

impl MaskedModel {
    fn masked(&self, context: &CompletionContext) -> CompletionContext {
        CompletionContext {
            nodes: context.nodes.with_masker(self.masker.clone()),
            work: context.work.clone(),
        }
    }
}

impl CompletionModel for MaskedModel {
    fn complete_in(
        &self,
        request: ModelRequest,
        context: &CompletionContext,
    ) -> BoxStream<'static, ModelEvent> {
        let events = self.model.complete_in(request, &self.masked(context));
        let mut masked = MaskedEvents::new(self.masker.clone());
        events
            .flat_map(move |event| futures::stream::iter(masked.push(event)))
            .boxed()
    }

    fn relay(
        &self,
        request: Box<ModelRequest>,
        context: &CompletionContext,
    ) -> Result<RelayCall, Box<ModelRequest>> {
        // A secret in a stream may be split between frames.
        let frames = request.origin.filter(|_| request.stream);
        let call = self.model.relay(request, &self.masked(context))?;
        let masker = self.masker.clone();
        Ok(Box::pin(async move {
            let body = call.await.map_err(|error| masked_error(&masker, error))?;
            if let Some(dialect) = frames {
                return Ok(masked_stream(body, dialect, masker));
            }
            let masked = body.map(move |item| match item {
                Ok(bytes) => Ok(masker.bytes(&bytes).map_or(bytes, Bytes::from)),
                Err(error) => Err(masked_error(&masker, error)),
            });
            Ok(masked.boxed())
        }))
    }

    fn embed(
        &self,
        fields: Map<String, Value>,
        context: &CompletionContext,
    ) -> Option<EmbeddingCall> {
        let masker = self.masker.clone();
        let call = self.model.embed(fields, context)?;
        let call = call.map(move |answer| answer.map_err(|error| masked_error(&masker, error)));
        Some(call.boxed())
    }
}

/// Masks the frames of a stream. Frames that are held back are sent before its end or its error.
fn masked_stream(body: RelayedBody, dialect: Dialect, masker: Masker) -> RelayedBody {
    let frames = MaskedFrames::new(dialect, masker.clone());
    let state = Some((body, frames, masker));
    let parts = stream::unfold(state, async |state| {
        let (mut body, mut frames, masker) = state?;
        let (ready, error, is_open) = match body.next().await {
            Some(Ok(bytes)) => (frames.push(&bytes), None, true),
            Some(Err(error)) => (frames.finish(), Some(masked_error(&masker, error)), false),
            None => (frames.finish(), None, false),
        };
        let ready = (!ready.is_empty()).then(|| Ok(Bytes::from(ready)));
        let items = ready.into_iter().chain(error.map(Err));
        Some((
            stream::iter(items),
            is_open.then_some((body, frames, masker)),
        ))
    });
    parts.flatten().boxed()
}

fn masked_error(masker: &Masker, mut error: ModelError) -> ModelError {
    masker.string(&mut error.message);
    error
}
