//! What monitoring and load balancers ask for: numbers and probes.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::access::Caller;
use crate::error::ApiError;
use crate::metrics::ProcessNumbers;
use crate::state::AppState;

/// The process answers.
pub(crate) async fn live() -> &'static str {
    "ok\n"
}

/// The server accepts requests and reaches its store.
pub(crate) async fn ready(State(state): State<AppState>) -> Response {
    let problem = if state.stop.is_cancelled() {
        "stopping\n"
    } else if !state.metrics.is_ready(&*state.whole_store).await {
        "the store cannot be reached\n"
    } else {
        return "ok\n".into_response();
    };
    (StatusCode::SERVICE_UNAVAILABLE, problem).into_response()
}

/// Returns all numbers. They are about all projects.
pub(crate) async fn metrics(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Response, ApiError> {
    if caller.projects.is_some() {
        return Err(ApiError::forbidden(
            "the numbers are about all projects: they need a token of all projects",
        ));
    }
    let totals = state.metrics.totals(state.authenticator.store()).await;
    let totals = totals.inspect_err(|error| {
        tracing::warn!(%error, "the store cannot be read for /metrics");
    });
    let slots = state.worker.as_ref();
    let process = ProcessNumbers {
        slots: slots.map(|pool| (pool.size() - pool.available(), pool.available())),
        subscribers: state.ring.subscribers(),
        spans: state
            .spans
            .as_ref()
            .map(|spans| (spans.exported(), spans.dropped())),
    };
    let text = state.metrics.text(totals.ok().as_ref(), &process);
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
