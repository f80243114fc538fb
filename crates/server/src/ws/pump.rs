//! Reads every message of the store once, whoever wrote it, and puts it into the ring.

use std::time::Duration;

use windlass_core::task::{EventFilter, StoreResult};

use crate::shared::Shared;

/// How long the store is waited for before it is asked whether it is still there.
const PATIENCE: Duration = Duration::from_secs(2);
/// How soon a store in trouble is asked again.
const TROUBLE: Duration = Duration::from_millis(500);
/// How many messages are read at a time.
const PAGE: u32 = 100;

/// What readers are told; the reason itself is for the log.
const GONE: &str = "the store cannot be reached";

/// Goes on until the server stops.
pub(crate) async fn pump(shared: Shared) {
    let mut last = shared.ring.last();
    loop {
        let done = tokio::select! {
            () = shared.stop.cancelled() => return,
            done = fetch(&shared, &mut last) => done,
        };
        match done {
            Ok(()) => shared.ring.tell(None),
            Err(error) => {
                tracing::debug!(%error, "no messages");
                shared.ring.tell(Some(GONE));
                tokio::select! {
                    () = shared.stop.cancelled() => return,
                    () = tokio::time::sleep(TROUBLE) => {}
                }
            }
        }
    }
}

/// Waits for news and takes one page of it.
async fn fetch(shared: &Shared, last: &mut u64) -> StoreResult<()> {
    let now = shared.store.changed(*last, PATIENCE).await?;
    if now <= *last {
        return Ok(());
    }
    let filter = EventFilter {
        after: *last,
        limit: PAGE,
        ..EventFilter::default()
    };
    let events = shared.store.events(filter).await?;
    if let Some(event) = events.last() {
        *last = event.seq;
        shared.ring.push(&events);
    }
    Ok(())
}
