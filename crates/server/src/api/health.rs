//! The server's health.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::Timestamp;

use crate::error::JsonResponse;
use crate::state::AppState;

#[derive(Serialize, ToSchema)]
#[schema(as = Health)]
pub(super) struct ServerHealth {
    status: HealthStatus,
    version: &'static str,
    /// Milliseconds since the Unix epoch.
    #[schema(value_type = u64)]
    started_at: Timestamp,
    store: StoreHealth,
    #[schema(required)]
    worker: Option<WorkerHealth>,
    last_event: u64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum HealthStatus {
    Ok,
    Degraded,
}

#[derive(Serialize, ToSchema)]
struct StoreHealth {
    kind: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<&'static str>,
}

/// The workers in the server process.
#[derive(Serialize, ToSchema)]
#[schema(as = WorkerRoom)]
struct WorkerHealth {
    concurrency: usize,
    running: usize,
}

/// Server health.
#[utoipa::path(
    get,
    path = "/health",
    responses(
        (status = 200, description = "Success.", body = ServerHealth),
        (status = 503, description = "The store is unreachable.", body = ServerHealth),
    )
)]
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
    let (code, status) = match error {
        None => (StatusCode::OK, HealthStatus::Ok),
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, HealthStatus::Degraded),
    };
    let health = ServerHealth {
        status,
        version: env!("CARGO_PKG_VERSION"),
        started_at: state.started,
        store: StoreHealth {
            kind: state.store_kind.clone(),
            ok: error.is_none(),
            error,
        },
        worker: state.worker.as_ref().map(|pool| WorkerHealth {
            concurrency: pool.size(),
            running: pool.size() - pool.available(),
        }),
        last_event: last_event.unwrap_or_else(|_| state.ring.last()),
    };
    (code, JsonResponse(health)).into_response()
}
