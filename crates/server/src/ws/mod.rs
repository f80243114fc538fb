//! Messages as they happen: one pump, one ring, any number of readers.

mod message;
mod pump;
mod reader;
mod ring;

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use message::Wanted;
pub(crate) use pump::pump;
pub(crate) use ring::Ring;

use crate::error::Refusal;
use crate::listen::Place;
use crate::shared::Shared;

/// How much is read from a reader's socket at a time: readers say little, and there are many.
const READ: usize = 4 << 10;
/// How much is written at a time.
const WRITE: usize = 16 << 10;
/// What may wait for a reader inside this process: the longest message with all its characters written out.
const PENDING: usize = 16 << 20;

/// Takes a connection over for messages.
pub(crate) async fn connect(
    State(shared): State<Shared>,
    place: Option<Extension<Place>>,
    wanted: Result<Query<Wanted>, QueryRejection>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    let Query(wanted) = wanted.map_err(|error| Refusal::bad(error.body_text()))?;
    let upgrade = upgrade.map_err(|error| {
        let message = "this is a WebSocket: ask for an upgrade of the connection";
        Refusal::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", message).because(error)
    })?;
    let limits = &shared.limits;
    Ok(upgrade
        .read_buffer_size(READ)
        .write_buffer_size(WRITE)
        .max_write_buffer_size(PENDING)
        .max_message_size(limits.frame_bytes)
        .max_frame_size(limits.frame_bytes)
        .on_upgrade(move |socket| async move {
            reader::attend(socket, shared, wanted).await;
            drop(place);
        }))
}
