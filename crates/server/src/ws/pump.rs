//! Reads every message of the store once, whoever wrote it, and puts it into the ring.

use std::time::Duration;

use windlass_core::task::{EventFilter, StoreResult};

use crate::state::AppState;

/// How long the store is waited for before it is asked whether it is still there.
const WAIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How soon a store in trouble is asked again.
const STORE_RETRY_DELAY: Duration = Duration::from_millis(500);
/// How many messages are read at a time.
const PAGE_SIZE: u32 = 100;

/// What readers are told; the reason itself is for the log.
const STORE_UNREACHABLE: &str = "the store cannot be reached";

/// Goes on until the server stops.
pub(crate) async fn pump(shared: AppState) {
    let mut last = shared.ring.last();
    loop {
        let done = tokio::select! {
            () = shared.stop.cancelled() => return,
            done = fetch(&shared, &mut last) => done,
        };
        match done {
            Ok(()) => shared.ring.set_stale(None),
            Err(error) => {
                tracing::debug!(%error, "no messages");
                shared.ring.set_stale(Some(STORE_UNREACHABLE));
                tokio::select! {
                    () = shared.stop.cancelled() => return,
                    () = tokio::time::sleep(STORE_RETRY_DELAY) => {}
                }
            }
        }
    }
}

/// Waits for news and takes one page of it.
async fn fetch(shared: &AppState, last: &mut u64) -> StoreResult<()> {
    let now = shared.store.wait_for_events(*last, WAIT_TIMEOUT).await?;
    if now <= *last {
        return Ok(());
    }
    let filter = EventFilter {
        after: *last,
        limit: PAGE_SIZE,
        ..EventFilter::default()
    };
    let events = shared.store.events(filter).await?;
    if let Some(event) = events.last() {
        *last = event.seq;
        shared.ring.push(&events);
    }
    Ok(())
}
