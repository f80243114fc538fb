//! Who waits for something new is woken: at once by this process, soon by another one.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::sync::{Notify, watch};
use windlass_core::task::{StoreError, StoreResult};

use crate::events;
use crate::pools::{DatabasePools, Pools};

/// How often to look for what another process wrote to SQLite's file, while somebody waits.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How often to look although PostgreSQL tells: a message may be missed.
const FALLBACK_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The number of the last message that is known here.
#[derive(Debug, Clone)]
pub(crate) struct EventSignal {
    known: watch::Sender<u64>,
    /// Somebody has begun to wait.
    wanted: Arc<Notify>,
}

impl EventSignal {
    pub(crate) fn new() -> Self {
        Self {
            known: watch::Sender::new(0),
            wanted: Arc::new(Notify::new()),
        }
    }

    /// Messages up to this number are there.
    pub(crate) fn publish(&self, last: u64) {
        self.known.send_if_modified(|known| {
            let news = last > *known;
            *known = last.max(*known);
            news
        });
    }

    /// Waits until there are messages after this number, and gives the last number.
    pub(crate) async fn wait_after(&self, after: u64) -> u64 {
        let mut receiver = self.known.subscribe();
        self.wanted.notify_one();
        let found = receiver.wait_for(|known| *known > after).await;
        found.map_or(after, |known| *known)
    }

    fn last_known(&self) -> u64 {
        *self.known.borrow()
    }

    /// Sleeps until somebody waits.
    async fn idle(&self) {
        // Who begins to wait looks by itself first, so nothing is missed meanwhile.
        while self.known.receiver_count() == 0 {
            self.wanted.notified().await;
        }
    }
}

/// Looks after what others write, for as long as it is polled.
pub(crate) async fn watch_database(pools: Pools, signal: EventSignal) {
    match &pools.kind {
        DatabasePools::Sqlite(..) => poll(&pools, &signal).await,
        DatabasePools::Postgres(_, readers) => listen(&pools, readers, &signal).await,
    }
}

async fn poll(pools: &Pools, signal: &EventSignal) {
    loop {
        signal.idle().await;
        refresh(pools, signal).await;
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn listen(pools: &Pools, readers: &sqlx::Pool<sqlx::Postgres>, signal: &EventSignal) {
    loop {
        signal.idle().await;
        if let Err(error) = listen_once(pools, readers, signal).await {
            tracing::debug!(%error, "not listening; looking from time to time");
        }
        refresh(pools, signal).await;
        tokio::time::sleep(FALLBACK_POLL_INTERVAL).await;
    }
}

/// Listens until the connection breaks.
async fn listen_once(
    pools: &Pools,
    readers: &sqlx::Pool<sqlx::Postgres>,
    signal: &EventSignal,
) -> sqlx::Result<()> {
    let mut listener = PgListener::connect_with(readers).await?;
    listener.listen("windlass").await?;
    loop {
        refresh(pools, signal).await;
        match tokio::time::timeout(FALLBACK_POLL_INTERVAL, listener.try_recv()).await {
            Ok(Ok(Some(_))) | Err(_) => {}
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => return Err(error),
        }
        // Several messages are one piece of news.
        while listener.next_buffered().is_some() {}
    }
}

async fn refresh(pools: &Pools, signal: &EventSignal) {
    match last(pools).await {
        Ok(last) => signal.publish(last),
        Err(error) => tracing::debug!(%error, "not looking"),
    }
}

async fn last(pools: &Pools) -> StoreResult<u64> {
    let mut session = pools.reader().await?;
    events::last(&mut session).await
}

/// Waits until there are messages after this number, or patience ends.
pub(crate) async fn wait_for_events(
    pools: &Pools,
    signal: &EventSignal,
    after: u64,
    patience: Duration,
    query: Duration,
) -> StoreResult<u64> {
    // First subscribed, then looked: what comes between the two is seen by one of them.
    let news = signal.wait_after(after);
    tokio::pin!(news);
    tokio::select! {
        biased;
        last = &mut news => return Ok(last),
        last = tokio::time::timeout(query, last(pools)) => {
            let what = "looking for messages";
            let after = query;
            signal.publish(last.map_err(|_| StoreError::Timeout { what, after })??);
        }
    }
    match tokio::time::timeout(patience, news).await {
        Ok(last) => Ok(last),
        Err(_) => Ok(signal.last_known()),
    }
}
