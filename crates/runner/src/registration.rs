//! The entry of a worker in the store, renewed while the worker runs.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_tasks::{NewWorker, StoreError, StoreResult, WorkerId, WorkerRenewal};

use crate::{AgentPoolManager, Runner};

/// How long the removal of an entry may take. One that stays is that of a lost worker after three intervals.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The entry of a worker.
#[derive(Debug, Clone)]
pub(crate) struct Registration {
    runner: Arc<Runner>,
    /// Knows how many tasks run.
    pool: AgentPoolManager,
    entry: NewWorker,
    pub(crate) id: WorkerId,
    /// The worker is to finish what it runs and to end.
    pub(crate) draining: bool,
    /// A newer program has migrated the store, and this one cannot use it any more.
    pub(crate) outdated: Option<StoreError>,
}

impl Registration {
    /// Adds the entry to the store, if there is one.
    pub(crate) async fn add(
        runner: &Arc<Runner>,
        pool: &AgentPoolManager,
        entry: Option<&NewWorker>,
    ) -> StoreResult<Option<Self>> {
        let Some(entry) = entry else {
            return Ok(None);
        };
        Ok(Some(Self {
            id: runner.store.register_worker(entry.clone()).await?,
            runner: Arc::clone(runner),
            pool: pool.clone(),
            entry: entry.clone(),
            draining: false,
            outdated: None,
        }))
    }

    /// Waits for the interval of heartbeats, then renews the entry. One that was removed meanwhile is added again.
    pub(crate) fn renew(&self) -> BoxFuture<'static, Self> {
        let mut renewed = self.clone();
        Box::pin(async move {
            let Runner {
                clock, settings, ..
            } = &*renewed.runner;
            clock.sleep(settings.until_heartbeat(clock.elapsed())).await;
            match renewed.update().await {
                Ok(()) => {}
                Err(error) if error.is_outdated() => renewed.outdated = Some(error),
                Err(error) => tracing::warn!(%error, "the entry of this worker was not renewed"),
            }
            renewed
        })
    }

    async fn update(&mut self) -> StoreResult<()> {
        let store = &self.runner.store;
        let running = self.pool.size() - self.pool.available();
        let running = u32::try_from(running).unwrap_or(u32::MAX);
        match store.renew_worker(self.id, running).await? {
            WorkerRenewal::Renewed => {}
            // A worker that drains does not begin again, also if its entry is lost.
            WorkerRenewal::DrainRequested => self.draining = true,
            WorkerRenewal::Unknown => self.id = store.register_worker(self.entry.clone()).await?,
        }
        Ok(())
    }

    /// Removes the entry.
    pub(crate) async fn remove(&self) {
        let Runner { clock, store, .. } = &*self.runner;
        tokio::select! {
            biased;
            removed = store.remove_worker(self.id) => if let Err(error) = removed {
                tracing::warn!(%error, "the entry of this worker was not removed");
            },
            () = clock.sleep(REMOVE_TIMEOUT) => {
                tracing::warn!("the entry of this worker was not removed: the store did not answer");
            }
        }
    }
}
