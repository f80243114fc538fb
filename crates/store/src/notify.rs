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

/// Poll interval in addition to the changes of a SQLite file, because a process may end between its commit and its
/// notification, and while PostgreSQL does not notify.
const FALLBACK_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Poll interval for PostgreSQL behind a pooler, without an address for notifications.
const POOLED_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Poll interval in addition to the notifications of PostgreSQL, which come with the commit. It finds a connection that ended
/// without notice.
const LISTEN_POLL_INTERVAL: Duration = Duration::from_secs(30);
/// How many processes that wait for work alone listen to one database. PostgreSQL wakes each listener with each notification,
/// whatever it says. The workers of the other processes look for work from time to time, and there are many of them.
const WORK_LISTENERS: u32 = 32;
/// How often a process without a place among the listeners tries again.
const PLACE_POLL_INTERVAL: Duration = Duration::from_secs(60);
/// Poll interval for a SQLite file that cannot be watched.
const UNWATCHED_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Minimum pause between two reads of a SQLite file that changes all the time.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(1);

/// The last known sequence number, as a signal.
#[derive(Debug, Clone)]
pub(crate) struct EventSignal {
    known: watch::Sender<u64>,
    /// The last known sequence number of an event that may have made a task claimable.
    work: watch::Sender<u64>,
    /// Notified when a caller starts to wait.
    waiter_added: Arc<Notify>,
}

impl EventSignal {
    pub(crate) fn new() -> Self {
        Self {
            known: watch::Sender::new(0),
            work: watch::Sender::new(0),
            waiter_added: Arc::new(Notify::new()),
        }
    }

    /// Announces that events up to this sequence number exist, and whether they may have made a task claimable.
    pub(crate) fn publish(&self, last: u64, work: bool) {
        let raise = |known: &mut u64| {
            let modified = last > *known;
            *known = last.max(*known);
            modified
        };
        self.known.send_if_modified(raise);
        if work {
            self.work.send_if_modified(raise);
        }
    }

    /// Announces events that were found in the log, where they do not say whether they made a task claimable.
    fn publish_found(&self, last: u64) {
        self.publish(last, last > self.last_known());
    }

    /// Waits until there are events after this sequence number, and returns the last number.
    pub(crate) async fn wait_after(&self, after: u64) -> u64 {
        self.wait_for(&self.known, after).await
    }

    async fn wait_for(&self, signal: &watch::Sender<u64>, after: u64) -> u64 {
        let mut receiver = signal.subscribe();
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
        while self.known.receiver_count() == 0 && self.work.receiver_count() == 0 {
            self.waiter_added.notified().await;
        }
    }

    /// Sleeps until a caller waits for all events.
    async fn wanted(&self) {
        while self.is_for_work() {
            self.waiter_added.notified().await;
        }
    }

    /// Returns `true` if those who wait, wait for work alone.
    fn is_for_work(&self) -> bool {
        self.known.receiver_count() == 0
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
        let ended = listen_once(pools, listener, signal).await;
        match ended {
            Ok(ListenEnd::NoPlace) => {
                // Another process may give its place up, or a caller in this process may wait for all events.
                let _ = tokio::time::timeout(PLACE_POLL_INTERVAL, signal.wanted()).await;
                continue;
            }
            Ok(ListenEnd::Disconnected) => {}
            Err(error) => tracing::debug!(%error, "not listening; polling instead"),
        }
        refresh(pools, signal).await;
        tokio::time::sleep(FALLBACK_POLL_INTERVAL).await;
    }
}

/// Why a process does not listen any more.
enum ListenEnd {
    /// The connection ended.
    Disconnected,
    /// Enough other processes listen for work.
    NoPlace,
}

/// Listens until the connection fails.
async fn listen_once(
    pools: &Pools,
    listener: &sqlx::Pool<sqlx::Postgres>,
    signal: &EventSignal,
) -> sqlx::Result<ListenEnd> {
    let mut listener = PgListener::connect_with(listener).await?;
    if signal.is_for_work() && !take_place(&mut listener).await? {
        return Ok(ListenEnd::NoPlace);
    }
    listener.listen("windlass").await?;
    refresh(pools, signal).await;
    loop {
        let payload = match tokio::time::timeout(LISTEN_POLL_INTERVAL, listener.try_recv()).await {
            Ok(Ok(Some(notification))) => notification.payload().to_owned(),
            Ok(Ok(None)) => return Ok(ListenEnd::Disconnected),
            Ok(Err(error)) => return Err(error),
            Err(_) => String::new(),
        };
        let (number, work) = match payload.strip_suffix(events::QUIET) {
            Some(number) => (number, false),
            None => (payload.as_str(), true),
        };
        match number.parse() {
            Ok(last) => signal.publish(last, work),
            Err(_) => refresh(pools, signal).await,
        }
    }
}

/// Takes one of the places for processes that wait for work alone, until the connection ends.
async fn take_place(listener: &mut PgListener) -> sqlx::Result<bool> {
    const TAKE: &str = "SELECT 1 AS place FROM generate_series(1, $1) AS place \
                        WHERE pg_try_advisory_lock(1931504161, place) LIMIT 1";
    let limit = i32::try_from(WORK_LISTENERS).unwrap_or(i32::MAX);
    let taken = sqlx::query(TAKE)
        .bind(limit)
        .fetch_optional(listener)
        .await?;
    Ok(taken.is_some())
}

async fn refresh(pools: &Pools, signal: &EventSignal) {
    match last(pools).await {
        Ok(last) => signal.publish_found(last),
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
            signal.publish_found(last.map_err(|_| StoreError::Timeout { what, after })??);
        }
    }
    match tokio::time::timeout(timeout, new_events).await {
        Ok(last) => Ok(last),
        Err(_) => Ok(signal.last_known()),
    }
}

/// Waits until a task may have become claimable after this sequence number, or until the timeout. Returns the last such
/// number that is known. It reads nothing: the task that watches the database reads the log first, and a worker looks for a task
/// after the timeout anyway.
pub(crate) async fn wait_for_work(signal: &EventSignal, after: u64, timeout: Duration) -> u64 {
    let work = signal.wait_for(&signal.work, after);
    match tokio::time::timeout(timeout, work).await {
        Ok(last) => last,
        Err(_) => (*signal.work.borrow()).max(after),
    }
}
