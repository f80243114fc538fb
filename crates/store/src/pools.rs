//! The connections to one database: those that write, and those that read beside them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sqlx::{Postgres, Sqlite};
use windlass_core::task::{StoreError, StoreResult};

use crate::connection::{DbConnection, RawConnection};
use crate::error::{self, DbError, StoreLocation};
use crate::sql::{Sql, decode_error};

/// Begins a transaction whose commit waits for the disk, and asks for the time.
const BEGIN_DURABLE: Sql = Sql {
    sqlite: "PRAGMA synchronous = FULL; BEGIN IMMEDIATE; SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now",
    postgres: "BEGIN; SET LOCAL synchronous_commit TO on; \
               SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now",
};
/// Begins one whose commit does not: what it says may be lost with the power, and only with it.
const BEGIN_RELAXED: Sql = Sql {
    sqlite: "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE; SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now",
    postgres: "BEGIN; SET LOCAL synchronous_commit TO off; \
               SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now",
};
pub(crate) const COMMIT: Sql = Sql::same("COMMIT");
pub(crate) const ROLLBACK: Sql = Sql::same("ROLLBACK");

/// How far the database's clock is off, for tests of a clock that leaps.
///
/// Leases are judged by the database's clock and by no other. A test that wants to see one run out moves this instead
/// of waiting.
#[derive(Debug, Clone, Default)]
pub struct ClockSkew(Arc<AtomicI64>);

impl ClockSkew {
    /// Moves the clock ahead.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(millis(by), Ordering::Relaxed);
    }

    /// Moves the clock back.
    pub fn rewind(&self, by: Duration) {
        self.0.fetch_sub(millis(by), Ordering::Relaxed);
    }

    fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn millis(by: Duration) -> i64 {
    i64::try_from(by.as_millis()).unwrap_or(i64::MAX)
}

/// The two ways to a database of one kind.
#[derive(Debug, Clone)]
pub(crate) enum DatabasePools {
    /// `None`: the file cannot be written.
    Sqlite(Option<sqlx::Pool<Sqlite>>, sqlx::Pool<Sqlite>),
    Postgres(sqlx::Pool<Postgres>, sqlx::Pool<Postgres>),
}

/// All connections to one database.
#[derive(Debug, Clone)]
pub(crate) struct Pools {
    pub(crate) kind: DatabasePools,
    pub(crate) place: StoreLocation,
    pub(crate) leap: ClockSkew,
}

impl Pools {
    /// A connection to write on.
    pub(crate) async fn writer(&self) -> Result<DbConnection, DbError> {
        let link = match &self.kind {
            DatabasePools::Sqlite(Some(writer), _) => {
                writer.acquire().await.map(RawConnection::Sqlite)
            }
            DatabasePools::Postgres(writer, _) => {
                writer.acquire().await.map(RawConnection::Postgres)
            }
            DatabasePools::Sqlite(None, _) => {
                return Err(DbError {
                    error: read_only(&self.place),
                    again: false,
                });
            }
        };
        match link {
            Ok(link) => Ok(DbConnection::new(link, self.place.clone())),
            Err(error) => Err(error::classify(&self.place, error)),
        }
    }

    /// A connection to read on.
    pub(crate) async fn reader(&self) -> StoreResult<DbConnection> {
        let link = match &self.kind {
            DatabasePools::Sqlite(_, readers) => readers.acquire().await.map(RawConnection::Sqlite),
            DatabasePools::Postgres(_, readers) => {
                readers.acquire().await.map(RawConnection::Postgres)
            }
        };
        match link {
            Ok(link) => Ok(DbConnection::new(link, self.place.clone())),
            Err(error) => Err(error::classify(&self.place, error).error),
        }
    }

    /// Begins a transaction, and takes the database's time for all that happens in it.
    pub(crate) async fn begin(&self, session: &mut DbConnection, durable: bool) -> StoreResult<()> {
        let begin = if durable {
            BEGIN_DURABLE
        } else {
            BEGIN_RELAXED
        };
        let rows = session.execute_batch(begin).await?;
        let now = match rows.last() {
            Some(row) => row.int("now")?,
            None => return Err(decode_error("its clock", "no answer")),
        };
        session.set_now(now.saturating_add(self.leap.get()));
        Ok(())
    }
}

pub(crate) fn read_only(place: &StoreLocation) -> StoreError {
    StoreError::Unavailable(format!(
        "{} is read-only: what it holds can be read, nothing can be added",
        place.0
    ))
}
