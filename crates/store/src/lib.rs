//! Tasks, attempts, leases, events and proofs on SQLite or PostgreSQL.
//!
//! [`open`] gives a `TaskStore`, whose documentation is the contract. SQLite is the default and needs nothing but a
//! file on a local disk; PostgreSQL is for workers on many machines. Both run the same statements and pass the same
//! suite, [`conformance::exercise`], which a third one could pass as well.
//!
//! What is not here: who works on a task and how. A store keeps what it is told, refuses what does not fit, and judges
//! leases by its own clock.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let folder = tempfile::tempdir().unwrap();
//! # let url = format!("sqlite:{}/windlass.db", folder.path().display());
//! use windlass_core::task::{NewProject, NewTask};
//!
//! let store = windlass_store::open(&url).await?;
//! let root = "/home/me/shop".into();
//! let project = store.add_project(NewProject { name: "shop".into(), root }).await?;
//! let added = store.enqueue(vec![NewTask::new(project.id, "sell tea")]).await?;
//! assert_eq!(store.task(added[0].task.id).await?.title, "sell tea");
//! # Ok::<_, windlass_core::task::StoreError>(())
//! # }).unwrap();
//! ```

pub mod conformance;
mod connection;
mod error;
mod events;
mod notify;
mod ops;
mod pending_reply;
mod pools;
mod postgres;
mod schema;
mod sql;
mod sqlite;
mod store;
mod task_row;
mod task_store;
mod write_job;
mod write_queue;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::task::{StoreError, StoreResult, TaskStore};

pub use pools::ClockSkew;

/// How long a store may take.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreSettings {
    /// For a question, and for what need not reach the disk: one second.
    pub query_timeout: Duration,
    /// For what must reach the disk: five seconds, as another process may hold the store that long.
    pub commit_timeout: Duration,
    /// For opening it, and for a connection to become free.
    pub open_timeout: Duration,
    /// How far the database's clock is off, for tests.
    pub leap: ClockSkew,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            query_timeout: Duration::from_secs(1),
            commit_timeout: Duration::from_secs(5),
            open_timeout: Duration::from_secs(10),
            leap: ClockSkew::default(),
        }
    }
}

/// Opens the store at an address: `sqlite:PATH` or `postgres://user@host/database`.
pub async fn open(url: &str) -> StoreResult<Arc<dyn TaskStore>> {
    open_with(url, StoreSettings::default()).await
}

/// Opens a store with limits of one's own.
pub async fn open_with(url: &str, settings: StoreSettings) -> StoreResult<Arc<dyn TaskStore>> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Arc::new(postgres::open(url, settings).await?));
    }
    match path(url) {
        Some(path) => Ok(Arc::new(sqlite::open(Path::new(path), settings).await?)),
        // It may hold a password: only its beginning is told.
        None => Err(StoreError::Unavailable(format!(
            "the store's address begins with {:?}; expected sqlite:PATH or postgres://user@host/database",
            url.split(':').next().unwrap_or_default()
        ))),
    }
}

/// The path in SQLite's address.
fn path(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("sqlite:")?;
    let path = rest.strip_prefix("//").unwrap_or(rest);
    (!path.is_empty()).then_some(path)
}
