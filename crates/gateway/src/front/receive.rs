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

use super::job::Job;
use super::send::Answer;
use super::serve::Shared;
use super::voice::Voice;
use super::{ModelCard, check, refusal};
use crate::listing::{self, Line};
use crate::scribe::{self, Scribe, failure};

/// The header that names the trace of an answer.
const TRACE: &str = "x-windlass-trace";
/// The header that names whoever answered.
const AGENT: &str = "x-windlass-agent";
/// How many events may wait for a client.
const QUEUE: usize = 64;
/// Bytes per token, about.
const TOKEN_BYTES: usize = 4;

/// Answers a question to a model.
pub(super) async fn ask(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let dialect = refusal::dialect_of(head.uri.path());
    let route = Route::to(dialect);
    match asked(&shared, &route, &head.headers, body).await {
        Ok((request, _)) => match begin(&shared, &route, request).await {
            Ok(response) => response,
            Err(error) => failure(dialect, &error),
        },
        Err(error) => failure(dialect, &error),
    }
}

/// Reads and checks a question.
async fn asked(
    shared: &Shared,
    route: &Route,
    headers: &HeaderMap,
    body: Body,
) -> Result<(ModelRequest, usize), ModelError> {
    let body = read(shared, headers, body).await?;
    let request = route.parse_request(&body)?;
    check::request(&request)?;
    Ok((request, body.len()))
}

async fn read(shared: &Shared, headers: &HeaderMap, body: Body) -> Result<Bytes, ModelError> {
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
            Err(refusal::timeout("the body took too long to come".to_owned()))
        }
    }
}

/// Finds whoever answers and has them begin.
async fn begin(
    shared: &Arc<Shared>,
    route: &Route,
    request: ModelRequest,
) -> Result<Response, ModelError> {
    let found = shared.find(&request.model);
    let served = found.map_err(|error| ModelError::from(&error))?;
    if served.native.is_none() {
        check::text_only(&request, &served.name)?;
    }
    let permit = Arc::clone(&shared.room).try_acquire_owned();
    let permit = permit.map_err(|_| refusal::crowded(shared.limits.concurrent))?;
    let id = uuid::Uuid::new_v4().simple().to_string();
    let named = [(TRACE, id.clone()), (AGENT, served.name.clone())];
    let (sender, events) = mpsc::channel(QUEUE);
    let clock = Arc::clone(&shared.clock);
    let scribe = Scribe::new(route, &request, &*clock);
    let streams = request.stream;
    let job = Job {
        id,
        dialect: route.dialect,
        request,
        served,
        voice: Voice::new(sender, Arc::clone(&clock), shared.stopped.clone()),
        shared: Arc::clone(shared),
        permit,
    };
    let entered = shared.enter();
    tokio::spawn(async move {
        job.run().await;
        drop(entered);
    });
    let answer = Answer::new(events, clock, scribe);
    let answered = match streams {
        true => answer.streamed(shared.limits).await,
        false => answer.whole().await,
    };
    let mut response = answered.unwrap_or_else(|error| failure(route.dialect, &error));
    for (header, value) in named {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(header, value);
        }
    }
    Ok(response)
}

/// How many tokens a question has, about: only its model knows, and it is not asked.
pub(super) async fn count(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let route = Route::to(Dialect::Messages);
    let counted = asked(&shared, &route, &head.headers, body).await;
    let counted = counted.and_then(|(request, bytes)| {
        let found = shared.find(&request.model);
        found.map_err(|error| ModelError::from(&error))?;
        Ok(json!({ "input_tokens": bytes.div_ceil(TOKEN_BYTES) }))
    });
    match counted {
        Ok(body) => scribe::json(&body),
        Err(error) => failure(Dialect::Messages, &error),
    }
}

/// All models, for clients of OpenAI and of Anthropic.
pub(super) async fn models(State(shared): State<Arc<Shared>>) -> Response {
    let cards = shared.models.cards();
    scribe::json(&listing::models(&lines(&cards)))
}

/// One model.
pub(super) async fn model(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let cards = shared.models.cards();
    let known = lines(&cards).into_iter().find(|line| line.id == name);
    match (known, shared.find(&name)) {
        (Some(line), _) => scribe::json(&listing::model(&line)),
        // A name that is in no list may still be answered to, such as one with a model behind it.
        (None, Ok(_)) => scribe::json(&listing::model(&line(&name, "agent"))),
        (None, Err(error)) => {
            let dialect = match headers.contains_key("anthropic-version") {
                true => Dialect::Messages,
                false => Dialect::Chat,
            };
            failure(dialect, &ModelError::from(&error))
        }
    }
}

/// All models, for clients of Ollama.
pub(super) async fn tags(State(shared): State<Arc<Shared>>) -> Response {
    let cards = shared.models.cards();
    scribe::json(&listing::tags(&lines(&cards)))
}

/// One model, for clients of Ollama.
pub(super) async fn show(State(shared): State<Arc<Shared>>, request: Request) -> Response {
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
        Ok(listing::shown(&served.name, can))
    });
    match shown {
        Ok(body) => scribe::json(&body),
        Err(error) => failure(Dialect::Ollama, &error),
    }
}

/// Our version, where clients of Ollama look for its.
pub(super) async fn version() -> Response {
    scribe::json(&json!({ "version": env!("CARGO_PKG_VERSION") }))
}

/// A method that means nothing here.
pub(super) async fn wrong_method(request: Request) -> Response {
    let error = ModelError {
        status: 405,
        ..ModelError::new(
            ErrorKind::InvalidRequest,
            format!("{} is not for {}", request.method(), request.uri().path()),
        )
    };
    refusal::refusal(request.uri().path(), &error)
}

fn lines(cards: &[ModelCard]) -> Vec<Line<'_>> {
    let lines = cards.iter().map(|card| line(&card.id, card.kind.as_str()));
    lines.collect()
}

fn line<'a>(id: &'a str, owner: &'a str) -> Line<'a> {
    Line {
        id,
        title: id,
        owner,
    }
}
