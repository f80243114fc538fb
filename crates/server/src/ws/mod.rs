//! Live events over WebSocket: one pump, one ring, any number of subscribers.

mod message;
mod pump;
mod subscriber;

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

pub(crate) use pump::pump;

use crate::access::Caller;
use crate::api::Error;
use crate::connections::ConnectionSlot;
use crate::error::ApiError;
use crate::ring::Subscription;
use crate::state::AppState;

/// The read buffer of a socket. It is small, because subscribers send little and there may be many.
const READ_BUFFER_BYTES: usize = 4 << 10;
/// The write buffer of a socket.
const WRITE_BUFFER_BYTES: usize = 16 << 10;
/// The maximum of unsent bytes per socket: the largest event with all its characters escaped.
const MAX_WRITE_BUFFER_BYTES: usize = 16 << 20;

/// Opens a WebSocket that sends events; docs/server.md describes the messages.
#[utoipa::path(
    get,
    path = "/ws",
    params(Subscription),
    responses(
        (status = 101, description = "Success."),
        (status = 426, description = "The request is not a WebSocket upgrade.", body = Error),
    )
)]
pub(crate) async fn connect(
    State(state): State<AppState>,
    caller: Caller,
    slot: Option<Extension<ConnectionSlot>>,
    subscription: Result<Query<Subscription>, QueryRejection>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let Query(subscription) =
        subscription.map_err(|error| ApiError::bad_request(error.body_text()))?;
    let upgrade = upgrade.map_err(|error| {
        let message = "this is a WebSocket endpoint: request an upgrade of the connection";
        ApiError::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", message).with_cause(error)
    })?;
    let limits = &state.limits;
    Ok(upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
        .max_message_size(limits.frame_bytes)
        .max_frame_size(limits.frame_bytes)
        .on_upgrade(move |socket| async move {
            subscriber::serve_socket(socket, state, caller, subscription).await;
            drop(slot);
        }))
}
