//! Things with processes that wait for the next turn: a process, a connection, a session with its agent.
//!
//! The pool of a backend belongs to one scope, so its processes serve one person and one purpose, and end with that
//! scope.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use windlass_core::{Clock, Result};

/// Limits of a pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolLimits {
    /// How long a value waits for the next turn.
    pub(crate) idle: Duration,
    /// How many wait; beyond it, the least recently used one is ended.
    pub(crate) kept: usize,
}

impl PoolLimits {
    /// Returns the limits of a backend's processes.
    pub(crate) fn processes(idle: Duration) -> Self {
        Self { idle, kept: 8 }
    }
}

/// Something that a pool can keep.
pub(crate) trait Pooled: Send + 'static {
    /// Returns `true` if it can serve a turn.
    fn is_live(&self) -> bool;

    /// Returns `true` if it serves a turn now, so that it must not be ended.
    fn is_busy(&self) -> bool;

    /// Returns `true` if it may be ended when it is idle, because its sessions can be resumed.
    fn expires(&self) -> bool;

    /// Lets it exit on its own, within a time limit.
    fn close(self) -> BoxFuture<'static, ()>;
}

/// Idle values, by key. Dropping the last clone ends them.
pub(crate) struct Pool<K, P> {
    state: Arc<PoolState<K, P>>,
}

struct PoolState<K, P> {
    clock: Arc<dyn Clock>,
    limits: PoolLimits,
    kept: Mutex<KeptProcesses<K, P>>,
    /// Locks that serialize the starts of a key.
    starting: Mutex<HashMap<K, Weak<tokio::sync::Mutex<()>>>>,
}

struct KeptProcesses<K, P> {
    /// Counts uses.
    uses: u64,
    by_key: HashMap<K, KeptProcess<P>>,
}

struct KeptProcess<P> {
    process: P,
    /// The use count at its last use.
    last_used: u64,
}

impl<K: Clone + Eq + Hash + Send + 'static, P: Pooled> Pool<K, P> {
    pub(crate) fn new(clock: Arc<dyn Clock>, limits: PoolLimits) -> Self {
        Self {
            state: Arc::new(PoolState {
                clock,
                limits,
                kept: Mutex::new(KeptProcesses {
                    uses: 0,
                    by_key: HashMap::new(),
                }),
                starting: Mutex::default(),
            }),
        }
    }

    /// Keeps a process, and starts its idle timer.
    pub(crate) fn insert(&self, key: K, process: P) {
        let evicted = {
            let mut kept = self.state.kept.lock();
            let evicted = kept.evict_for(&key, self.state.limits.kept);
            kept.by_key.insert(
                key.clone(),
                KeptProcess {
                    process,
                    last_used: 0,
                },
            );
            evicted
        };
        if let Some(evicted) = evicted {
            tokio::spawn(evicted.close());
        }
        self.start_idle_timer(&key);
    }

    /// Removes the process of this key and returns it.
    pub(crate) fn take(&self, key: &K) -> Option<P> {
        let kept = self.state.kept.lock().by_key.remove(key)?;
        Some(kept.process)
    }

    /// Returns the process of this key, which several turns can share. This does not count as a use.
    pub(crate) fn get(&self, key: &K) -> Option<P>
    where
        P: Clone,
    {
        let kept = self.state.kept.lock();
        let known = kept.by_key.get(key)?;
        Some(known.process.clone()).filter(Pooled::is_live)
    }

    /// Returns the process of this key: the running one, or a new one. Of several concurrent calls, one starts
    /// it.
    pub(crate) async fn get_or_start(
        &self,
        key: &K,
        start: impl Future<Output = Result<P>>,
    ) -> Result<P>
    where
        P: Clone,
    {
        let start_lock = self.start_lock(key);
        let _guard = start_lock.lock().await;
        if let Some(process) = self.get(key) {
            self.start_idle_timer(key);
            return Ok(process);
        }
        // The ended process is dropped before the new one starts.
        drop(self.take(key));
        let process = start.await?;
        self.insert(key.clone(), process.clone());
        Ok(process)
    }

    /// Returns `true` if a process of this key can be added without exceeding the limit.
    pub(crate) fn has_space_for(&self, key: &K) -> bool {
        let kept = self.state.kept.lock();
        kept.by_key.len() < self.state.limits.kept
            || kept.by_key.contains_key(key)
            || kept.by_key.values().any(|known| !known.process.is_busy())
    }

    /// Returns the number of idle processes.
    pub(crate) fn len(&self) -> usize {
        self.state.kept.lock().by_key.len()
    }

    /// Removes the process of this key, if the predicate holds for it. It ends with its last turn.
    pub(crate) fn remove_if(&self, key: &K, predicate: impl FnOnce(&P) -> bool) {
        let mut kept = self.state.kept.lock();
        let known = kept.by_key.get(key);
        if known.is_some_and(|known| predicate(&known.process)) {
            kept.by_key.remove(key);
        }
    }

    /// Removes all processes, and lets those without a turn exit.
    pub(crate) async fn close(&self) {
        let removed = std::mem::take(&mut self.state.kept.lock().by_key);
        let removed = removed.into_values().map(|kept| kept.process);
        let idle = removed.filter(|process| process.is_live() && !process.is_busy());
        join_all(idle.map(Pooled::close)).await;
    }

    /// Counts a use of this key's process, and ends the process after the idle time unless it is used before.
    pub(crate) fn start_idle_timer(&self, key: &K) {
        let last_used = {
            let mut kept = self.state.kept.lock();
            let last_used = kept.count_use();
            let Some(known) = kept.by_key.get_mut(key) else {
                return;
            };
            known.last_used = last_used;
            if !known.process.expires() {
                return;
            }
            last_used
        };
        // While the runtime shuts down, everything ends anyway.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let timeout = self.state.clock.sleep(self.state.limits.idle);
        let (state, key) = (Arc::downgrade(&self.state), key.clone());
        runtime.spawn(async move {
            timeout.await;
            let expired = state
                .upgrade()
                .and_then(|state| state.kept.lock().remove_unused(&key, last_used));
            if let Some(process) = expired {
                process.close().await;
            }
        });
    }

    fn start_lock(&self, key: &K) -> Arc<tokio::sync::Mutex<()>> {
        let mut starting = self.state.starting.lock();
        starting.retain(|_, lock| lock.strong_count() > 0);
        let known = starting.get(key).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let new = Arc::default();
            starting.insert(key.clone(), Arc::downgrade(&new));
            new
        })
    }
}

impl<K: Clone + Eq + Hash, P: Pooled> KeptProcesses<K, P> {
    fn count_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    /// Removes the process that must be ended before one of this key is added, if there are too many.
    fn evict_for(&mut self, key: &K, max: usize) -> Option<P> {
        if self.by_key.len() < max || self.by_key.contains_key(key) {
            return None;
        }
        let idle = self
            .by_key
            .iter()
            .filter(|(_, known)| !known.process.is_busy());
        let oldest = idle.min_by_key(|(_, known)| known.last_used)?.0.clone();
        Some(self.by_key.remove(&oldest)?.process)
    }

    /// Removes a process that was not used since this use.
    fn remove_unused(&mut self, key: &K, last_used: u64) -> Option<P> {
        let known = self.by_key.get(key)?;
        if known.last_used != last_used || known.process.is_busy() {
            return None;
        }
        Some(self.by_key.remove(key)?.process)
    }
}

impl<K, P> Clone for Pool<K, P> {
    fn clone(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
        }
    }
}

impl<K, P> fmt::Debug for Pool<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("limits", &self.state.limits)
            .finish_non_exhaustive()
    }
}
