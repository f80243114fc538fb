//! Wakes callers that wait for new events, when the transaction that wrote them is committed: in this process
//! by a channel, in other processes by a PostgreSQL notification or a change of the SQLite file's times.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::sync::{Notify, watch};
use windlass_tasks::{StoreError, StoreResult};

use crate::events;
use crate::file_signal::{FileSignal, FileWatch};
use crate::pools::{DatabasePools, Pools};

/// Poll interval in addition to notifications, because a process may end between its commit and its
/// notification.
const FALLBACK_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Poll interval for PostgreSQL behind a pooler, without an address for notifications.
const POOLED_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Poll interval for a SQLite file that cannot be watched.
const UNWATCHED_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Minimum pause between two reads of a SQLite file that changes all the time.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(1);

/// The last known sequence number, as a signal.
#[derive(Debug, Clone)]
pub(crate) struct EventSignal {
    known: watch::Sender<u64>,
    /// Notified when a caller starts to wait.
    waiter_added: Arc<Notify>,
}

impl EventSignal {
    pub(crate) fn new() -> Self {
        Self {
            known: watch::Sender::new(0),
            waiter_added: Arc::new(Notify::new()),
        }
    }

    /// Announces that events up to this sequence number exist.
    pub(crate) fn publish(&self, last: u64) {
        self.known.send_if_modified(|known| {
            let modified = last > *known;
            *known = last.max(*known);
            modified
        });
    }

    /// Waits until there are events after this sequence number, and returns the last number.
    pub(crate) async fn wait_after(&self, after: u64) -> u64 {
        let mut receiver = self.known.subscribe();
        self.waiter_added.notify_one();
        let found = receiver.wait_for(|known| *known > after).await;
        found.map_or(after, |known| *known)
    }

    fn last_known(&self) -> u64 {
        *self.known.borrow()
    }

    /// Sleeps until a caller waits.
    async fn idle(&self) {
        // A caller that starts to wait reads the log itself first, so no event is missed while this sleeps.
        while self.known.receiver_count() == 0 {
            self.waiter_added.notified().await;
        }
    }
}

/// Watches the database for events of other processes, for as long as the future is polled.
pub(crate) async fn watch_database(pools: Pools, signal: EventSignal) {
    match &pools.kind {
        DatabasePools::Sqlite(..) => watch_file(&pools, &signal).await,
        DatabasePools::Postgres(postgres) => match &postgres.listener {
            Some(listener) => listen(&pools, listener.pool(), &signal).await,
            None => poll(&pools, &signal).await,
        },
    }
}

async fn watch_file(pools: &Pools, signal: &EventSignal) {
    let mut watch: Option<FileWatch> = None;
    loop {
        signal.idle().await;
        if watch.is_none() {
            watch = pools.file_signal.as_ref().and_then(FileSignal::watch);
        }
        // The watch was started before this reads, so no change is missed between the two.
        refresh(pools, signal).await;
        let Some(changes) = &watch else {
            tokio::time::sleep(UNWATCHED_POLL_INTERVAL).await;
            continue;
        };
        match tokio::time::timeout(FALLBACK_POLL_INTERVAL, changes.next()).await {
            Ok(Ok(())) | Err(_) => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, "the file cannot be watched; polling instead");
                watch = None;
            }
        }
        tokio::time::sleep(MIN_READ_INTERVAL).await;
    }
}

async fn poll(pools: &Pools, signal: &EventSignal) {
    loop {
        signal.idle().await;
        refresh(pools, signal).await;
        tokio::time::sleep(POOLED_POLL_INTERVAL).await;
    }
}

async fn listen(pools: &Pools, listener: &sqlx::Pool<sqlx::Postgres>, signal: &EventSignal) {
    loop {
        signal.idle().await;
        if let Err(error) = listen_once(pools, listener, signal).await {
            tracing::debug!(%error, "not listening; polling instead");
        }
        refresh(pools, signal).await;
        tokio::time::sleep(FALLBACK_POLL_INTERVAL).await;
    }
}

/// Listens until the connection fails.
async fn listen_once(
    pools: &Pools,
    listener: &sqlx::Pool<sqlx::Postgres>,
    signal: &EventSignal,
) -> sqlx::Result<()> {
    let mut listener = PgListener::connect_with(listener).await?;
    listener.listen("windlass").await?;
    refresh(pools, signal).await;
    loop {
        let last = match tokio::time::timeout(FALLBACK_POLL_INTERVAL, listener.try_recv()).await {
            Ok(Ok(Some(notification))) => notification.payload().parse().ok(),
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => return Err(error),
            Err(_) => None,
        };
        match last {
            Some(last) => signal.publish(last),
            None => refresh(pools, signal).await,
        }
    }
}

async fn refresh(pools: &Pools, signal: &EventSignal) {
    match last(pools).await {
        Ok(last) => signal.publish(last),
        Err(error) => tracing::debug!(%error, "reading the last event failed"),
    }
}

async fn last(pools: &Pools) -> StoreResult<u64> {
    let mut db = pools.reader().await?;
    events::last(&mut db).await
}

/// Waits until there are events after this sequence number, or until the timeout. Returns the last number.
pub(crate) async fn wait_for_events(
    pools: &Pools,
    signal: &EventSignal,
    after: u64,
    timeout: Duration,
    query_timeout: Duration,
) -> StoreResult<u64> {
    // Subscribe first, then read: an event between the two is seen by one of them.
    let new_events = signal.wait_after(after);
    tokio::pin!(new_events);
    tokio::select! {
        biased;
        last = &mut new_events => return Ok(last),
        last = tokio::time::timeout(query_timeout, last(pools)) => {
            let what = "polling for events";
            let after = query_timeout;
            signal.publish(last.map_err(|_| StoreError::Timeout { what, after })??);
        }
    }
    match tokio::time::timeout(timeout, new_events).await {
        Ok(last) => Ok(last),
        Err(_) => Ok(signal.last_known()),
    }
}
