//! Messages as they happen: one pump, one ring, any number of readers.

mod message;
mod pump;
mod ring;
mod subscriber;

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use message::Subscription;
pub(crate) use pump::pump;
pub(crate) use ring::Ring;

use crate::error::ApiError;
use crate::listen::ConnectionSlot;
use crate::state::AppState;

/// How much is read from a reader's socket at a time: readers say little, and there are many.
const READ: usize = 4 << 10;
/// How much is written at a time.
const WRITE: usize = 16 << 10;
/// What may wait for a reader inside this process: the longest message with all its characters written out.
const PENDING: usize = 16 << 20;

/// Takes a connection over for messages.
pub(crate) async fn connect(
    State(shared): State<AppState>,
    place: Option<Extension<ConnectionSlot>>,
    wanted: Result<Query<Subscription>, QueryRejection>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let Query(wanted) = wanted.map_err(|error| ApiError::bad_request(error.body_text()))?;
    let upgrade = upgrade.map_err(|error| {
        let message = "this is a WebSocket: ask for an upgrade of the connection";
        ApiError::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", message).with_cause(error)
    })?;
    let limits = &shared.limits;
    Ok(upgrade
        .read_buffer_size(READ)
        .write_buffer_size(WRITE)
        .max_write_buffer_size(PENDING)
        .max_message_size(limits.frame_bytes)
        .max_frame_size(limits.frame_bytes)
        .on_upgrade(move |socket| async move {
            subscriber::serve_socket(socket, shared, wanted).await;
            drop(place);
        }))
}
