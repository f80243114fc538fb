//! The workers that use a store.

use std::fmt;

use super::error::StoreFuture;
use crate::id::WorkerId;
use crate::worker::{NewWorker, RegisteredWorker, WorkerRenewal};

/// Knows the workers of a store. Every worker process has one entry, which it renews; one that is killed leaves an
/// entry that is shown as lost, and removed a day later.
///
/// No decision about a task depends on an entry, except that a draining worker claims nothing: leases decide
/// whether a task is held.
pub trait Workers: fmt::Debug + Send + Sync {
    /// Adds the entry of a worker. It replaces a lost one of the same machine and name.
    fn register_worker(&self, worker: NewWorker) -> StoreFuture<'_, WorkerId>;
    /// Renews an entry, with the number of tasks that the worker runs.
    fn renew_worker(&self, id: WorkerId, running: u32) -> StoreFuture<'_, WorkerRenewal>;
    /// Returns how many workers the store had when this process last renewed an entry, without asking it. What every worker
    /// does from time to time, it does more seldom if there are many.
    fn known_workers(&self) -> u32 {
        1
    }
    /// Removes the entry of a worker that ends. It is no error if there is none.
    fn remove_worker(&self, id: WorkerId) -> StoreFuture<'_, ()>;
    /// Returns the workers, ordered by machine and id.
    fn workers(&self) -> StoreFuture<'_, Vec<RegisteredWorker>>;
    /// Asks a worker to finish what it runs and to end. From now on no claim of it succeeds, except one that names its
    /// task.
    fn drain_worker(&self, id: WorkerId) -> StoreFuture<'_, RegisteredWorker>;
}
