//! The store on either database: writes go through a write queue and return when committed, reads use a
//! reader connection.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{OnceCell, oneshot, watch};
use tokio::time::Instant;
use windlass_core::TraceObserver;
use windlass_tasks::{LandingId, LatencyHistogram, StoreError, StoreFuture, StoreResult, TaskId};

use crate::connection::DbConnection;
use crate::merge::Mergeable;
use crate::notify::{self, EventSignal};
use crate::ops::known_parents::KnownParents;
use crate::ops::leases::LeaseWatch;
use crate::ops::projects;
use crate::pending_reply::PendingReply;
use crate::pools::{DatabasePools, Pools};
use crate::schema;
use crate::write_job::{JobProgress, Operation, StageLabels, TypedWriteJob, UndoFn};
use crate::write_queue::{self, WriteQueue};
use crate::{LocalMachine, StoreSettings};

/// A task store on SQLite or PostgreSQL.
pub(crate) struct SqlStore {
    pools: Pools,
    queue: WriteQueue,
    signal: EventSignal,
    settings: StoreSettings,
    /// The id of the store, once it was read.
    id: OnceCell<String>,
    /// The schema version that the store had when it was opened.
    schema_version: i64,
    pub(crate) known_parents: KnownParents,
    pub(crate) lease_watch: Arc<Mutex<LeaseWatch<TaskId>>>,
    pub(crate) landing_watch: Arc<Mutex<LeaseWatch<LandingId>>>,
    /// How many workers the store had when they were last counted, and the numbers of calls to renew and to reclaim.
    pub(crate) known_workers: AtomicU32,
    pub(crate) renewals: AtomicU32,
    pub(crate) reclaims: AtomicU32,
    /// The latency of reads and writes.
    pub(crate) reads: LatencyHistogram,
    pub(crate) writes: LatencyHistogram,
    /// Background tasks run until this sender is dropped.
    alive: watch::Sender<bool>,
}

impl fmt::Debug for SqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStore")
            .field("location", &self.pools.location.0)
            .finish_non_exhaustive()
    }
}

/// Whether a write is acknowledged before or after it reaches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The write survives power loss.
    Durable,
    /// The write gives out a fencing token. After a crash of PostgreSQL, workers on other machines go on with theirs, so none
    /// may be forgotten and given out again. What ends the machine of a SQLite file ends all its workers too.
    Fencing,
    /// The write survives a crash of this process. It can be lost on power failure, and is then done again.
    Relaxed,
}

/// Options of a write operation.
pub(crate) struct WriteOptions {
    pub(crate) stages: StageLabels,
    pub(crate) durability: Durability,
}

/// What else a write may have: how to undo it if the caller stops waiting before it received the result, and how
/// to merge it with others.
pub(crate) struct WriteExtras<T> {
    pub(crate) undo: Option<UndoFn<T>>,
    pub(crate) merge: Option<Mergeable<T>>,
}

impl SqlStore {
    /// Migrates the schema if needed, and starts the writer and background tasks.
    pub(crate) async fn start(pools: Pools, settings: StoreSettings) -> StoreResult<Self> {
        let opening =
            tokio::time::timeout(settings.open_timeout, schema::migrate_if_needed(&pools)).await;
        let after = settings.open_timeout;
        let what = "opening the store";
        let schema_version = opening.map_err(|_| StoreError::Timeout { what, after })??;
        let signal = EventSignal::new();
        let store = Self {
            pools: pools.clone(),
            queue: write_queue::spawn_writer(pools.clone(), signal.clone()),
            signal: signal.clone(),
            settings,
            id: OnceCell::new(),
            schema_version,
            known_parents: KnownParents::default(),
            lease_watch: Arc::default(),
            landing_watch: Arc::default(),
            known_workers: AtomicU32::new(0),
            renewals: AtomicU32::new(0),
            reclaims: AtomicU32::new(std::process::id()),
            reads: LatencyHistogram::default(),
            writes: LatencyHistogram::default(),
            alive: watch::Sender::new(true),
        };
        store.spawn_background(notify::watch_database(pools, signal));
        Ok(store)
    }

    /// Refuses an address for notifications that belongs to another store.
    pub(crate) async fn check_listener(&self) -> StoreResult<()> {
        let Some(mut listener) = self.pools.listener().await else {
            return Ok(());
        };
        let own = self.id().await?;
        match projects::store_id(&mut listener).await {
            Ok(id) if id == own => Ok(()),
            Ok(_) | Err(_) => Err(StoreError::Refused(
                "store.listen_url leads to another database than store.url: set it to PostgreSQL's own address of the same \
                 database, or remove it"
                    .to_owned(),
            )),
        }
    }

    /// Returns the offset of the database's clock.
    pub(crate) fn clock_skew(&self) -> i64 {
        self.pools.clock_skew.get()
    }

    /// Returns who gets the traces of this process.
    pub(crate) fn trace_observer(&self) -> Option<Arc<dyn TraceObserver>> {
        self.settings.traces.clone()
    }

    /// Returns the id of the store, which never changes.
    pub(crate) async fn id(&self) -> StoreResult<&str> {
        let read = || {
            self.read("reading the id of the store", |db| {
                Box::pin(projects::store_id(db))
            })
        };
        self.id.get_or_try_init(read).await.map(String::as_str)
    }

    /// Returns the newest schema version that this program knows.
    pub(crate) fn known_schema(&self) -> i64 {
        self.settings.migrations.newest()
    }

    /// Returns the schema version of the store, if it is newer than what this program knows.
    pub(crate) fn newer_schema(&self) -> Option<i64> {
        (self.schema_version > self.known_schema()).then_some(self.schema_version)
    }

    /// Returns the machine that uses the store.
    pub(crate) fn machine(&self) -> &LocalMachine {
        &self.settings.machine
    }

    /// Runs a future in the background until the store is dropped.
    pub(crate) fn spawn_background(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut alive = self.alive.subscribe();
        tokio::spawn(async move {
            tokio::select! {
                () = task => {}
                // The store was dropped.
                _ = alive.wait_for(|alive| !alive) => {}
            }
        });
    }

    /// Runs a write operation in a transaction, which it may share with other queued writes.
    pub(crate) fn write<T, F>(&self, options: WriteOptions, operation: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut DbConnection) -> BoxFuture<'a, StoreResult<T>>
            + Send
            + Sync
            + 'static,
    {
        let (undo, merge) = (None, None);
        self.write_with(options, operation, WriteExtras { undo, merge })
    }

    /// Like [`write`](Self::write), with extras.
    pub(crate) fn write_with<T, F>(
        &self,
        options: WriteOptions,
        operation: F,
        extras: WriteExtras<T>,
    ) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut DbConnection) -> BoxFuture<'a, StoreResult<T>>
            + Send
            + Sync
            + 'static,
    {
        let operation: Operation<T> = Box::new(operation);
        let WriteExtras { undo, merge } = extras;
        let timeout = match options.durability {
            Durability::Durable => self.settings.commit_timeout,
            Durability::Fencing | Durability::Relaxed => self.settings.query_timeout,
        };
        let durable = match options.durability {
            Durability::Durable => true,
            Durability::Fencing => matches!(self.pools.kind, DatabasePools::Postgres(..)),
            Durability::Relaxed => false,
        };
        Box::pin(async move {
            let progress = JobProgress::new(options.stages);
            let (reply, receiver) = oneshot::channel();
            let job = TypedWriteJob {
                operation,
                durable,
                progress: progress.clone(),
                result: None,
                reply: Some(reply),
                undo,
                merge,
            };
            let run = async {
                self.queue.send(Box::new(job)).await.map_err(|_| closed())?;
                let mut pending = PendingReply {
                    receiver,
                    undo,
                    queue: self.queue.clone(),
                };
                (&mut pending.receiver).await.map_err(|_| closed())?
            };
            let started = Instant::now();
            let result = tokio::time::timeout(timeout, run).await;
            self.writes.observe(started.elapsed());
            match result {
                Ok(result) => result,
                Err(_) => Err(progress.timeout(timeout)),
            }
        })
    }

    /// Runs a query on a reader connection, concurrently with writes.
    pub(crate) fn read<'s, T, F>(&'s self, what: &'static str, query: F) -> StoreFuture<'s, T>
    where
        T: Send + 's,
        F: for<'a> FnOnce(&'a mut DbConnection) -> BoxFuture<'a, StoreResult<T>> + Send + 's,
    {
        let after = self.settings.query_timeout;
        Box::pin(async move {
            let run = async {
                let mut db = self.pools.reader().await?;
                query(&mut db).await
            };
            let started = Instant::now();
            let result = tokio::time::timeout(after, run).await;
            self.reads.observe(started.elapsed());
            match result {
                Ok(result) => result,
                Err(_) => Err(StoreError::Timeout { what, after }),
            }
        })
    }

    /// Waits until a task may have become claimable after the given sequence number, or until the timeout.
    pub(crate) fn wait_for_claimable(&self, after: u64, timeout: Duration) -> StoreFuture<'_, u64> {
        Box::pin(async move { Ok(notify::wait_for_work(&self.signal, after, timeout).await) })
    }

    /// Waits until there are events after the given sequence number, or until the timeout.
    pub(crate) fn wait(&self, after: u64, timeout: Duration) -> StoreFuture<'_, u64> {
        let query_timeout = self.settings.query_timeout;
        Box::pin(notify::wait_for_events(
            &self.pools,
            &self.signal,
            after,
            timeout,
            query_timeout,
        ))
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store was closed".to_owned())
}
