//! Limits the number of concurrent attempts.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Default maximum number of concurrent attempts.
pub const MAX_CONCURRENT: usize = 10;

/// A limit on concurrent attempts, shared by all clones.
#[derive(Debug, Clone)]
pub struct AgentPoolManager {
    slots: Arc<Semaphore>,
    size: usize,
}

/// A slot in the pool; dropping it releases the slot.
#[derive(Debug)]
pub struct PoolPermit {
    _permit: OwnedSemaphorePermit,
}

impl AgentPoolManager {
    /// Creates a pool with this number of slots, at least one.
    pub fn new(size: usize) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            slots: Arc::new(Semaphore::new(size)),
            size,
        }
    }

    /// Returns the total number of slots.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of free slots.
    pub fn available(&self) -> usize {
        self.slots.available_permits()
    }

    /// Waits for a free slot. Never returns `None`, because the pool is never closed.
    pub async fn acquire(&self) -> Option<PoolPermit> {
        let permit = Arc::clone(&self.slots).acquire_owned().await.ok()?;
        Some(PoolPermit { _permit: permit })
    }

    /// Returns a slot if one is free now.
    pub fn try_acquire(&self) -> Option<PoolPermit> {
        let permit = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        Some(PoolPermit { _permit: permit })
    }
}

impl Default for AgentPoolManager {
    fn default() -> Self {
        Self::new(MAX_CONCURRENT)
    }
}
