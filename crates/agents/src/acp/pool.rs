//! The processes of one configured agent, each shared by the sessions that can live in it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use windlass_core::Result;

use super::connection::Connection;

/// How many processes are kept; an idle one makes room for another.
const MAX_PROCESSES: usize = 8;

/// What sessions must have in common to share a process: its walls, and what it was started with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ProcessKey {
    /// Where it works, and may write.
    pub(super) cwd: PathBuf,
    /// The model, where it is said at the start.
    pub(super) model: Option<String>,
    /// Whether it has to ask before it acts.
    pub(super) asks: bool,
}

/// A process with its number.
#[derive(Debug, Clone)]
pub(super) struct PooledProcess {
    pub(super) number: u64,
    pub(super) connection: Arc<Connection>,
}

#[derive(Debug, Default)]
struct PoolSlot {
    /// One start at a time.
    starting: tokio::sync::Mutex<()>,
    current: Mutex<Option<PooledProcess>>,
    /// How often it was used.
    uses: AtomicU64,
}

impl PoolSlot {
    /// Whether nobody has a turn on its process.
    fn is_idle(&self) -> bool {
        let current = lock(&self.current);
        current
            .as_ref()
            .is_none_or(|it| !it.connection.routes.is_busy())
    }

    fn used(&self) {
        self.uses.fetch_add(1, Ordering::AcqRel);
    }
}

/// The processes. Dropping it ends them all.
#[derive(Debug, Default)]
pub(super) struct ProcessPool {
    slots: Arc<Mutex<HashMap<ProcessKey, Arc<PoolSlot>>>>,
    count: AtomicU64,
}

impl ProcessPool {
    /// The process for these sessions: the one that runs, or a new one.
    pub(super) async fn get(
        &self,
        key: &ProcessKey,
        start: impl Future<Output = Result<Connection>>,
    ) -> Result<PooledProcess> {
        let slot = self.slot(key);
        let _one = slot.starting.lock().await;
        slot.used();
        if let Some(current) = live_process(&slot) {
            return Ok(current);
        }
        // What has ended is put away before another takes its place.
        drop(lock(&slot.current).take());
        let connection = Arc::new(start.await?);
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let new = PooledProcess { number, connection };
        *lock(&slot.current) = Some(new.clone());
        Ok(new)
    }

    /// The process of this number, if it runs.
    pub(super) fn by_number(&self, number: u64) -> Option<PooledProcess> {
        let slots = lock(&self.slots);
        let mut running = slots
            .values()
            .filter_map(|slot| Some((slot, live_process(slot)?)));
        let (slot, process) = running.find(|(_, process)| process.number == number)?;
        slot.used();
        Some(process)
    }

    /// Ends the process for these sessions after this time, unless somebody uses it before.
    pub(super) fn expire_after(&self, key: &ProcessKey, idle: BoxFuture<'static, ()>) {
        let uses = |slot: &PoolSlot| slot.uses.load(Ordering::Acquire);
        let Some(seen) = lock(&self.slots).get(key).map(|slot| uses(slot)) else {
            return;
        };
        let (slots, key) = (Arc::downgrade(&self.slots), key.clone());
        tokio::spawn(async move {
            idle.await;
            let Some(slots) = slots.upgrade() else { return };
            let mut slots = lock(&slots);
            let unused = |slot: &Arc<PoolSlot>| {
                uses(slot) == seen && Arc::strong_count(slot) == 1 && slot.is_idle()
            };
            if slots.get(&key).is_some_and(unused) {
                slots.remove(&key);
            }
        });
    }

    /// Gives a process up: it ends when the last turn on it has.
    pub(super) fn retire(&self, key: &ProcessKey, connection: &Arc<Connection>) {
        connection.retire();
        let slot = lock(&self.slots).get(key).cloned();
        if let Some(slot) = slot {
            let mut current = lock(&slot.current);
            if current
                .as_ref()
                .is_some_and(|it| Arc::ptr_eq(&it.connection, connection))
            {
                *current = None;
            }
        }
    }

    fn slot(&self, key: &ProcessKey) -> Arc<PoolSlot> {
        let mut slots = lock(&self.slots);
        if slots.len() >= MAX_PROCESSES && !slots.contains_key(key) {
            let free = slots
                .iter()
                .find(|(_, slot)| Arc::strong_count(slot) == 1 && slot.is_idle());
            if let Some(key) = free.map(|(key, _)| key.clone()) {
                slots.remove(&key);
            }
        }
        Arc::clone(slots.entry(key.clone()).or_default())
    }
}

fn live_process(slot: &PoolSlot) -> Option<PooledProcess> {
    let current = lock(&slot.current);
    current.clone().filter(|it| it.connection.is_live())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
