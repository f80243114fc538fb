//! A connection of either database, and what one transaction gathers on it.

use sqlx::pool::PoolConnection;
use sqlx::{Postgres, Sqlite};
use windlass_core::Timestamp;
use windlass_core::task::{Broadcast, StoreError, StoreResult};

use crate::error::{self, StoreLocation};
use crate::events;
use crate::sql::{Arg, Row, Sql};

/// The one connection that a piece of work has.
#[derive(Debug)]
pub(crate) enum RawConnection {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
}

/// A connection in use.
#[derive(Debug)]
pub(crate) struct DbConnection {
    link: RawConnection,
    place: StoreLocation,
    /// The database's clock when the transaction began, in milliseconds.
    now: i64,
    /// Whether the work under way has changed anything.
    wrote: bool,
    /// Whether a statement failed, and whether doing all of it again may help.
    broken: Option<bool>,
    /// Messages that have no number yet.
    pending: Vec<Broadcast>,
    /// The last number that was given away here.
    last: Option<u64>,
}

impl DbConnection {
    pub(crate) fn new(link: RawConnection, place: StoreLocation) -> Self {
        Self {
            link,
            place,
            now: 0,
            wrote: false,
            broken: None,
            pending: Vec::new(),
            last: None,
        }
    }

    /// All rows of a statement that only reads.
    pub(crate) async fn fetch_all(&mut self, sql: Sql, args: Vec<Arg>) -> StoreResult<Vec<Row>> {
        let rows = match &mut self.link {
            RawConnection::Sqlite(link) => {
                let mut query = sqlx::query::<Sqlite>(sql.sqlite);
                for arg in args {
                    query = match arg {
                        Arg::Int(value) => query.bind(value),
                        Arg::Text(value) => query.bind(value),
                    };
                }
                let rows = query.fetch_all(&mut **link).await;
                rows.map(|rows| rows.into_iter().map(Row::Sqlite).collect())
            }
            RawConnection::Postgres(link) => {
                let mut query = sqlx::query::<Postgres>(sql.postgres);
                for arg in args {
                    query = match arg {
                        Arg::Int(value) => query.bind(value),
                        Arg::Text(value) => query.bind(value),
                    };
                }
                let rows = query.fetch_all(&mut **link).await;
                rows.map(|rows| rows.into_iter().map(Row::Postgres).collect())
            }
        };
        rows.map_err(|error| self.fail(error))
    }

    /// The first row of a statement that only reads, if there is one.
    pub(crate) async fn fetch_optional(
        &mut self,
        sql: Sql,
        args: Vec<Arg>,
    ) -> StoreResult<Option<Row>> {
        Ok(self.fetch_all(sql, args).await?.into_iter().next())
    }

    /// The rows that a statement changed, as its `RETURNING` tells them.
    pub(crate) async fn fetch_returning(
        &mut self,
        sql: Sql,
        args: Vec<Arg>,
    ) -> StoreResult<Vec<Row>> {
        let rows = self.fetch_all(sql, args).await?;
        self.wrote |= !rows.is_empty();
        Ok(rows)
    }

    /// Changes something, and says nothing about it.
    pub(crate) async fn execute(&mut self, sql: Sql, args: Vec<Arg>) -> StoreResult<()> {
        self.wrote = true;
        self.fetch_all(sql, args).await.map(drop)
    }

    /// Several statements at once, without values; the rows of all.
    pub(crate) async fn execute_batch(&mut self, sql: Sql) -> StoreResult<Vec<Row>> {
        let rows = match &mut self.link {
            RawConnection::Sqlite(link) => {
                let rows = sqlx::raw_sql(sql.sqlite).fetch_all(&mut **link).await;
                rows.map(|rows| rows.into_iter().map(Row::Sqlite).collect())
            }
            RawConnection::Postgres(link) => {
                let rows = sqlx::raw_sql(sql.postgres).fetch_all(&mut **link).await;
                rows.map(|rows| rows.into_iter().map(Row::Postgres).collect())
            }
        };
        rows.map_err(|error| self.fail(error))
    }

    fn fail(&mut self, error: sqlx::Error) -> StoreError {
        tracing::debug!(%error, "a statement failed");
        let broken = error::classify(&self.place, error);
        self.broken = Some(broken.again);
        broken.error
    }

    /// The database's clock when the transaction began.
    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    pub(crate) fn set_now(&mut self, now: i64) {
        self.now = now;
    }

    /// Adds a message, which gets its number at the end of the transaction.
    pub(crate) fn queue_event(&mut self, message: Broadcast) {
        self.wrote = true;
        self.pending.push(message);
    }

    /// Gives numbers to the messages gathered so far, and the last number.
    ///
    /// The counter's row stays locked until the transaction ends: numbers have no gaps, and are seen in order.
    pub(crate) async fn assign_seqs(&mut self) -> StoreResult<Option<u64>> {
        let pending = std::mem::take(&mut self.pending);
        if !pending.is_empty() {
            self.last = Some(events::write(self, &pending).await?);
        }
        Ok(self.last)
    }

    /// Begins a piece of work within the transaction.
    pub(crate) fn begin_job(&mut self) {
        self.wrote = false;
    }

    /// Whether a piece of work that failed has left something behind, so that only going back helps.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.wrote || self.broken.is_some()
    }

    /// Whether a statement failed in a way that passes.
    pub(crate) fn is_retryable(&self) -> bool {
        self.broken == Some(true)
    }

    /// Gives the connection back, or up if it is in an unknown state.
    pub(crate) async fn close(self) {
        let closed = match self.link {
            RawConnection::Sqlite(link) => link.close().await,
            RawConnection::Postgres(link) => link.close().await,
        };
        if let Err(error) = closed {
            tracing::debug!(%error, "a connection was not closed cleanly");
        }
    }
}

/// A moment as the store keeps it.
pub(crate) fn timestamp(millis: i64) -> Timestamp {
    Timestamp(u64::try_from(millis).unwrap_or(0))
}
