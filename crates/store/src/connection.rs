//! A connection to either database, and the state of its transaction.

use std::sync::Arc;

use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection as _, Postgres, SqlSafeStr, Sqlite};
use windlass_core::Timestamp;
use windlass_tasks::{Broadcast, StoreError, StoreResult};

use crate::error::{self, StoreLocation};
use crate::last_break::LastBreak;
use crate::lease_clock::LeaseTime;
use crate::lock_wait::LockWait;
use crate::pooler;
use crate::sql::{Arg, Row, Sql};

/// A pooled connection to either database.
#[derive(Debug)]
pub(crate) enum RawConnection {
    Sqlite(PoolConnection<Sqlite>),
    /// Behind a pooler, with the statements that each transaction starts with.
    Postgres(PoolConnection<Postgres>, Option<Arc<str>>),
}

/// The statements that begin a transaction that writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begin {
    /// They also set whether SQLite waits for the disk at the end. SQLite sets this when it prepares the statement, so it must
    /// not be a prepared one.
    pub(crate) first: Sql,
    /// If the last transaction of the connection waited for the disk if and only if this one does.
    pub(crate) next: Sql,
    pub(crate) durable: bool,
}

/// A database connection with the state of the current transaction.
#[derive(Debug)]
pub(crate) struct DbConnection {
    connection: RawConnection,
    location: StoreLocation,
    last_break: LastBreak,
    /// The newest schema version that this program knows.
    schema_version: i64,
    /// Whether SQLite waits for the disk at the end of a transaction, if it was set.
    waits_for_disk: Option<bool>,
    /// A transaction was started and has not ended.
    in_transaction: bool,
    /// The database's clock at the start of the transaction, in milliseconds.
    now: i64,
    /// The clock of leases: its id, and its time at the start of the transaction, in milliseconds.
    lease_clock: (String, i64),
    /// The current job has changed something.
    wrote: bool,
    /// Set when a statement failed; `true` if a retry may help.
    failed: Option<bool>,
    /// The last failed statement was rejected by the server, so it has changed nothing.
    rejected: bool,
    /// Events that have no sequence number yet.
    pending: Vec<Broadcast>,
    /// The last sequence number assigned on this connection.
    last: Option<u64>,
    /// The events of the transaction make no task claimable.
    quiet: bool,
}

impl DbConnection {
    pub(crate) fn new(
        connection: RawConnection,
        location: StoreLocation,
        last_break: LastBreak,
        schema_version: i64,
    ) -> Self {
        Self {
            connection,
            location,
            last_break,
            schema_version,
            waits_for_disk: None,
            in_transaction: false,
            now: 0,
            lease_clock: (String::new(), 0),
            wrote: false,
            failed: None,
            rejected: false,
            pending: Vec::new(),
            last: None,
            quiet: false,
        }
    }

    /// Returns `true` for SQLite.
    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self.connection, RawConnection::Sqlite(_))
    }

    /// Returns the newest schema version that this program knows.
    pub(crate) fn schema_version(&self) -> i64 {
        self.schema_version
    }

    /// Returns `true` if the next transaction waits for the disk unless it says otherwise.
    pub(crate) fn waits_for_disk(&self) -> bool {
        !self.is_sqlite() || self.waits_for_disk == Some(true)
    }

    /// Returns all rows of a statement that only reads.
    pub(crate) async fn fetch_all(&mut self, sql: Sql, args: Vec<Arg>) -> StoreResult<Vec<Row>> {
        let text = if self.is_sqlite() {
            sql.sqlite
        } else {
            sql.postgres
        };
        self.fetch(text, args).await
    }

    /// Returns all rows of a statement that was built from the names of Windlass's own tables and columns.
    pub(crate) async fn fetch_built(
        &mut self,
        text: String,
        args: Vec<Arg>,
    ) -> StoreResult<Vec<Row>> {
        self.fetch(AssertSqlSafe(text), args).await
    }

    async fn fetch(&mut self, text: impl SqlSafeStr, args: Vec<Arg>) -> StoreResult<Vec<Row>> {
        let rows = match &mut self.connection {
            RawConnection::Sqlite(connection) => {
                let mut query = sqlx::query::<Sqlite>(text);
                for arg in args {
                    query = match arg {
                        Arg::Int(value) => query.bind(value),
                        Arg::Text(value) => query.bind(value),
                    };
                }
                let rows = query.fetch_all(&mut **connection).await;
                rows.map(|rows| rows.into_iter().map(Row::Sqlite).collect())
            }
            RawConnection::Postgres(connection, Some(settings)) => {
                let text = pooler::with_values(text.into_sql_str().as_str(), &args);
                let settings = if self.in_transaction { "" } else { settings };
                let statement = sqlx::raw_sql(AssertSqlSafe(format!("{settings}{text}")));
                let rows = statement.fetch_all(&mut **connection).await;
                rows.map(|rows| rows.into_iter().map(Row::Postgres).collect())
            }
            RawConnection::Postgres(connection, None) => {
                let mut query = sqlx::query::<Postgres>(text);
                for arg in args {
                    query = match arg {
                        Arg::Int(value) => query.bind(value),
                        Arg::Text(value) => query.bind(value),
                    };
                }
                let rows = query.fetch_all(&mut **connection).await;
                rows.map(|rows| rows.into_iter().map(Row::Postgres).collect())
            }
        };
        rows.map_err(|error| self.fail(error))
    }

    /// Returns the first row of a statement that only reads, if there is one.
    pub(crate) async fn fetch_optional(
        &mut self,
        sql: Sql,
        args: Vec<Arg>,
    ) -> StoreResult<Option<Row>> {
        Ok(self.fetch_all(sql, args).await?.into_iter().next())
    }

    /// Runs a statement with a `RETURNING` clause and returns its rows.
    pub(crate) async fn fetch_returning(
        &mut self,
        sql: Sql,
        args: Vec<Arg>,
    ) -> StoreResult<Vec<Row>> {
        let rows = self.fetch_all(sql, args).await?;
        self.wrote |= !rows.is_empty();
        Ok(rows)
    }

    /// Runs a statement that changes data, whether it returns rows or not.
    pub(crate) async fn fetch_written(
        &mut self,
        sql: Sql,
        args: Vec<Arg>,
    ) -> StoreResult<Vec<Row>> {
        self.wrote = true;
        self.fetch_all(sql, args).await
    }

    /// Runs a statement that changes data and returns no rows.
    pub(crate) async fn execute(&mut self, sql: Sql, args: Vec<Arg>) -> StoreResult<()> {
        self.fetch_written(sql, args).await.map(drop)
    }

    /// Locks rows until the transaction ends. On SQLite the transaction already is the only writer.
    pub(crate) async fn lock(&mut self, sql: Sql, args: Vec<Arg>) -> StoreResult<()> {
        match &self.connection {
            RawConnection::Sqlite(_) => Ok(()),
            RawConnection::Postgres(..) => self.fetch_all(sql, args).await.map(drop),
        }
    }

    /// Begins a transaction that only reads.
    pub(crate) async fn begin_read(&mut self, begin: Sql) -> StoreResult<()> {
        let started = self.run_batch(begin, false).await;
        self.in_transaction = true;
        started.map(drop)
    }

    /// Begins a transaction with a batch of statements, and returns their rows.
    pub(crate) async fn begin(&mut self, begin: Begin) -> StoreResult<Vec<Row>> {
        let wait = LockWait::start();
        let rows = loop {
            self.failed = None;
            let rows = match self.waits_for_disk.take() {
                Some(waits) if waits == begin.durable => self.run_prepared(begin.next, false).await,
                _ => self.run_batch(begin.first, false).await,
            };
            if !(self.is_sqlite() && wait.goes_on(&rows)) {
                break rows;
            }
        };
        if self.is_sqlite() && rows.is_ok() {
            self.waits_for_disk = Some(begin.durable);
        }
        // After an error too, there may be a transaction to end.
        self.in_transaction = true;
        rows
    }

    /// Commits the transaction.
    pub(crate) async fn commit(&mut self) -> StoreResult<()> {
        self.end_transaction(Sql::same("COMMIT")).await
    }

    /// Undoes the transaction.
    pub(crate) async fn rollback(&mut self) -> StoreResult<()> {
        self.end_transaction(Sql::same("ROLLBACK")).await
    }

    async fn end_transaction(&mut self, end: Sql) -> StoreResult<()> {
        self.run_prepared(end, true).await?;
        self.in_transaction = false;
        Ok(())
    }

    /// Runs several statements without arguments and returns the rows of all of them.
    pub(crate) async fn execute_batch(&mut self, sql: Sql) -> StoreResult<Vec<Row>> {
        self.run_batch(sql, self.in_transaction).await
    }

    /// Runs the statements as a batch on PostgreSQL, and as prepared ones on SQLite.
    async fn run_prepared(&mut self, sql: Sql, is_inside: bool) -> StoreResult<Vec<Row>> {
        if self.is_sqlite() {
            return self.fetch(sql.sqlite, Vec::new()).await;
        }
        self.run_batch(sql, is_inside).await
    }

    async fn run_batch(&mut self, sql: Sql, is_inside: bool) -> StoreResult<Vec<Row>> {
        let rows = match &mut self.connection {
            RawConnection::Sqlite(connection) => {
                let rows = sqlx::raw_sql(sql.sqlite).fetch_all(&mut **connection).await;
                rows.map(|rows| rows.into_iter().map(Row::Sqlite).collect())
            }
            RawConnection::Postgres(connection, settings) => {
                let settings = settings.as_deref().filter(|_| !is_inside);
                let text = format!("{}{}", settings.unwrap_or_default(), sql.postgres);
                let statement = sqlx::raw_sql(AssertSqlSafe(text));
                let rows = statement.fetch_all(&mut **connection).await;
                rows.map(|rows| rows.into_iter().map(Row::Postgres).collect())
            }
        };
        rows.map_err(|error| self.fail(error))
    }

    fn fail(&mut self, error: sqlx::Error) -> StoreError {
        tracing::debug!(%error, "a statement failed");
        self.rejected = error::is_rejected(&error);
        if error::is_broken(&error) {
            self.last_break.record();
        }
        let failed = error::classify(&self.location, error);
        self.failed = Some(failed.retryable);
        failed.error
    }

    /// Returns the database's clock at the start of the transaction, in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// Returns the time that leases are given and compared with.
    pub(crate) fn lease_time(&self) -> LeaseTime<'_> {
        LeaseTime {
            clock: &self.lease_clock.0,
            now: self.lease_clock.1,
            database: self.now,
        }
    }

    /// Sets the database's clock.
    pub(crate) fn set_now(&mut self, now: i64) {
        self.now = now;
    }

    /// Sets the clock of leases.
    pub(crate) fn set_lease_clock(&mut self, clock: (String, i64)) {
        self.lease_clock = clock;
    }

    /// Adds an event. It gets its sequence number at the end of the transaction.
    pub(crate) fn queue_event(&mut self, message: Broadcast) {
        self.wrote = true;
        self.pending.push(message);
    }

    /// Returns the events that have no sequence number yet, and forgets them.
    pub(crate) fn take_events(&mut self) -> Vec<Broadcast> {
        std::mem::take(&mut self.pending)
    }

    /// Returns the last sequence number that was assigned in the transaction, if any.
    pub(crate) fn last_seq(&self) -> Option<u64> {
        self.last
    }

    /// Returns `true` if the events of the transaction make no task claimable.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub(crate) fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    pub(crate) fn set_last_seq(&mut self, last: u64) {
        self.last = Some(last);
    }

    /// Forgets the state of the previous transaction.
    pub(crate) fn begin_transaction(&mut self) {
        self.wrote = false;
        self.failed = None;
        self.rejected = false;
        self.pending.clear();
        self.last = None;
        self.quiet = false;
    }

    /// Starts a new job within the transaction.
    pub(crate) fn begin_job(&mut self) {
        self.wrote = false;
    }

    /// Returns `true` if the current job has changed something or a statement failed. After an error the
    /// transaction must then be rolled back.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.wrote || self.failed.is_some()
    }

    /// Returns `true` if a statement failed with a transient error.
    pub(crate) fn is_retryable(&self) -> bool {
        self.failed == Some(true)
    }

    /// Returns `true` if the server rejected the last failed statement: it has certainly changed nothing.
    pub(crate) fn is_rejected(&self) -> bool {
        self.rejected
    }

    /// Returns `true` if the database still answers on this connection.
    pub(crate) async fn is_alive(&mut self) -> bool {
        match &mut self.connection {
            // A file does not close its connections.
            RawConnection::Sqlite(_) => true,
            RawConnection::Postgres(connection, _) => connection.ping().await.is_ok(),
        }
    }

    /// Closes the connection instead of returning it to the pool, for connections in an unknown state.
    pub(crate) async fn close(self) {
        let closed = match self.connection {
            RawConnection::Sqlite(connection) => connection.close().await,
            RawConnection::Postgres(connection, _) => connection.close().await,
        };
        if let Err(error) = closed {
            tracing::debug!(%error, "a connection was not closed cleanly");
        }
    }
}

/// Converts stored milliseconds to a timestamp.
pub(crate) fn timestamp(millis: i64) -> Timestamp {
    Timestamp(u64::try_from(millis).unwrap_or(0))
}
