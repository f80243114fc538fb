//! Agents as models, on the store and under the limits of this server.

use std::sync::Arc;

use windlass_core::SystemClock;
use windlass_gateway::{Front, FrontLimits, StoredTraces};

use super::rooms::Rooms;
use crate::cli::app::App;
use crate::cli::exit::Failure;
use crate::cli::queue::Queue;
use crate::roster::Roster;
use crate::served::ServedAgents;

/// Where requests work.
pub(super) fn rooms(app: &App<'_>) -> Result<Rooms, Failure> {
    let state = app.inputs.state_folder().ok_or_else(|| {
        Failure::usage("there is no place for requests to work in: set HOME or XDG_STATE_HOME")
    })?;
    Rooms::take(&state.join("requests"))
}

/// The surfaces over this roster, which workers may share.
pub(super) fn front(queue: &Queue, rooms: &Rooms, roster: Roster) -> Front {
    let config = &queue.config;
    let usual = FrontLimits::default();
    let concurrent = config
        .number("gateway.concurrency")
        .and_then(|number| number.try_into().ok());
    Front::new(
        Arc::new(ServedAgents::new(roster, config.clone())),
        Arc::new(StoredTraces(Arc::clone(&queue.store))),
        rooms.path(),
        Arc::new(SystemClock::new()),
        FrontLimits {
            concurrent: concurrent.unwrap_or(usual.concurrent),
            ..usual
        },
    )
}
