//! SQLite: the default store, one local file.

mod checkpoint;
mod file;
mod inspect;
mod mounts;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteLockingMode, SqlitePoolOptions};
use sqlx::{ConnectOptions, Row as _, Sqlite};
use windlass_tasks::{StoreError, StoreResult};

use crate::StoreSettings;
use crate::error::{self, BUSY_TIMEOUT, StoreLocation};
use crate::file_signal::FileSignal;
use crate::last_break::LastBreak;
use crate::lock_wait::WRITER_BUSY_MILLIS;
use crate::pools::{DatabasePools, Pools, read_only};
use crate::store::SqlStore;
use file::FileAccess;
pub use inspect::{Inspection, inspect};

/// Maximum number of reader connections. Readers do not wait for the writer.
const MAX_READERS: u32 = 4;
/// First version without the WAL-reset bug that could corrupt a file.
const MIN_VERSION: (u32, u32, u32) = (3, 51, 3);

/// Opens the store in this file, and creates the file if it does not exist.
pub(crate) async fn open(path: &Path, settings: StoreSettings) -> StoreResult<SqlStore> {
    let (pools, checkpoint_pool) = connect(path, &settings).await?;
    let store = SqlStore::start(pools, settings).await?;
    if let Some(pool) = checkpoint_pool {
        store.spawn_background(checkpoint::run_checkpointer(pool, file::wal_path(path)));
    }
    Ok(store)
}

/// Connects to a file, whatever it contains, and creates it if it does not exist. The second pool writes the
/// write-ahead log back.
pub(crate) async fn connect(
    path: &Path,
    settings: &StoreSettings,
) -> StoreResult<(Pools, Option<sqlx::Pool<Sqlite>>)> {
    let location = StoreLocation(path.display().to_string());
    mounts::check(path)?;
    let access = file::prepare(path)?;

    let options = connect_options(path);
    let mut checkpoint_pool = None;
    let (writer, mut readers) = match access {
        FileAccess::Write => {
            let writing = options
                .journal_mode(SqliteJournalMode::Wal)
                .pragma("journal_size_limit", "67108864")
                .pragma("wal_autocheckpoint", checkpoint::AUTOCHECKPOINT_PAGES);
            checkpoint_pool = Some(pool(1, settings, writing.clone()));
            let reading = writing.clone().pragma("query_only", "ON");
            // Once it is connected.
            let writing = writing.pragma("busy_timeout", WRITER_BUSY_MILLIS);
            (
                Ok(pool(1, settings, writing)),
                pool(MAX_READERS, settings, reading),
            )
        }
        // Without a WAL the file is complete, and SQLite can read it without writing.
        FileAccess::Read { wal } => {
            let reading = options.read_only(true).immutable(!wal);
            (
                Err(read_only(&location)),
                pool(MAX_READERS, settings, reading),
            )
        }
    };
    // The writer connects first: it creates the WAL that the readers need.
    let writer = match connect_pool(writer.as_ref().unwrap_or(&readers), &location, settings).await
    {
        Ok(()) => writer,
        Err(full @ StoreError::Full(_)) if writer.is_ok() => {
            (checkpoint_pool, readers) = (None, read_on_full_disk(path, settings));
            connect_pool(&readers, &location, settings).await?;
            Err(full)
        }
        Err(error) => return Err(error),
    };

    let pools = Pools {
        kind: DatabasePools::Sqlite(writer, readers),
        file_signal: Some(FileSignal::new(path.to_owned())),
        location,
        last_break: LastBreak::default(),
        clock_skew: settings.clock_skew.clone(),
        lease_clock: Arc::clone(&settings.lease_clock),
        migrations: settings.migrations.clone(),
    };
    Ok((pools, checkpoint_pool))
}

/// Connects for the first time, within the time limit.
async fn connect_pool(
    pool: &sqlx::Pool<Sqlite>,
    location: &StoreLocation,
    settings: &StoreSettings,
) -> StoreResult<()> {
    let after = settings.open_timeout;
    let connected = tokio::time::timeout(after, wait_until_unlocked(pool, location)).await;
    let what = "opening the store";
    connected.map_err(|_| StoreError::Timeout { what, after })?
}

/// Returns a pool that reads although the disk has no space for the shared memory of the WAL. This process alone then
/// has the file open; if another one had it open too, the shared memory would exist.
fn read_on_full_disk(path: &Path, settings: &StoreSettings) -> sqlx::Pool<Sqlite> {
    let options = connect_options(path)
        .locking_mode(SqliteLockingMode::Exclusive)
        .pragma("query_only", "ON");
    pool(1, settings, options)
}

/// Returns the options of every connection. The content of the file is not trusted: its schema may not call
/// functions with side effects, each page is checked, and the file is not mapped into memory, where another
/// process could change it after a check. `.cargo/config.toml` enables SQLite's defensive mode; no safe interface can.
pub(crate) fn connect_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .pragma("mmap_size", "0")
        .disable_statement_logging()
}

fn pool(
    connections: u32,
    settings: &StoreSettings,
    options: SqliteConnectOptions,
) -> sqlx::Pool<Sqlite> {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(settings.open_timeout)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_lazy_with(options)
}

/// Connects for the first time. If several processes create the file at the same time, one holds the lock and
/// the others retry.
async fn wait_until_unlocked(
    pool: &sqlx::Pool<Sqlite>,
    location: &StoreLocation,
) -> StoreResult<()> {
    loop {
        match check_version(pool).await {
            Ok(checked) => return checked,
            Err(error) => match error::classify(location, error).error {
                StoreError::Timeout { .. } => tokio::time::sleep(Duration::from_millis(10)).await,
                error => return Err(error),
            },
        }
    }
}

async fn check_version(pool: &sqlx::Pool<Sqlite>) -> sqlx::Result<StoreResult<()>> {
    let row = sqlx::query("SELECT sqlite_version() AS version")
        .fetch_one(pool)
        .await?;
    let version: String = row.try_get("version")?;
    Ok(check_min_version(&version))
}

fn check_min_version(version: &str) -> StoreResult<()> {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let found = (next(), next(), next());
    if found >= MIN_VERSION {
        return Ok(());
    }
    let (major, minor, patch) = MIN_VERSION;
    Err(StoreError::Unavailable(format!(
        "SQLite {version} can corrupt a file that two processes write to: {major}.{minor}.{patch} or newer is required"
    )))
}

#[cfg(test)]
mod tests {
    use super::check_min_version;

    #[test]
    fn old_sqlite_version_is_rejected() {
        for good in ["3.51.3", "3.52.0", "4.0", "3.100.1"] {
            assert_eq!(check_min_version(good), Ok(()), "{good}");
        }
        for bad in ["3.51.2", "3.9.9", "2.99.99", "", "nonsense"] {
            assert!(check_min_version(bad).is_err(), "{bad}");
        }
    }
}
