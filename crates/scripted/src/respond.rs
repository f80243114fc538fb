//! Handling of one request: classify, respond, record.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use windlass_cassette::Substitutions;
use windlass_wire::{Dialect, ErrorKind, ModelError, ModelRequest, Route};

use crate::cassette::CassettePlayer;
use crate::exchange_log::{ExchangeOutcome, ServedExchange};
use crate::intent::OfferedTools;
use crate::limits::BODY_BYTES;
use crate::request_features::request_features;
use crate::script::{ErrorStatus, Fault, ScriptTurn, ScriptedUsage};
use crate::script_state::ScriptState;
use crate::scripted_response::ScriptedResponse;
use crate::send::{ResponseEnd, StopTimer, send_recorded, send_response};
use crate::side::{endpoint, side_call};
use crate::workdir::AgentWorkdir;

/// State that every request needs.
#[derive(Debug, Clone)]
pub(crate) struct ScriptedServer {
    pub(crate) state: Arc<ScriptState>,
    /// A recording to answer from instead of the script.
    pub(crate) cassette: Option<Arc<CassettePlayer>>,
    pub(crate) timer: StopTimer,
}

/// Handles one request.
pub(crate) async fn respond(State(server): State<ScriptedServer>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let target = head
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str());
    let mut exchange = ServedExchange::new(format!("{} {target}", head.method));
    let Ok(body) = to_bytes(body, BODY_BYTES).await else {
        let message = format!("request body larger than {BODY_BYTES} bytes");
        let error = ModelError::new(ErrorKind::TooLarge, message);
        return server.unexpected(exchange, Route::parse(target).as_ref(), error);
    };
    if let Some(cassette) = &server.cassette {
        return match cassette.answer(head.method.as_str(), target, &body) {
            Ok((number, recorded)) => {
                exchange.outcome = ExchangeOutcome::Turn(number);
                server.state.record(exchange);
                send_recorded(recorded, &substitutions(target, &body), &server.timer)
            }
            Err(why) => {
                let error = ModelError::new(ErrorKind::InvalidRequest, why);
                server.unexpected(exchange, Route::parse(target).as_ref(), error)
            }
        };
    }
    if let Some(plain) = endpoint(&head.method, head.uri.path(), body.len()) {
        exchange.outcome = ExchangeOutcome::SideCall(plain.name.to_owned());
        server.state.record(exchange);
        return plain_body(plain.body);
    }
    let Some(route) = Route::parse(target) else {
        let error = ModelError::new(ErrorKind::NotFound, "no model API at this path");
        return server.unexpected(exchange, None, error);
    };
    exchange.dialect = Some(route.dialect);
    match route.parse_request(&body) {
        Ok(request) => server.model(exchange, &route, &request).await,
        Err(error) => server.unexpected(exchange, Some(&route), error.into()),
    }
}

/// Returns the agent's working directory as a substitution, if the request contains it.
fn substitutions(target: &str, body: &[u8]) -> Substitutions {
    match AgentWorkdir::from_raw(target, body).dir() {
        Some(dir) => Substitutions::new().workspace(dir),
        None => Substitutions::new(),
    }
}

impl ScriptedServer {
    /// Handles a completion request.
    async fn model(
        &self,
        exchange: ServedExchange,
        route: &Route,
        request: &ModelRequest,
    ) -> Response {
        let offered = OfferedTools::new(request, self.state.workspace());
        let features = request_features(request, &offered);
        let mut exchange = exchange.with_prompt(&features.new_text);
        exchange.model.clone_from(&request.model);
        exchange.tools.clone_from(&features.tools);
        if let Some(side) = side_call(request) {
            exchange.outcome = ExchangeOutcome::SideCall(side.name.to_owned());
            self.state.record(exchange);
            let response = ScriptedResponse::new(request, features.turn, Duration::ZERO)
                .side_reply(side.reply, &offered);
            let steps = response.finish(ScriptedUsage::default());
            return send_response(route, request, steps, ResponseEnd::Complete, &self.timer).await;
        }
        let found = self.state.answer(&features, |turn| {
            let delay = Duration::from_millis(turn.delay_ms.unwrap_or_default());
            ScriptedResponse::new(request, features.turn, delay).parts(turn, &offered)
        });
        let (index, turn, response) = match found {
            Ok(found) => found,
            Err(why) => {
                let error = ModelError::new(ErrorKind::InvalidRequest, why);
                return self.unexpected(exchange, Some(route), error);
            }
        };
        exchange.outcome = ExchangeOutcome::Turn(index + 1);
        self.state.record(exchange);
        self.respond_with_turn(route, request, &turn, response)
            .await
    }

    /// Sends the turn's answer, or its fault.
    async fn respond_with_turn(
        &self,
        route: &Route,
        request: &ModelRequest,
        turn: &ScriptTurn,
        response: ScriptedResponse,
    ) -> Response {
        let end = ResponseEnd::from_fault(turn.fault.as_ref());
        match &turn.fault {
            Some(Fault::Status(status)) => error_response(route.dialect, &scripted_error(status)),
            Some(Fault::ContextOverflow) => error_response(route.dialect, &context_overflow()),
            Some(Fault::Hang) => {
                self.timer.stopped.cancelled().await;
                StatusCode::SERVICE_UNAVAILABLE.into_response()
            }
            Some(_) => {
                let steps = response.truncated();
                send_response(route, request, steps, end, &self.timer).await
            }
            None => {
                let steps = response.finish(turn.usage.unwrap_or_default());
                send_response(route, request, steps, end, &self.timer).await
            }
        }
    }

    /// Rejects a request that the script does not expect, so that the agent fails and the report shows it.
    fn unexpected(
        &self,
        mut exchange: ServedExchange,
        route: Option<&Route>,
        error: ModelError,
    ) -> Response {
        exchange.outcome = ExchangeOutcome::Unexpected(error.message.clone());
        tracing::warn!(%exchange, "unexpected request");
        self.state.record(exchange);
        let dialect = route.map_or(Dialect::Chat, |route| route.dialect);
        error_response(dialect, &error)
    }
}

fn scripted_error(status: &ErrorStatus) -> ModelError {
    let kind = ErrorKind::from_status(status.code);
    let message = match (&status.message, status.code) {
        (Some(message), _) => message,
        (_, 401) => "the key is not valid (scripted)",
        (_, 403) => "this key may not do that (scripted)",
        (_, 429) => "too many requests (scripted)",
        (_, 503 | 529) => "overloaded (scripted)",
        _ => "internal error (scripted)",
    };
    ModelError {
        status: status.code,
        retry_after: status.retry_after_secs.map(Duration::from_secs),
        ..ModelError::new(kind, message)
    }
}

fn context_overflow() -> ModelError {
    ModelError::new(
        ErrorKind::ContextOverflow,
        "prompt is too long: this model's maximum context length is 1 token (scripted)",
    )
}

fn error_response(dialect: Dialect, error: &ModelError) -> Response {
    dialect.render_error(error).map(Body::from)
}

/// Responds with a text, an object, or an empty body.
fn plain_body(body: Value) -> Response {
    match body {
        Value::Null => StatusCode::OK.into_response(),
        Value::String(text) => text.into_response(),
        body => Json(body).into_response(),
    }
}
