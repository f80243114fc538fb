//! The processes of one configured agent, each shared by compatible sessions.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use windlass_core::{DirAccess, McpServer, Result};

use super::connection::Connection;

/// Maximum number of processes; beyond it, an idle one is ended.
const MAX_PROCESSES: usize = 8;

/// What sessions must have in common to share a process: its sandbox and its launch options.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ProcessKey {
    /// The working directory, which the process may write to.
    pub(super) cwd: PathBuf,
    /// The model, if it is chosen at launch.
    pub(super) model: Option<String>,
    /// Whether the agent must ask before it acts.
    pub(super) asks_permission: bool,
    /// What the process may change in the working directory.
    pub(super) access: DirAccess,
    /// Paths outside the working directory that the process can read.
    pub(super) readable: Vec<PathBuf>,
    /// The MCP servers that the process starts.
    pub(super) servers: Vec<McpServer>,
}

/// A process with its number.
#[derive(Debug, Clone)]
pub(super) struct PooledProcess {
    pub(super) number: u64,
    pub(super) connection: Arc<Connection>,
}

#[derive(Debug, Default)]
struct PoolSlot {
    /// Serializes starts.
    starting: tokio::sync::Mutex<()>,
    current: Mutex<Option<PooledProcess>>,
    /// Number of uses.
    uses: AtomicU64,
}

impl PoolSlot {
    /// Returns `true` if no turn runs on its process.
    fn is_idle(&self) -> bool {
        let current = lock(&self.current);
        current
            .as_ref()
            .is_none_or(|it| !it.connection.router.is_busy())
    }

    fn count_use(&self) {
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
    /// Returns the process for these sessions: the running one, or a new one.
    pub(super) async fn get(
        &self,
        key: &ProcessKey,
        start: impl Future<Output = Result<Connection>>,
    ) -> Result<PooledProcess> {
        let slot = self.slot(key);
        let _one = slot.starting.lock().await;
        slot.count_use();
        if let Some(current) = live_process(&slot) {
            return Ok(current);
        }
        // The ended process is dropped before the new one starts.
        drop(lock(&slot.current).take());
        let connection = Arc::new(start.await?);
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let new = PooledProcess { number, connection };
        *lock(&slot.current) = Some(new.clone());
        Ok(new)
    }

    /// Returns the process of this number, if it is running.
    pub(super) fn by_number(&self, number: u64) -> Option<PooledProcess> {
        let slots = lock(&self.slots);
        let mut running = slots
            .values()
            .filter_map(|slot| Some((slot, live_process(slot)?)));
        let (slot, process) = running.find(|(_, process)| process.number == number)?;
        slot.count_use();
        Some(process)
    }

    /// Ends the process for these sessions after this time, unless it is used before.
    pub(super) fn expire_after(&self, key: &ProcessKey, timeout: BoxFuture<'static, ()>) {
        let uses = |slot: &PoolSlot| slot.uses.load(Ordering::Acquire);
        let Some(uses_before) = lock(&self.slots).get(key).map(|slot| uses(slot)) else {
            return;
        };
        let (slots, key) = (Arc::downgrade(&self.slots), key.clone());
        tokio::spawn(async move {
            timeout.await;
            let Some(slots) = slots.upgrade() else { return };
            let mut slots = lock(&slots);
            let unused = |slot: &Arc<PoolSlot>| {
                uses(slot) == uses_before && Arc::strong_count(slot) == 1 && slot.is_idle()
            };
            if slots.get(&key).is_some_and(unused) {
                slots.remove(&key);
            }
        });
    }

    /// Retires a process: it ends when the last turn on it has ended.
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
    mutex.lock()
}
