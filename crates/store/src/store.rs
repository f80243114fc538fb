//! A store on either database: deeds go to a lane and are answered when committed, questions go to a reader.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::{oneshot, watch};
use windlass_core::task::{StoreError, StoreFuture, StoreResult, TaskId};

use crate::StoreSettings;
use crate::connection::DbConnection;
use crate::notify::{self as news, EventSignal};
use crate::ops::enqueue::KnownParents;
use crate::pending_reply::PendingReply;
use crate::pools::Pools;
use crate::schema;
use crate::write_job::{JobProgress, Operation, StageLabels, TypedWriteJob, UndoFn};
use crate::write_queue::{self, WriteQueue};

/// Tasks on SQLite or PostgreSQL.
pub(crate) struct SqlStore {
    pools: Pools,
    lanes: Vec<WriteQueue>,
    next: AtomicUsize,
    signal: EventSignal,
    settings: StoreSettings,
    pub(crate) homes: KnownParents,
    /// While it lives, somebody looks after what others write, and after the log.
    alive: watch::Sender<bool>,
}

impl fmt::Debug for SqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStore")
            .field("place", &self.pools.place.0)
            .finish_non_exhaustive()
    }
}

/// Whether an answer may be given before the disk has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It survives the loss of power.
    Durable,
    /// It survives the death of this process; what is lost with the power is merely done again.
    Relaxed,
}

/// How a deed is done.
pub(crate) struct WriteOptions {
    pub(crate) stages: StageLabels,
    pub(crate) kept: Durability,
    /// Deeds for the same task are done one after the other.
    pub(crate) task: Option<TaskId>,
}

impl SqlStore {
    /// Makes the tables where there are none, and begins to work.
    pub(crate) async fn start(
        pools: Pools,
        lanes: u32,
        settings: StoreSettings,
    ) -> StoreResult<Self> {
        let opening =
            tokio::time::timeout(settings.open_timeout, schema::migrate_if_needed(&pools)).await;
        let after = settings.open_timeout;
        let what = "opening the store";
        opening.map_err(|_| StoreError::Timeout { what, after })??;
        let signal = EventSignal::new();
        let open = |_| write_queue::spawn_writer(pools.clone(), signal.clone());
        let lanes = (0..lanes).map(open).collect();
        let store = Self {
            pools: pools.clone(),
            lanes,
            next: AtomicUsize::new(0),
            signal: signal.clone(),
            settings,
            homes: KnownParents::default(),
            alive: watch::Sender::new(true),
        };
        store.spawn_background(news::watch_database(pools, signal));
        Ok(store)
    }

    /// Does something else for as long as the store is used.
    pub(crate) fn spawn_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut alive = self.alive.subscribe();
        tokio::spawn(async move {
            tokio::select! {
                () = work => {}
                // Its sender is gone: nobody uses the store any more.
                _ = alive.wait_for(|alive| !alive) => {}
            }
        });
    }

    fn queue_for(&self, task: Option<TaskId>) -> &WriteQueue {
        let at = match task {
            Some(task) => usize::try_from(task.unsigned_abs()).unwrap_or(0),
            None => self.next.fetch_add(1, Ordering::Relaxed),
        };
        &self.lanes[at % self.lanes.len()]
    }

    /// Does something in a transaction, together with whatever else waits to be done.
    pub(crate) fn write<T, F>(&self, how: WriteOptions, deed: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut DbConnection) -> BoxFuture<'a, StoreResult<T>>
            + Send
            + Sync
            + 'static,
    {
        self.write_or_undo(how, deed, None)
    }

    /// The same; and what to do if nobody takes the answer any more.
    pub(crate) fn write_or_undo<T, F>(
        &self,
        how: WriteOptions,
        deed: F,
        undo: Option<UndoFn<T>>,
    ) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut DbConnection) -> BoxFuture<'a, StoreResult<T>>
            + Send
            + Sync
            + 'static,
    {
        let deed: Operation<T> = Box::new(deed);
        let patience = match how.kept {
            Durability::Durable => self.settings.commit_timeout,
            Durability::Relaxed => self.settings.query_timeout,
        };
        Box::pin(async move {
            let progress = JobProgress::new(how.stages);
            let (reply, answer) = oneshot::channel();
            let job = TypedWriteJob {
                deed,
                durable: how.kept == Durability::Durable,
                progress: progress.clone(),
                answer: None,
                reply: Some(reply),
                undo,
            };
            let asked = async {
                let lane = self.queue_for(how.task);
                lane.send(Box::new(job)).await.map_err(|_| closed())?;
                let mut awaited = PendingReply {
                    answer,
                    undo,
                    lane: lane.clone(),
                };
                (&mut awaited.answer).await.map_err(|_| closed())?
            };
            match tokio::time::timeout(patience, asked).await {
                Ok(answer) => answer,
                Err(_) => Err(progress.timeout(patience)),
            }
        })
    }

    /// Asks something, beside those who write.
    pub(crate) fn read<'s, T, F>(&'s self, what: &'static str, question: F) -> StoreFuture<'s, T>
    where
        T: Send + 's,
        F: for<'a> FnOnce(&'a mut DbConnection) -> BoxFuture<'a, StoreResult<T>> + Send + 's,
    {
        let after = self.settings.query_timeout;
        Box::pin(async move {
            let asked = async {
                let mut session = self.pools.reader().await?;
                question(&mut session).await
            };
            match tokio::time::timeout(after, asked).await {
                Ok(answer) => answer,
                Err(_) => Err(StoreError::Timeout { what, after }),
            }
        })
    }

    /// Waits for news.
    pub(crate) fn wait(&self, after: u64, patience: Duration) -> StoreFuture<'_, u64> {
        let query = self.settings.query_timeout;
        Box::pin(news::wait_for_events(
            &self.pools,
            &self.signal,
            after,
            patience,
            query,
        ))
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store was closed".to_owned())
}
