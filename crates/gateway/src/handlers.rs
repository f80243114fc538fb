//! Handlers of the HTTP requests.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tracing::Instrument as _;
use windlass_agents::model::{CompletionContext, CompletionModel, RelayCall};
use windlass_core::{TraceCollector, TraceParent, WorkLabel};
use windlass_wire::model_list::{self, ModelEntry};
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelRequest, ResponseWriter, Route};

use crate::answer::{answer, endpoint};
use crate::api_caller::work_of;
use crate::client::ClientSender;
use crate::job::RequestJob;
use crate::relay::RelayedRequest;
use crate::response::EventResponse;
use crate::state::ApiState;
use crate::trace::RequestTrace;
use crate::{ModelInfo, ServedModel, errors, validate};

/// The header with the trace id of a response.
const TRACE: HeaderName = HeaderName::from_static("x-windlass-trace");
/// The header of W3C Trace Context with the span of the caller.
const TRACE_PARENT: &str = "traceparent";
/// The header with the name of the agent that responded.
const AGENT: HeaderName = HeaderName::from_static("x-windlass-agent");
/// The maximum number of events that wait for a client.
const EVENT_QUEUE: usize = 64;
/// Approximate number of bytes per token.
const TOKEN_BYTES: usize = 4;

/// Handles a completion request.
pub(crate) async fn complete(State(state): State<Arc<ApiState>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let dialect = errors::dialect_of(head.uri.path());
    let route = Route::for_dialect(dialect);
    let caller = CallerLabel {
        work: work_of(&head.extensions),
        parent: parent_of(&head.headers),
    };
    match read_request(&state, &route, &head.headers, body).await {
        Ok((request, _)) => match start(&state, &route, request, caller).await {
            Ok(response) => response,
            Err(error) => errors::render(dialect, &error),
        },
        Err(error) => errors::render(dialect, &error),
    }
}

/// Who sent a request.
struct CallerLabel {
    /// The work for which its calls are counted.
    work: WorkLabel,
    /// The span of the caller.
    parent: Option<TraceParent>,
}

/// Returns the span of the caller. Of several, none can be the right one.
fn parent_of(headers: &HeaderMap) -> Option<TraceParent> {
    let mut values = headers.get_all(TRACE_PARENT).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    TraceParent::parse(value.to_str().ok()?)
}

/// Reads and validates a completion request.
async fn read_request(
    state: &ApiState,
    route: &Route,
    headers: &HeaderMap,
    body: Body,
) -> Result<(ModelRequest, Bytes), ModelError> {
    let body = read(state, headers, body).await?;
    let request = route.parse_request(&body)?;
    validate::validate_request(&request)?;
    Ok((request, body))
}

/// Reads the body of a request, within its limits.
pub(crate) async fn read(
    state: &ApiState,
    headers: &HeaderMap,
    body: Body,
) -> Result<Bytes, ModelError> {
    if headers.contains_key(CONTENT_ENCODING) {
        let message = "content-encoding is not supported: send the body uncompressed";
        return Err(ModelError::new(ErrorKind::InvalidRequest, message));
    }
    let limit = state.limits.body_bytes;
    let too_large = || {
        let message = format!("the body is larger than {limit} bytes");
        ModelError::new(ErrorKind::TooLarge, message)
    };
    tokio::select! {
        biased;
        read = to_bytes(body, limit) => read.map_err(|_| too_large()),
        () = state.clock.sleep(state.limits.body_time) => {
            Err(errors::timeout("timed out while reading the body".to_owned()))
        }
    }
}

/// Finds the model and responds, with the headers that name the trace and the agent.
async fn start(
    state: &Arc<ApiState>,
    route: &Route,
    request: ModelRequest,
    caller: CallerLabel,
) -> Result<Response, ModelError> {
    let found = state.find(&request.model);
    let served = found.map_err(|error| ModelError::from(&error))?;
    if served.native.is_none() {
        validate::validate_text_only(&request, &served.name, served.transcript_tools)?;
    }
    let permit = Arc::clone(&state.permits).try_acquire_owned();
    let permit = permit.map_err(|_| errors::too_many_requests(state.limits.concurrent))?;
    let id = uuid::Uuid::new_v4().simple().to_string();
    let headers = [(TRACE, id.clone()), (AGENT, served.name.clone())];
    let trace_id = caller.parent.as_ref().map_or(&*id, TraceParent::trace_id);
    // At the highest level, so that each level of the log has its fields.
    let span = tracing::error_span!("model_request", trace = &*id, trace_id);
    let admitted = Admitted {
        id,
        permit,
        caller,
        span: span.clone(),
    };
    let result = async {
        match relay(state, route, &served, request, admitted) {
            Ok((relayed, call, streams)) => relayed.respond(call, streams).await,
            Err(unrelayed) => translate(state, route, served, *unrelayed).await,
        }
    };
    let result = result.instrument(span).await;
    let mut response = result.unwrap_or_else(|error| errors::render(route.dialect, &error));
    for (header, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(header, value);
        }
    }
    Ok(response)
}

/// A request that is about to be answered.
struct Admitted {
    id: String,
    permit: OwnedSemaphorePermit,
    caller: CallerLabel,
    /// Names the request in the log.
    span: tracing::Span,
}

/// A request whose response must be translated.
struct Unrelayed {
    request: Box<ModelRequest>,
    admitted: Admitted,
}

/// Starts to relay the response of a model as it is. Returns everything if it must be translated.
fn relay(
    state: &Arc<ApiState>,
    route: &Route,
    served: &ServedModel,
    request: ModelRequest,
    admitted: Admitted,
) -> Result<(RelayedRequest, RelayCall, bool), Box<Unrelayed>> {
    let request = Box::new(request);
    let Some(native) = &served.native else {
        return Err(Box::new(Unrelayed { request, admitted }));
    };
    let context = CompletionContext {
        nodes: TraceCollector::default(),
        work: admitted.caller.work.clone(),
    };
    let endpoint = endpoint(route.dialect);
    let parent = admitted.caller.parent.clone();
    let trace = RequestTrace::start(&state.clock, &endpoint, &served.name, parent);
    let writer = ResponseWriter::new(route, &request, state.clock.now().0 / 1000);
    let (streams, model) = (request.stream, request.model.clone());
    let call = match native.relay(request, &context) {
        Ok(call) => call,
        Err(request) => return Err(Box::new(Unrelayed { request, admitted })),
    };
    let relayed = RelayedRequest {
        id: admitted.id,
        agent: served.name.clone(),
        model,
        dialect: route.dialect,
        state: Arc::clone(state),
        active: state.track_request(),
        permit: admitted.permit,
        span: admitted.span,
        trace,
        nodes: context.nodes,
        writer,
        time_limit: served.agent.limits().deadline,
    };
    Ok((relayed, call, streams))
}

/// Starts the job of a request, and responds with its events.
async fn translate(
    state: &Arc<ApiState>,
    route: &Route,
    served: ServedModel,
    Unrelayed { request, admitted }: Unrelayed,
) -> Result<Response, ModelError> {
    let (sender, events) = mpsc::channel(EVENT_QUEUE);
    let clock = Arc::clone(&state.clock);
    let writer = ResponseWriter::new(route, &request, clock.now().0 / 1000);
    let streams = request.stream;
    let job = RequestJob {
        id: admitted.id,
        dialect: route.dialect,
        request: *request,
        served,
        client: ClientSender::new(sender, Arc::clone(&clock), state.stopped.clone()),
        state: Arc::clone(state),
        permit: admitted.permit,
        work: admitted.caller.work,
        parent: admitted.caller.parent,
    };
    let active = state.track_request();
    let answered = async move {
        answer(job).await;
        drop(active);
    };
    tokio::spawn(answered.instrument(admitted.span));
    let events = EventResponse::new(events, clock, writer);
    if streams {
        events.streamed(state.limits).await
    } else {
        events.into_response().await
    }
}

/// Estimates the number of tokens of a request. Only the model knows the exact number, and it is not called.
pub(crate) async fn count_tokens(State(state): State<Arc<ApiState>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let route = Route::for_dialect(Dialect::Messages);
    let counted = read_request(&state, &route, &head.headers, body).await;
    let counted = counted.and_then(|(request, body)| {
        let found = state.find(&request.model);
        found.map_err(|error| ModelError::from(&error))?;
        Ok(json!({ "input_tokens": body.len().div_ceil(TOKEN_BYTES) }))
    });
    match counted {
        Ok(body) => Json(body).into_response(),
        Err(error) => errors::render(Dialect::Messages, &error),
    }
}

/// Lists all models, for OpenAI and Anthropic clients.
pub(crate) async fn list_models(State(state): State<Arc<ApiState>>) -> Response {
    let models = state.models.list();
    let entries = entries(&state, &models);
    Json(model_list::models(&entries)).into_response()
}

/// Returns one model.
pub(crate) async fn get_model(
    State(state): State<Arc<ApiState>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let models = state.models.list();
    let known = models.iter().find(|model| model.id == name);
    match (known, state.find(&name)) {
        (Some(known), served) => {
            let capabilities = served.as_ref().map_or(&[][..], capabilities);
            let entry = entry(&name, known.kind.as_str(), capabilities);
            Json(model_list::model(&entry)).into_response()
        }
        // An unlisted name may still be valid, such as one with a model appended.
        (None, Ok(served)) => {
            let entry = entry(&name, "agent", capabilities(&served));
            Json(model_list::model(&entry)).into_response()
        }
        (None, Err(error)) => {
            let dialect = if headers.contains_key("anthropic-version") {
                Dialect::Messages
            } else {
                Dialect::Chat
            };
            errors::render(dialect, &ModelError::from(&error))
        }
    }
}

/// Lists all models, for Ollama clients.
pub(crate) async fn tags(State(state): State<Arc<ApiState>>) -> Response {
    let models = state.models.list();
    let entries = entries(&state, &models);
    Json(model_list::tags(&entries)).into_response()
}

/// Returns one model, for Ollama clients.
pub(crate) async fn show(State(state): State<Arc<ApiState>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let read = read(&state, &head.headers, body).await;
    let response = read.and_then(|body| {
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let name = body.get("model").or(body.get("name"));
        let name = name.and_then(Value::as_str).unwrap_or_default();
        let found = state.find(name);
        let served = found.map_err(|error| ModelError::from(&error))?;
        Ok(model_list::show_response(
            &served.name,
            capabilities(&served),
        ))
    });
    match response {
        Ok(body) => Json(body).into_response(),
        Err(error) => errors::render(Dialect::Ollama, &error),
    }
}

/// Returns Windlass's version, at the path where Ollama clients request the server version.
pub(crate) async fn version() -> Response {
    Json(json!({ "version": env!("CARGO_PKG_VERSION") })).into_response()
}

/// Responds to a path that no model API of this server has, with the list of those that it has.
pub(crate) fn unknown_endpoint(request: &Request, endpoints: &str) -> Response {
    let path = request.uri().path();
    let message = format!("unknown endpoint {path}: this server has {endpoints}");
    let error = ModelError {
        code: Some("unknown_endpoint".to_owned()),
        ..ModelError::new(ErrorKind::NotFound, message)
    };
    errors::error_response(path, &error)
}

/// Responds to an unsupported method.
pub(crate) async fn method_not_allowed(request: Request) -> Response {
    let error = ModelError {
        status: 405,
        ..ModelError::new(
            ErrorKind::InvalidRequest,
            format!(
                "method {} is not allowed for {}",
                request.method(),
                request.uri().path()
            ),
        )
    };
    errors::error_response(request.uri().path(), &error)
}

/// Returns what a model supports, in Ollama's words.
fn capabilities(served: &ServedModel) -> &'static [&'static str] {
    match &served.native {
        Some(native) if has_embeddings(native.as_ref()) => {
            &["completion", "tools", "vision", "embedding"]
        }
        Some(_) => &["completion", "tools", "vision"],
        None if served.transcript_tools => &["completion", "tools"],
        None => &["completion"],
    }
}

fn has_embeddings(native: &dyn CompletionModel) -> bool {
    let call = native.embed(serde_json::Map::new(), &CompletionContext::default());
    call.is_some()
}

/// Returns the entries of the models. A model that cannot be used now has no capabilities.
fn entries<'a>(state: &ApiState, models: &'a [ModelInfo]) -> Vec<ModelEntry<'a>> {
    let entries = models.iter().map(|model| {
        let served = state.find(&model.id);
        let capabilities = served.as_ref().map_or(&[][..], capabilities);
        entry(&model.id, model.kind.as_str(), capabilities)
    });
    entries.collect()
}

fn entry<'a>(id: &'a str, owner: &'a str, capabilities: &'a [&'a str]) -> ModelEntry<'a> {
    ModelEntry {
        id,
        title: id,
        owner,
        capabilities,
    }
}
