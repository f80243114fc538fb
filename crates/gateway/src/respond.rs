//! One request: found out what it is, answered, written down.

use std::sync::Arc;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use windlass_core::cassette::Substitutions;
use windlass_core::limits;
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelRequest, Route};

use crate::cassette::CassettePlayer;
use crate::exchange_log::{ExchangeOutcome, ServedExchange};
use crate::intent::OfferedTools;
use crate::request_features::request_features;
use crate::response_writer::{self, error_response};
use crate::script::{ErrorStatus, Fault, ScriptTurn, ScriptedUsage};
use crate::script_state::ScriptState;
use crate::scripted_response::ScriptedResponse;
use crate::send::{ResponseEnd, StopTimer, send_recorded, send_response};
use crate::side::{endpoint, side_call};
use crate::workdir::AgentWorkdir;

/// The largest request: the largest prompt that Windlass takes, and as much again for what JSON makes of it.
pub const BODY_BYTES: usize = 2 * limits::PROMPT_BYTES;

/// What every request needs.
#[derive(Debug, Clone)]
pub(crate) struct ScriptedServer {
    pub(crate) room: Arc<ScriptState>,
    /// A recording to answer from, in place of the script.
    pub(crate) tape: Option<Arc<CassettePlayer>>,
    pub(crate) patience: StopTimer,
}

/// Answers one request.
pub(crate) async fn respond(State(host): State<ScriptedServer>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let target = head
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str());
    let mut exchange = ServedExchange::new(format!("{} {target}", head.method));
    let Ok(body) = to_bytes(body, BODY_BYTES).await else {
        let error = ModelError::new(ErrorKind::TooLarge, format!("more than {BODY_BYTES} bytes"));
        return host.unexpected(exchange, Route::parse(target).as_ref(), error);
    };
    if let Some(tape) = &host.tape {
        return match tape.answer(head.method.as_str(), target, &body) {
            Ok((place, recorded)) => {
                exchange.outcome = ExchangeOutcome::Turn(place);
                host.room.record(exchange);
                send_recorded(recorded, &substitutions(target, &body), &host.patience)
            }
            Err(why) => {
                let error = ModelError::new(ErrorKind::InvalidRequest, why);
                host.unexpected(exchange, Route::parse(target).as_ref(), error)
            }
        };
    }
    if let Some(plain) = endpoint(&head.method, head.uri.path(), body.len()) {
        exchange.outcome = ExchangeOutcome::SideCall(plain.name.to_owned());
        host.room.record(exchange);
        return plain_body(plain.body);
    }
    let Some(route) = Route::parse(target) else {
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
fn substitutions(target: &str, body: &[u8]) -> Substitutions {
    match AgentWorkdir::from_raw(target, body).folder() {
        Some(folder) => Substitutions::new().workspace(folder),
        None => Substitutions::new(),
    }
}

impl ScriptedServer {
    /// Answers a question to the model.
    async fn model(
        &self,
        exchange: ServedExchange,
        route: &Route,
        request: &ModelRequest,
    ) -> Response {
        let toolbox = OfferedTools::new(request, self.room.workspace());
        let asked = request_features(request, &toolbox);
        let mut exchange = exchange.with_news(&asked.news);
        exchange.model.clone_from(&request.model);
        exchange.tools.clone_from(&asked.tools);
        if let Some(side) = side_call(request) {
            exchange.outcome = ExchangeOutcome::SideCall(side.name.to_owned());
            self.room.record(exchange);
            let answer = ScriptedResponse::new(request, asked.turn, Duration::ZERO)
                .side_reply(side.reply, &toolbox);
            let beats = answer.finish(ScriptedUsage::default());
            return send_response(route, request, beats, ResponseEnd::Complete, &self.patience)
                .await;
        }
        let made = self.room.answer(&asked, |turn| {
            let delay = Duration::from_millis(turn.delay_ms.unwrap_or_default());
            ScriptedResponse::new(request, asked.turn, delay).parts(turn, &toolbox)
        });
        let (place, turn, answer) = match made {
            Ok(made) => made,
            Err(why) => {
                let error = ModelError::new(ErrorKind::InvalidRequest, why);
                return self.unexpected(exchange, Some(route), error);
            }
        };
        exchange.outcome = ExchangeOutcome::Turn(place + 1);
        self.room.record(exchange);
        self.respond_with_turn(route, request, &turn, answer).await
    }

    /// Gives the turn's answer, or its fault.
    async fn respond_with_turn(
        &self,
        route: &Route,
        request: &ModelRequest,
        turn: &ScriptTurn,
        answer: ScriptedResponse,
    ) -> Response {
        let ending = ResponseEnd::from_fault(turn.fault.as_ref());
        match &turn.fault {
            Some(Fault::Status(refusal)) => error_response(route.dialect, &scripted_error(refusal)),
            Some(Fault::ContextOverflow) => error_response(route.dialect, &context_overflow()),
            Some(Fault::Hang) => {
                self.patience.stopped.cancelled().await;
                StatusCode::SERVICE_UNAVAILABLE.into_response()
            }
            Some(_) => {
                let beats = answer.truncated();
                send_response(route, request, beats, ending, &self.patience).await
            }
            None => {
                let beats = answer.finish(turn.usage.unwrap_or_default());
                send_response(route, request, beats, ending, &self.patience).await
            }
        }
    }

    /// Refuses what the script does not expect, so that neither the agent nor the reader can overlook it.
    fn unexpected(
        &self,
        mut exchange: ServedExchange,
        route: Option<&Route>,
        error: ModelError,
    ) -> Response {
        exchange.outcome = ExchangeOutcome::Unexpected(error.message.clone());
        tracing::warn!(%exchange, "unexpected request");
        self.room.record(exchange);
        let dialect = route.map_or(Dialect::Chat, |route| route.dialect);
        error_response(dialect, &error)
    }
}

fn scripted_error(refusal: &ErrorStatus) -> ModelError {
    let kind = ErrorKind::from_status(refusal.code);
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

fn context_overflow() -> ModelError {
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
        body => response_writer::json(&body),
    }
}
