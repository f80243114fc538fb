//! SQLite, the store that needs nothing: one file beside the work.

mod checkpoint;
mod file;
mod mounts;

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{ConnectOptions, Row as _, Sqlite};
use windlass_core::task::{StoreError, StoreResult};

use crate::StoreSettings;
use crate::error::{self, BUSY_TIMEOUT, StoreLocation};
use crate::pools::{DatabasePools, Pools};
use crate::store::SqlStore;
use file::FileAccess;

/// Those who read do not wait for the one who writes.
const MAX_READERS: u32 = 4;
/// The first version without the fault that could damage a file when a log was started anew.
const MIN_VERSION: (u32, u32, u32) = (3, 51, 3);

/// Opens the store in this file, and makes it where there is none.
pub(crate) async fn open(path: &Path, settings: StoreSettings) -> StoreResult<SqlStore> {
    let place = StoreLocation(path.display().to_string());
    mounts::check(path)?;
    let access = file::prepare(path)?;

    let options = SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    let mut tender = None;
    let (writer, readers) = match access {
        FileAccess::Write => {
            let writing = options
                .journal_mode(SqliteJournalMode::Wal)
                .pragma("journal_size_limit", "67108864")
                .pragma("wal_autocheckpoint", checkpoint::AUTOCHECKPOINT_PAGES);
            tender = Some(pool(1, &settings, writing.clone()));
            let reading = writing.clone().pragma("query_only", "ON");
            (
                Some(pool(1, &settings, writing)),
                pool(MAX_READERS, &settings, reading),
            )
        }
        // Without a log beside it the file is whole, and SQLite need not write there to read it.
        FileAccess::Read { log } => {
            let reading = options.read_only(true).immutable(!log);
            (None, pool(MAX_READERS, &settings, reading))
        }
    };
    // The writer goes first: it makes the log that the readers need.
    let first = writer.as_ref().unwrap_or(&readers);
    let checked =
        tokio::time::timeout(settings.open_timeout, wait_until_unlocked(first, &place)).await;
    let after = settings.open_timeout;
    let what = "opening the store";
    checked.map_err(|_| StoreError::Timeout { what, after })??;

    let pools = Pools {
        kind: DatabasePools::Sqlite(writer, readers),
        place,
        leap: settings.leap.clone(),
    };
    let store = SqlStore::start(pools, 1, settings).await?;
    if let Some(tender) = tender {
        store.spawn_background(checkpoint::run_checkpointer(tender, file::wal_path(path)));
    }
    Ok(store)
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

/// Connects for the first time. Of several processes that make the file at the same moment one has it for itself; the
/// others come again.
async fn wait_until_unlocked(pool: &sqlx::Pool<Sqlite>, place: &StoreLocation) -> StoreResult<()> {
    loop {
        match check_version(pool).await {
            Ok(checked) => return checked,
            Err(error) => match error::classify(place, error).error {
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
    Ok(new_enough(&version))
}

fn new_enough(version: &str) -> StoreResult<()> {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let found = (next(), next(), next());
    if found >= MIN_VERSION {
        return Ok(());
    }
    let (major, minor, patch) = MIN_VERSION;
    Err(StoreError::Unavailable(format!(
        "SQLite {version} can damage a file that two processes write to: {major}.{minor}.{patch} or newer is needed"
    )))
}

#[cfg(test)]
mod tests {
    use super::new_enough;

    #[test]
    fn an_old_sqlite_is_refused() {
        for good in ["3.51.3", "3.52.0", "4.0", "3.100.1"] {
            assert_eq!(new_enough(good), Ok(()), "{good}");
        }
        for bad in ["3.51.2", "3.9.9", "2.99.99", "", "nonsense"] {
            assert!(new_enough(bad).is_err(), "{bad}");
        }
    }
}
