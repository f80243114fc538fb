//! A store on either database: deeds go to a lane and are answered when committed, questions go to a reader.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::{oneshot, watch};
use windlass_core::task::{StoreError, StoreResult, Stored, TaskId};

use crate::Settings;
use crate::awaited::Awaited;
use crate::lane::{self, Lane};
use crate::ops::enqueue::Homes;
use crate::pools::Pools;
use crate::schema;
use crate::session::Session;
use crate::watch::{self as news, Signal};
use crate::work::{Deed, Job, Progress, Stages, Undo};

/// Tasks on SQLite or PostgreSQL.
pub(crate) struct SqlStore {
    pools: Pools,
    lanes: Vec<Lane>,
    next: AtomicUsize,
    signal: Signal,
    settings: Settings,
    pub(crate) homes: Homes,
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
pub(crate) enum Kept {
    /// It survives the loss of power.
    Surely,
    /// It survives the death of this process; what is lost with the power is merely done again.
    Soon,
}

/// How a deed is done.
pub(crate) struct How {
    pub(crate) stages: Stages,
    pub(crate) kept: Kept,
    /// Deeds for the same task are done one after the other.
    pub(crate) task: Option<TaskId>,
}

impl SqlStore {
    /// Makes the tables where there are none, and begins to work.
    pub(crate) async fn start(pools: Pools, lanes: u32, settings: Settings) -> StoreResult<Self> {
        let opening = tokio::time::timeout(settings.patience, schema::prepare(&pools)).await;
        let after = settings.patience;
        let what = "opening the store";
        opening.map_err(|_| StoreError::Timeout { what, after })??;
        let signal = Signal::new();
        let open = |_| lane::open(pools.clone(), signal.clone());
        let lanes = (0..lanes).map(open).collect();
        let store = Self {
            pools: pools.clone(),
            lanes,
            next: AtomicUsize::new(0),
            signal: signal.clone(),
            settings,
            homes: Homes::default(),
            alive: watch::Sender::new(true),
        };
        store.beside(news::look_after(pools, signal));
        Ok(store)
    }

    /// Does something else for as long as the store is used.
    pub(crate) fn beside(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut alive = self.alive.subscribe();
        tokio::spawn(async move {
            tokio::select! {
                () = work => {}
                // Its sender is gone: nobody uses the store any more.
                _ = alive.wait_for(|alive| !alive) => {}
            }
        });
    }

    fn lane(&self, task: Option<TaskId>) -> &Lane {
        let at = match task {
            Some(task) => usize::try_from(task.unsigned_abs()).unwrap_or(0),
            None => self.next.fetch_add(1, Ordering::Relaxed),
        };
        &self.lanes[at % self.lanes.len()]
    }

    /// Does something in a transaction, together with whatever else waits to be done.
    pub(crate) fn write<T, F>(&self, how: How, deed: F) -> Stored<'_, T>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session) -> BoxFuture<'a, StoreResult<T>> + Send + Sync + 'static,
    {
        self.write_or_undo(how, deed, None)
    }

    /// The same; and what to do if nobody takes the answer any more.
    pub(crate) fn write_or_undo<T, F>(
        &self,
        how: How,
        deed: F,
        undo: Option<Undo<T>>,
    ) -> Stored<'_, T>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session) -> BoxFuture<'a, StoreResult<T>> + Send + Sync + 'static,
    {
        let deed: Deed<T> = Box::new(deed);
        let patience = match how.kept {
            Kept::Surely => self.settings.commit,
            Kept::Soon => self.settings.query,
        };
        Box::pin(async move {
            let progress = Progress::new(how.stages);
            let (reply, answer) = oneshot::channel();
            let job = Job {
                deed,
                durable: how.kept == Kept::Surely,
                progress: progress.clone(),
                answer: None,
                reply: Some(reply),
                undo,
            };
            let asked = async {
                let lane = self.lane(how.task);
                lane.send(Box::new(job)).await.map_err(|_| closed())?;
                let mut awaited = Awaited {
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
    pub(crate) fn read<'s, T, F>(&'s self, what: &'static str, question: F) -> Stored<'s, T>
    where
        T: Send + 's,
        F: for<'a> FnOnce(&'a mut Session) -> BoxFuture<'a, StoreResult<T>> + Send + 's,
    {
        let after = self.settings.query;
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
    pub(crate) fn wait(&self, after: u64, patience: Duration) -> Stored<'_, u64> {
        let query = self.settings.query;
        Box::pin(news::changed(
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
