//! Reads every event of the store once, written by any process, and adds it to the ring.

use std::time::Duration;

use windlass_tasks::{EventFilter, StoreResult};

use crate::state::AppState;

/// How long one call waits for new events.
const WAIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait before a failed store is read again.
const STORE_RETRY_DELAY: Duration = Duration::from_millis(500);
/// The maximum number of events per read.
const PAGE_SIZE: u32 = 100;

/// The reason that subscribers get; the details are only logged.
const STORE_UNREACHABLE: &str = "the store cannot be reached";

/// Runs until the server stops.
pub(crate) async fn pump(state: AppState) {
    let mut last = state.ring.last();
    loop {
        let done = tokio::select! {
            () = state.stop.cancelled() => return,
            done = fetch(&state, &mut last) => done,
        };
        match done {
            Ok(()) => state.ring.set_stale(None),
            Err(error) => {
                tracing::debug!(%error, "cannot read events");
                state.ring.set_stale(Some(STORE_UNREACHABLE));
                tokio::select! {
                    () = state.stop.cancelled() => return,
                    () = tokio::time::sleep(STORE_RETRY_DELAY) => {}
                }
            }
        }
    }
}

/// Waits for new events and adds one page of them to the ring.
async fn fetch(state: &AppState, last: &mut u64) -> StoreResult<()> {
    let now = state
        .whole_store
        .wait_for_events(*last, WAIT_TIMEOUT)
        .await?;
    if now <= *last {
        return Ok(());
    }
    let filter = EventFilter {
        after: *last,
        limit: PAGE_SIZE,
        ..EventFilter::default()
    };
    let events = state.whole_store.events(filter).await?;
    if let Some(event) = events.last() {
        *last = event.seq;
        state.ring.push(&events);
    }
    Ok(())
}
