//! How many attempts may be under way at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most attempts at once, unless somebody says otherwise.
pub const MAX_CONCURRENT: usize = 10;

/// Room for so many attempts at once, shared by all who make them.
#[derive(Debug, Clone)]
pub struct AgentPoolManager {
    room: Arc<Semaphore>,
    size: usize,
}

/// A place in the pool; dropping it gives the place back.
#[derive(Debug)]
pub struct PoolPermit {
    _permit: OwnedSemaphorePermit,
}

impl AgentPoolManager {
    /// Room for so many, at least one.
    pub fn new(size: usize) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            room: Arc::new(Semaphore::new(size)),
            size,
        }
    }

    /// How many there is room for in all.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many there is still room for.
    pub fn available(&self) -> usize {
        self.room.available_permits()
    }

    /// A place, as soon as there is one. `None` never comes, as nobody closes the pool.
    pub async fn acquire(&self) -> Option<PoolPermit> {
        let permit = Arc::clone(&self.room).acquire_owned().await.ok()?;
        Some(PoolPermit { _permit: permit })
    }

    /// A place, if there is one now.
    pub fn try_acquire(&self) -> Option<PoolPermit> {
        let permit = Arc::clone(&self.room).try_acquire_owned().ok()?;
        Some(PoolPermit { _permit: permit })
    }
}

impl Default for AgentPoolManager {
    fn default() -> Self {
        Self::new(MAX_CONCURRENT)
    }
}
