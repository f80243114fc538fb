//! The server's health.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::error::JsonResponse;
use crate::state::AppState;

pub(super) async fn show(State(state): State<AppState>) -> Response {
    let last_event = state
        .whole_store
        .wait_for_events(0, std::time::Duration::ZERO)
        .await;
    let error = match &last_event {
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(%error, "the store cannot be reached");
            Some("the store cannot be reached")
        }
    };
    let worker = state
        .worker
        .as_ref()
        .map(|pool| json!({"concurrency": pool.size(), "running": pool.size() - pool.available()}));
    let mut store = json!({"kind": state.store_kind, "ok": error.is_none()});
    if let Some(error) = error {
        store["error"] = json!(error);
    }
    let health = json!({
        "status": if error.is_none() { "ok" } else { "degraded" },
        "version": env!("CARGO_PKG_VERSION"),
        "started_at": state.started,
        "store": store,
        "worker": worker,
        "last_event": last_event.unwrap_or_else(|_| state.ring.last()),
    });
    let status = match error {
        None => StatusCode::OK,
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, JsonResponse(health)).into_response()
}
