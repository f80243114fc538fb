//! Connection pools of one database: writers and readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::{Postgres, Sqlite};
use windlass_core::LeaseClock;
use windlass_tasks::{StoreError, StoreResult};

use crate::connection::{Begin, DbConnection, RawConnection};
use crate::error::{self, DbError, StoreLocation};
use crate::file_signal::FileSignal;
use crate::last_break::LastBreak;
use crate::schema::Migrations;
use crate::sql::{Row, Sql, decode_error};

/// Begins a transaction, and returns the time and the oldest programs that may use the store. SQLite waits for the disk at
/// its end with `FULL`, PostgreSQL with `on` and if it has events. Otherwise its changes can be lost on power failure, but not
/// on a process crash.
macro_rules! begin {
    ($sqlite:literal, $postgres:literal $(, $oldest:literal)?) => {
        Sql {
            sqlite: concat!(
                $sqlite, "BEGIN IMMEDIATE; SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now" $(, $oldest)?
            ),
            postgres: concat!(
                "BEGIN; SET LOCAL synchronous_commit TO ", $postgres, "; ",
                "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now" $(, $oldest)?
            ),
        }
    };
    (usable $sqlite:literal, $postgres:literal) => {
        begin!($sqlite, $postgres, ", (SELECT value FROM counter WHERE name = 'oldest_program') AS oldest")
    };
}

const BEGIN_DURABLE: Begin = Begin {
    first: begin!(usable "PRAGMA synchronous = FULL; ", "on"),
    next: begin!(usable "", "on"),
    durable: true,
};
const BEGIN_RELAXED: Begin = Begin {
    first: begin!(usable "PRAGMA synchronous = NORMAL; ", "off"),
    next: begin!(usable "", "off"),
    durable: false,
};
const BEGIN_MIGRATION: Begin = Begin {
    first: begin!("PRAGMA synchronous = FULL; ", "on"),
    next: begin!("", "on"),
    durable: true,
};

/// Offset of the database's clock, for tests of clock jumps. Leases do not depend on it.
#[derive(Debug, Clone, Default)]
pub struct ClockSkew(Arc<AtomicI64>);

impl ClockSkew {
    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(millis(by), Ordering::Relaxed);
    }

    /// Moves the clock back.
    pub fn rewind(&self, by: Duration) {
        self.0.fetch_sub(millis(by), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn millis(by: Duration) -> i64 {
    i64::try_from(by.as_millis()).unwrap_or(i64::MAX)
}

/// Writer and reader pools by database kind.
#[derive(Debug, Clone)]
pub(crate) enum DatabasePools {
    /// Instead of a writer there is the reason why the file can only be read.
    Sqlite(Result<sqlx::Pool<Sqlite>, StoreError>, sqlx::Pool<Sqlite>),
    Postgres(PostgresPools),
}

/// Connection pools of a PostgreSQL server.
#[derive(Debug, Clone)]
pub(crate) struct PostgresPools {
    pub(crate) writer: sqlx::Pool<Postgres>,
    /// Behind a pooler: the statements that each transaction starts with.
    pub(crate) writer_settings: Option<Arc<str>>,
    pub(crate) readers: sqlx::Pool<Postgres>,
    pub(crate) reader_settings: Option<Arc<str>>,
    /// For notifications. Without one, events are polled.
    pub(crate) listener: Option<ListenerPool>,
}

/// Where notifications come from.
#[derive(Debug, Clone)]
pub(crate) enum ListenerPool {
    /// One of the readers.
    Shared(sqlx::Pool<Postgres>),
    /// An address of its own.
    Own(sqlx::Pool<Postgres>),
    /// An address of its own, which did not answer when the store was opened.
    Unreachable(sqlx::Pool<Postgres>),
}

impl ListenerPool {
    pub(crate) fn pool(&self) -> &sqlx::Pool<Postgres> {
        match self {
            Self::Shared(pool) | Self::Own(pool) | Self::Unreachable(pool) => pool,
        }
    }
}

/// All connections to one database.
#[derive(Debug, Clone)]
pub(crate) struct Pools {
    pub(crate) kind: DatabasePools,
    /// Wakes other processes that use the same file. PostgreSQL has its own notifications.
    pub(crate) file_signal: Option<FileSignal>,
    pub(crate) location: StoreLocation,
    pub(crate) last_break: LastBreak,
    pub(crate) clock_skew: ClockSkew,
    pub(crate) lease_clock: Arc<dyn LeaseClock>,
    /// The migrations that this program knows.
    pub(crate) migrations: Migrations,
}

impl Pools {
    /// Acquires a connection for writing.
    pub(crate) async fn writer(&self) -> Result<DbConnection, DbError> {
        let connection = match &self.kind {
            DatabasePools::Sqlite(Ok(writer), _) => {
                writer.acquire().await.map(RawConnection::Sqlite)
            }
            DatabasePools::Postgres(pools) => {
                let settings = pools.writer_settings.clone();
                let connection = pools.writer.acquire().await;
                connection.map(|connection| RawConnection::Postgres(connection, settings))
            }
            DatabasePools::Sqlite(Err(reason), _) => {
                return Err(DbError {
                    error: reason.clone(),
                    retryable: false,
                });
            }
        };
        match connection {
            Ok(connection) => Ok(self.connection(connection)),
            Err(error) => Err(error::classify(&self.location, error)),
        }
    }

    /// Acquires a connection for reading.
    pub(crate) async fn reader(&self) -> StoreResult<DbConnection> {
        let connection = match &self.kind {
            DatabasePools::Sqlite(_, readers) => readers.acquire().await.map(RawConnection::Sqlite),
            DatabasePools::Postgres(pools) => {
                let settings = pools.reader_settings.clone();
                let connection = pools.readers.acquire().await;
                connection.map(|connection| RawConnection::Postgres(connection, settings))
            }
        };
        match connection {
            Ok(connection) => Ok(self.connection(connection)),
            Err(error) => Err(error::classify(&self.location, error).error),
        }
    }

    /// Acquires a connection to the address for notifications, if there is one and it can be reached.
    pub(crate) async fn listener(&self) -> Option<DbConnection> {
        let DatabasePools::Postgres(pools) = &self.kind else {
            return None;
        };
        let Some(ListenerPool::Own(pool)) = &pools.listener else {
            return None;
        };
        let connection = pool.acquire().await.ok()?;
        Some(self.connection(RawConnection::Postgres(connection, None)))
    }

    fn connection(&self, connection: RawConnection) -> DbConnection {
        DbConnection::new(
            connection,
            self.location.clone(),
            self.last_break.clone(),
            self.migrations.newest(),
        )
    }

    /// Closes all connections. The last one to a file writes its log back.
    pub(crate) async fn close(&self) {
        match &self.kind {
            DatabasePools::Sqlite(writer, readers) => {
                readers.close().await;
                if let Ok(writer) = writer {
                    writer.close().await;
                }
            }
            DatabasePools::Postgres(pools) => {
                pools.readers.close().await;
                pools.writer.close().await;
                if let Some(listener) = &pools.listener {
                    listener.pool().close().await;
                }
            }
        }
    }

    /// Begins a transaction and reads the database's clock, which all operations in the transaction use. Refuses a store that
    /// a newer program has migrated so that this one cannot use it.
    pub(crate) async fn begin(&self, db: &mut DbConnection, durable: bool) -> StoreResult<()> {
        let begin = if durable {
            BEGIN_DURABLE
        } else {
            BEGIN_RELAXED
        };
        let row = self.begin_with(db, begin).await?;
        match row.opt_int("oldest")? {
            Some(oldest) if oldest > self.migrations.newest() => {
                Err(StoreError::Outdated(format!(
                    "{} was migrated by a newer Windlass, and this one, with schema version {}, cannot use it any more: \
                 install the newer version and start again",
                    self.location.0,
                    self.migrations.newest()
                )))
            }
            _ => Ok(()),
        }
    }

    /// Begins a durable transaction on a store of any version.
    pub(crate) async fn begin_migration(&self, db: &mut DbConnection) -> StoreResult<()> {
        self.begin_with(db, BEGIN_MIGRATION).await.map(drop)
    }

    async fn begin_with(&self, db: &mut DbConnection, begin: Begin) -> StoreResult<Row> {
        let rows = db.begin(begin).await?;
        let Some(row) = rows.into_iter().next_back() else {
            return Err(decode_error("the clock", "no row was returned"));
        };
        let now = row.int("now")?;
        db.set_now(now.saturating_add(self.clock_skew.get()));
        self.set_lease_clock(db);
        Ok(row)
    }

    /// Reads the clock of leases, for the operations of one transaction.
    pub(crate) fn set_lease_clock(&self, db: &mut DbConnection) {
        let clock = &self.lease_clock;
        db.set_lease_clock((clock.id().to_owned(), millis(clock.now())));
    }
}

pub(crate) fn read_only(location: &StoreLocation) -> StoreError {
    StoreError::Unavailable(format!(
        "{} is read-only: data can be read but not changed",
        location.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreSettings;
    use crate::sqlite;

    #[tokio::test]
    async fn p1_durable_transaction_of_sqlite_waits_for_the_disk_after_a_relaxed_one() {
        const LEVEL: Sql = Sql::same("PRAGMA synchronous");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        let connected = sqlite::connect(&path, &StoreSettings::default()).await;
        let (pools, _) = connected.unwrap();
        let mut db = pools.writer().await.unwrap();
        let (normal, full) = (1, 2);
        for level in [full, normal, full, full, normal, normal, full] {
            let mut begin = BEGIN_MIGRATION;
            if level == normal {
                begin.first = begin!("PRAGMA synchronous = NORMAL; ", "off");
                begin.durable = false;
            }
            pools.begin_with(&mut db, begin).await.unwrap();
            let rows = db.execute_batch(LEVEL).await.unwrap();
            assert_eq!(rows[0].int("synchronous"), Ok(level));
            db.rollback().await.unwrap();
        }
    }
}
