//! Tasks, attempts, leases, events and proofs on SQLite or PostgreSQL.
//!
//! [`open`] returns a `TaskStore`; the documentation of that trait is the contract. SQLite is the default and
//! needs only a file on a local disk. PostgreSQL is for workers on several machines. Both run the same
//! statements and pass the same suite, [`conformance::exercise`], which other implementations can run too.
//!
//! This crate does not decide which worker runs a task, or how. A store keeps the data it is given, rejects
//! invalid data and evaluates leases by clocks that never jump.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let folder = tempfile::tempdir().unwrap();
//! # let url = format!("sqlite:{}/windlass.db", folder.path().display());
//! use windlass_tasks::{NewProject, NewTask};
//!
//! let store = windlass_store::open(&url).await?;
//! let root = "/home/me/shop".into();
//! let project = store.add_project(NewProject { name: "shop".into(), root }).await?;
//! let added = store.enqueue(vec![NewTask::new(project.id, "sell tea")]).await?;
//! assert_eq!(store.task(added[0].task.id).await?.title, "sell tea");
//! # Ok::<_, windlass_tasks::StoreError>(())
//! # }).unwrap();
//! ```

mod access_store;
pub mod conformance;
mod connection;
mod error;
mod events;
mod file_signal;
mod last_break;
mod lease_clock;
mod lock_wait;
mod merge;
mod merged_statements;
mod merged_write;
mod notify;
mod ops;
mod pending_reply;
mod pooler;
mod pools;
mod portable;
mod postgres;
mod row_statements;
mod schema;
mod sql;
mod sqlite;
mod store;
mod task_row;
mod task_store;
mod upgrade;
mod write_job;
mod write_queue;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use windlass_core::{LeaseClock, TraceObserver};
use windlass_tasks::{AccessStore, ModelCalls, StoreError, StoreResult, TaskStore};

use pools::Pools;

pub use lease_clock::ManualClock;
pub use pools::ClockSkew;
pub use portable::{
    Problem, Pruned, StoreRetention, StoreSummary, TableSummary, backup, check, prune, restore,
    summarize,
};
pub use schema::{BlockedBy, MigrationMode, MigrationPlan};
#[doc(hidden)]
pub use schema::{Migration, Migrations};
pub use sqlite::{Inspection, inspect};
pub use upgrade::{migrate, migration_plan};

/// The machine that uses a store. Each machine has the files of a project at a path of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalMachine {
    /// Its name, different from those of all others. Without one, a path counts on every machine.
    pub name: String,
    /// The directory for the mirrors of projects that have no checkout on this machine.
    pub mirrors: Option<PathBuf>,
}

/// Time limits of store operations.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreSettings {
    /// Limit for reads, and for writes that need not reach the disk. Ten seconds by default: the disk of a
    /// busy machine may stall that long.
    pub query_timeout: Duration,
    /// Limit for durable writes. Thirty seconds by default, because another process may hold the write lock,
    /// and the disk may stall.
    pub commit_timeout: Duration,
    /// Limit for opening the store and for waiting for a free connection. Thirty seconds by default.
    pub open_timeout: Duration,
    /// Offset of the database's clock, for tests.
    pub clock_skew: ClockSkew,
    /// The clock of leases: the machine's monotonic clock, or one that a test moves.
    pub lease_clock: Arc<dyn LeaseClock>,
    /// PostgreSQL's own address for notifications, if the store's URL leads to a connection pooler.
    pub listen_url: Option<String>,
    /// Gets each trace that this process stores.
    pub traces: Option<Arc<dyn TraceObserver>>,
    /// The machine. By default it has no name.
    pub machine: LocalMachine,
    /// The migrations that this program knows, for tests of newer programs.
    #[doc(hidden)]
    pub migrations: Migrations,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            query_timeout: Duration::from_secs(10),
            commit_timeout: Duration::from_secs(30),
            open_timeout: Duration::from_secs(30),
            clock_skew: ClockSkew::default(),
            lease_clock: Arc::new(lease_clock::MachineClock::new()),
            listen_url: None,
            traces: None,
            machine: LocalMachine::default(),
            migrations: Migrations::default(),
        }
    }
}

/// One store, as its users see it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenStore {
    /// Tasks and their records.
    pub tasks: Arc<dyn TaskStore>,
    /// Tokens and sessions of servers.
    pub access: Arc<dyn AccessStore>,
    /// The model calls of agents.
    pub calls: Arc<dyn ModelCalls>,
    /// The schema version of the store, if a newer program has migrated it. This one may go on.
    pub newer_schema: Option<i64>,
}

impl OpenStore {
    fn new(store: store::SqlStore) -> Self {
        let newer_schema = store.newer_schema();
        let store = Arc::new(store);
        Self {
            tasks: Arc::clone(&store) as _,
            access: Arc::clone(&store) as _,
            calls: store,
            newer_schema,
        }
    }
}

/// Opens the tasks of the store at a URL: `sqlite:PATH` or `postgres://user@host/database`.
pub async fn open(url: &str) -> StoreResult<Arc<dyn TaskStore>> {
    open_with(url, StoreSettings::default()).await
}

/// Opens the tasks of the store at a URL with the given settings.
pub async fn open_with(url: &str, settings: StoreSettings) -> StoreResult<Arc<dyn TaskStore>> {
    Ok(open_all(url, settings).await?.tasks)
}

/// Opens the whole store at a URL with the given settings.
pub async fn open_all(url: &str, settings: StoreSettings) -> StoreResult<OpenStore> {
    let store = match StoreUrl::parse(url)? {
        StoreUrl::Postgres => postgres::open(url, settings).await?,
        StoreUrl::Sqlite(path) => sqlite::open(path, settings).await?,
    };
    Ok(OpenStore::new(store))
}

/// Connects to the database at a URL, whatever it contains.
async fn open_pools(url: &str, settings: &StoreSettings) -> StoreResult<Pools> {
    match StoreUrl::parse(url)? {
        StoreUrl::Postgres => postgres::connect(url, settings).await,
        StoreUrl::Sqlite(path) => Ok(sqlite::connect(path, settings).await?.0),
    }
}

/// The kind of database that a URL names.
enum StoreUrl<'a> {
    Postgres,
    Sqlite(&'a Path),
}

impl<'a> StoreUrl<'a> {
    fn parse(url: &'a str) -> StoreResult<Self> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres);
        }
        match path(url) {
            Some(path) => Ok(Self::Sqlite(Path::new(path))),
            // The URL may contain a password, so only the scheme is reported.
            None => Err(StoreError::Unavailable(format!(
                "unsupported store URL: it starts with {:?}; expected sqlite:PATH or postgres://user@host/database",
                url.split(':').next().unwrap_or_default()
            ))),
        }
    }
}

/// Returns the path of a SQLite URL.
fn path(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("sqlite:")?;
    let path = rest.strip_prefix("//").unwrap_or(rest);
    (!path.is_empty()).then_some(path)
}
