//! One request: found out what it is, answered, written down.

use std::sync::Arc;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use windlass_core::cassette::Places;
use windlass_core::limits;
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelRequest, Route};

use crate::answer::Answer;
use crate::asked::asked;
use crate::deliver::{Ending, Patience, deliver, replay};
use crate::intent::Toolbox;
use crate::record::{Exchange, Outcome};
use crate::room::Room;
use crate::scribe::{self, failure};
use crate::script::{Fault, Refusal, Tokens, Turn};
use crate::side::{endpoint, side_call};
use crate::tape::Tape;
use crate::workspace::Workspace;

/// The largest request: the largest prompt that Windlass takes, and as much again for what JSON makes of it.
pub const BODY_BYTES: usize = 2 * limits::PROMPT_BYTES;

/// What every request needs.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) room: Arc<Room>,
    /// A recording to answer from, in place of the script.
    pub(crate) tape: Option<Arc<Tape>>,
    pub(crate) patience: Patience,
}

/// Answers one request.
pub(crate) async fn respond(State(host): State<Host>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let target = head
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str());
    let mut exchange = Exchange::new(format!("{} {target}", head.method));
    let Ok(body) = to_bytes(body, BODY_BYTES).await else {
        let error = ModelError::new(ErrorKind::TooLarge, format!("more than {BODY_BYTES} bytes"));
        return host.unexpected(exchange, Route::of(target).as_ref(), error);
    };
    if let Some(tape) = &host.tape {
        return match tape.answer(head.method.as_str(), target, &body) {
            Ok((place, recorded)) => {
                exchange.outcome = Outcome::Turn(place);
                host.room.note(exchange);
                replay(recorded, &places(target, &body), &host.patience)
            }
            Err(why) => {
                let error = ModelError::new(ErrorKind::InvalidRequest, why);
                host.unexpected(exchange, Route::of(target).as_ref(), error)
            }
        };
    }
    if let Some(plain) = endpoint(&head.method, head.uri.path(), body.len()) {
        exchange.outcome = Outcome::SideCall(plain.name.to_owned());
        host.room.note(exchange);
        return plain_body(plain.body);
    }
    let Some(route) = Route::of(target) else {
        let error = ModelError::new(ErrorKind::NotFound, "no model API lives at this address");
        return host.unexpected(exchange, None, error);
    };
    exchange.dialect = Some(route.dialect);
    match route.parse_request(&body) {
        Ok(request) => host.model(exchange, &route, &request).await,
        Err(error) => host.unexpected(exchange, Some(&route), error.into()),
    }
}

/// Where the asker works, as far as it says so.
fn places(target: &str, body: &[u8]) -> Places {
    match Workspace::of_raw(target, body).folder() {
        Some(folder) => Places::new().workspace(folder),
        None => Places::new(),
    }
}

impl Host {
    /// Answers a question to the model.
    async fn model(&self, exchange: Exchange, route: &Route, request: &ModelRequest) -> Response {
        let toolbox = Toolbox::new(request, self.room.workspace());
        let asked = asked(request, &toolbox);
        let mut exchange = exchange.with_news(&asked.news);
        exchange.model.clone_from(&request.model);
        exchange.tools.clone_from(&asked.tools);
        if let Some(side) = side_call(request) {
            exchange.outcome = Outcome::SideCall(side.name.to_owned());
            self.room.note(exchange);
            let answer =
                Answer::new(request, asked.turn, Duration::ZERO).side(side.reply, &toolbox);
            let beats = answer.whole(Tokens::default());
            return deliver(route, request, beats, Ending::Whole, &self.patience).await;
        }
        let made = self.room.answer(&asked, |turn| {
            let delay = Duration::from_millis(turn.delay_ms.unwrap_or_default());
            Answer::new(request, asked.turn, delay).parts(turn, &toolbox)
        });
        let (place, turn, answer) = match made {
            Ok(made) => made,
            Err(why) => {
                let error = ModelError::new(ErrorKind::InvalidRequest, why);
                return self.unexpected(exchange, Some(route), error);
            }
        };
        exchange.outcome = Outcome::Turn(place + 1);
        self.room.note(exchange);
        self.play(route, request, &turn, answer).await
    }

    /// Gives the turn's answer, or its fault.
    async fn play(
        &self,
        route: &Route,
        request: &ModelRequest,
        turn: &Turn,
        answer: Answer,
    ) -> Response {
        let ending = Ending::of(turn.fault.as_ref());
        match &turn.fault {
            Some(Fault::Status(refusal)) => failure(route.dialect, &refused(refusal)),
            Some(Fault::ContextOverflow) => failure(route.dialect, &overflow()),
            Some(Fault::Hang) => {
                self.patience.stopped.cancelled().await;
                StatusCode::SERVICE_UNAVAILABLE.into_response()
            }
            Some(_) => {
                let beats = answer.broken_off();
                deliver(route, request, beats, ending, &self.patience).await
            }
            None => {
                let beats = answer.whole(turn.usage.unwrap_or_default());
                deliver(route, request, beats, ending, &self.patience).await
            }
        }
    }

    /// Refuses what the script does not expect, so that neither the agent nor the reader can overlook it.
    fn unexpected(
        &self,
        mut exchange: Exchange,
        route: Option<&Route>,
        error: ModelError,
    ) -> Response {
        exchange.outcome = Outcome::Unexpected(error.message.clone());
        tracing::warn!(%exchange, "unexpected request");
        self.room.note(exchange);
        let dialect = route.map_or(Dialect::Chat, |route| route.dialect);
        failure(dialect, &error)
    }
}

fn refused(refusal: &Refusal) -> ModelError {
    let kind = ErrorKind::of_status(refusal.code);
    let message = match (&refusal.message, refusal.code) {
        (Some(message), _) => message,
        (_, 401) => "the key is not valid (scripted)",
        (_, 403) => "this key may not do that (scripted)",
        (_, 429) => "too many requests (scripted)",
        (_, 503 | 529) => "overloaded (scripted)",
        _ => "it failed (scripted)",
    };
    ModelError {
        status: refusal.code,
        retry_after: refusal.retry_after_secs.map(Duration::from_secs),
        ..ModelError::new(kind, message)
    }
}

fn overflow() -> ModelError {
    ModelError::new(
        ErrorKind::ContextOverflow,
        "prompt is too long: this model's maximum context length is 1 token (scripted)",
    )
}

/// A sentence, an object, or nothing.
fn plain_body(body: Value) -> Response {
    match body {
        Value::Null => StatusCode::OK.into_response(),
        Value::String(text) => text.into_response(),
        body => scribe::json(&body),
    }
}
