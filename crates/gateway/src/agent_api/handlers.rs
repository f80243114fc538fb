//! Requests as they come in.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelRequest, Route};

use super::client::ClientSender;
use super::job::RequestJob;
use super::response::EventResponse;
use super::router::ApiState;
use super::{ModelInfo, errors, validate};
use crate::model_list::{self, ModelEntry};
use crate::response_writer::{self, ResponseWriter, error_response};

/// The header that names the trace of an answer.
const TRACE: &str = "x-windlass-trace";
/// The header that names whoever answered.
const AGENT: &str = "x-windlass-agent";
/// How many events may wait for a client.
const EVENT_QUEUE: usize = 64;
/// Bytes per token, about.
const TOKEN_BYTES: usize = 4;

/// Answers a question to a model.
pub(super) async fn complete(State(shared): State<Arc<ApiState>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let dialect = errors::dialect_of(head.uri.path());
    let route = Route::for_dialect(dialect);
    match read_request(&shared, &route, &head.headers, body).await {
        Ok((request, _)) => match start(&shared, &route, request).await {
            Ok(response) => response,
            Err(error) => error_response(dialect, &error),
        },
        Err(error) => error_response(dialect, &error),
    }
}

/// Reads and checks a question.
async fn read_request(
    shared: &ApiState,
    route: &Route,
    headers: &HeaderMap,
    body: Body,
) -> Result<(ModelRequest, usize), ModelError> {
    let body = read(shared, headers, body).await?;
    let request = route.parse_request(&body)?;
    validate::validate_request(&request)?;
    Ok((request, body.len()))
}

async fn read(shared: &ApiState, headers: &HeaderMap, body: Body) -> Result<Bytes, ModelError> {
    if headers.contains_key(CONTENT_ENCODING) {
        let message = "content-encoding is not supported: send the body as it is";
        return Err(ModelError::new(ErrorKind::InvalidRequest, message));
    }
    let limit = shared.limits.body_bytes;
    let too_large = || {
        let message = format!("the body has more than {limit} bytes");
        ModelError::new(ErrorKind::TooLarge, message)
    };
    tokio::select! {
        read = to_bytes(body, limit) => read.map_err(|_| too_large()),
        () = shared.clock.sleep(shared.limits.body_time) => {
            Err(errors::timeout("the body took too long to come".to_owned()))
        }
    }
}

/// Finds whoever answers and has them begin.
async fn start(
    shared: &Arc<ApiState>,
    route: &Route,
    request: ModelRequest,
) -> Result<Response, ModelError> {
    let found = shared.find(&request.model);
    let served = found.map_err(|error| ModelError::from(&error))?;
    if served.native.is_none() {
        validate::validate_text_only(&request, &served.name)?;
    }
    let permit = Arc::clone(&shared.room).try_acquire_owned();
    let permit = permit.map_err(|_| errors::too_many_requests(shared.limits.concurrent))?;
    let id = uuid::Uuid::new_v4().simple().to_string();
    let named = [(TRACE, id.clone()), (AGENT, served.name.clone())];
    let (sender, events) = mpsc::channel(EVENT_QUEUE);
    let clock = Arc::clone(&shared.clock);
    let scribe = ResponseWriter::new(route, &request, &*clock);
    let streams = request.stream;
    let job = RequestJob {
        id,
        dialect: route.dialect,
        request,
        served,
        voice: ClientSender::new(sender, Arc::clone(&clock), shared.stopped.clone()),
        shared: Arc::clone(shared),
        permit,
    };
    let entered = shared.track_request();
    tokio::spawn(async move {
        job.run().await;
        drop(entered);
    });
    let answer = EventResponse::new(events, clock, scribe);
    let answered = match streams {
        true => answer.streamed(shared.limits).await,
        false => answer.into_response().await,
    };
    let mut response = answered.unwrap_or_else(|error| error_response(route.dialect, &error));
    for (header, value) in named {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(header, value);
        }
    }
    Ok(response)
}

/// How many tokens a question has, about: only its model knows, and it is not asked.
pub(super) async fn count_tokens(
    State(shared): State<Arc<ApiState>>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let route = Route::for_dialect(Dialect::Messages);
    let counted = read_request(&shared, &route, &head.headers, body).await;
    let counted = counted.and_then(|(request, bytes)| {
        let found = shared.find(&request.model);
        found.map_err(|error| ModelError::from(&error))?;
        Ok(json!({ "input_tokens": bytes.div_ceil(TOKEN_BYTES) }))
    });
    match counted {
        Ok(body) => response_writer::json(&body),
        Err(error) => error_response(Dialect::Messages, &error),
    }
}

/// All models, for clients of OpenAI and of Anthropic.
pub(super) async fn list_models(State(shared): State<Arc<ApiState>>) -> Response {
    let cards = shared.models.list();
    response_writer::json(&model_list::models(&lines(&cards)))
}

/// One model.
pub(super) async fn get_model(
    State(shared): State<Arc<ApiState>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let cards = shared.models.list();
    let known = lines(&cards).into_iter().find(|line| line.id == name);
    match (known, shared.find(&name)) {
        (Some(line), _) => response_writer::json(&model_list::model(&line)),
        // A name that is in no list may still be answered to, such as one with a model behind it.
        (None, Ok(_)) => response_writer::json(&model_list::model(&line(&name, "agent"))),
        (None, Err(error)) => {
            let dialect = match headers.contains_key("anthropic-version") {
                true => Dialect::Messages,
                false => Dialect::Chat,
            };
            error_response(dialect, &ModelError::from(&error))
        }
    }
}

/// All models, for clients of Ollama.
pub(super) async fn tags(State(shared): State<Arc<ApiState>>) -> Response {
    let cards = shared.models.list();
    response_writer::json(&model_list::tags(&lines(&cards)))
}

/// One model, for clients of Ollama.
pub(super) async fn show(State(shared): State<Arc<ApiState>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let read = read(&shared, &head.headers, body).await;
    let shown = read.and_then(|body| {
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let name = body.get("model").or(body.get("name"));
        let name = name.and_then(Value::as_str).unwrap_or_default();
        let found = shared.find(name);
        let served = found.map_err(|error| ModelError::from(&error))?;
        let can: &[&str] = match served.native {
            Some(_) => &["completion", "tools"],
            None => &["completion"],
        };
        Ok(model_list::show_response(&served.name, can))
    });
    match shown {
        Ok(body) => response_writer::json(&body),
        Err(error) => error_response(Dialect::Ollama, &error),
    }
}

/// Our version, where clients of Ollama look for its.
pub(super) async fn version() -> Response {
    response_writer::json(&json!({ "version": env!("CARGO_PKG_VERSION") }))
}

/// A method that means nothing here.
pub(super) async fn method_not_allowed(request: Request) -> Response {
    let error = ModelError {
        status: 405,
        ..ModelError::new(
            ErrorKind::InvalidRequest,
            format!("{} is not for {}", request.method(), request.uri().path()),
        )
    };
    errors::error_response(request.uri().path(), &error)
}

fn lines(cards: &[ModelInfo]) -> Vec<ModelEntry<'_>> {
    let lines = cards.iter().map(|card| line(&card.id, card.kind.as_str()));
    lines.collect()
}

fn line<'a>(id: &'a str, owner: &'a str) -> ModelEntry<'a> {
    ModelEntry {
        id,
        title: id,
        owner,
    }
}
