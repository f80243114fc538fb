//! The workers that use the store.

use std::sync::atomic::Ordering;

use windlass_tasks::{NewWorker, RegisteredWorker, StoreFuture, WorkerId, WorkerRenewal, Workers};

use super::write::{durable, operation, ready_error, relaxed};
use crate::ops::workers;
use crate::store::SqlStore;
use crate::write_job::stages;

/// After how many renewals a process counts the workers again.
const COUNT_INTERVAL: u32 = 4;

impl Workers for SqlStore {
    fn register_worker(&self, worker: NewWorker) -> StoreFuture<'_, WorkerId> {
        if let Err(error) = workers::check(&worker) {
            return ready_error(error);
        }
        let options = relaxed(stages!("registering a worker"));
        let schema_version = self.known_schema();
        self.write(
            options,
            operation!(|db, worker| workers::register(db, &worker, schema_version)),
        )
    }

    fn renew_worker(&self, id: WorkerId, running: u32) -> StoreFuture<'_, WorkerRenewal> {
        let options = relaxed(stages!("renewing the entry of a worker"));
        let renewed = self.write(options, move |db| Box::pin(workers::renew(db, id, running)));
        let renewal = self.renewals.fetch_add(1, Ordering::Relaxed);
        if !renewal.is_multiple_of(COUNT_INTERVAL) {
            return renewed;
        }
        let count = self.read("counting the workers", |db| Box::pin(workers::count(db)));
        Box::pin(async move {
            let renewed = renewed.await?;
            // Without the number, the last one still serves.
            if let Ok(count) = count.await {
                self.known_workers.store(count, Ordering::Relaxed);
            }
            Ok(renewed)
        })
    }

    fn known_workers(&self) -> u32 {
        self.known_workers.load(Ordering::Relaxed).max(1)
    }

    fn remove_worker(&self, id: WorkerId) -> StoreFuture<'_, ()> {
        let options = relaxed(stages!("removing the entry of a worker"));
        self.write(options, move |db| Box::pin(workers::remove(db, id)))
    }

    fn workers(&self) -> StoreFuture<'_, Vec<RegisteredWorker>> {
        let skew = self.clock_skew();
        self.read("listing the workers", move |db| {
            Box::pin(workers::list(db, skew))
        })
    }

    fn drain_worker(&self, id: WorkerId) -> StoreFuture<'_, RegisteredWorker> {
        let options = durable(stages!("draining a worker"));
        let skew = self.clock_skew();
        self.write(options, move |db| Box::pin(workers::drain(db, id, skew)))
    }
}
