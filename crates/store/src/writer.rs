//! The connection that the jobs of one queue use, and how a transaction on it ends.

use std::time::Duration;

use tokio::time::Instant;
use tokio::time::error::Elapsed;
use windlass_tasks::StoreError;

use crate::connection::DbConnection;
use crate::last_break::MAX_UNTESTED;
use crate::notify::EventSignal;
use crate::pools::Pools;
use crate::write_job::WriteJob;

/// How long a transaction may take before its connection is discarded.
pub(crate) const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(20);

/// Reason why a transaction was not committed.
pub(crate) enum BatchError {
    /// A job failed after it wrote changes.
    JobFailed,
    /// The transaction itself failed. The flag is `true` if a retry may help.
    Transaction(StoreError, bool),
}

/// Writes the jobs of one queue.
pub(crate) struct Writer {
    pub(crate) pools: Pools,
    signal: EventSignal,
    /// The connection, since its last use. It stays here between transactions: a pool would test it each time.
    connection: Option<(DbConnection, Instant)>,
}

impl Writer {
    pub(crate) fn new(pools: Pools, signal: EventSignal) -> Self {
        Self {
            pools,
            signal,
            connection: None,
        }
    }

    /// Ends a transaction that returned the last sequence number it assigned. The connection is closed if its state
    /// is unknown.
    pub(crate) async fn end(
        &mut self,
        mut db: DbConnection,
        done: Result<Result<Option<u64>, BatchError>, Elapsed>,
    ) -> Result<(), BatchError> {
        match done {
            Ok(Ok(last)) => {
                // A reader of a file finds events of others and of this process, and cannot tell them apart.
                let is_quiet = db.is_quiet() && self.pools.file_signal.is_none();
                self.connection = Some((db, Instant::now()));
                if let Some(last) = last {
                    self.announce(last, !is_quiet);
                }
                Ok(())
            }
            Ok(Err(error)) => {
                match db.rollback().await {
                    Ok(_) => self.connection = Some((db, Instant::now())),
                    Err(_) => db.close().await,
                }
                Err(error)
            }
            Err(_) => {
                db.close().await;
                let what = "a transaction";
                let after = TRANSACTION_TIMEOUT;
                Err(BatchError::Transaction(
                    StoreError::Timeout { what, after },
                    false,
                ))
            }
        }
    }

    /// Returns `true` if a statement that is its own transaction waits for the disk.
    pub(crate) fn waits_for_disk(&self) -> bool {
        let connection = self.connection.as_ref();
        connection.is_some_and(|(db, _)| db.waits_for_disk())
    }

    /// Returns the connection of this queue, or a new one if it was closed.
    pub(crate) async fn connect(&mut self) -> Result<DbConnection, BatchError> {
        if let Some((mut db, used)) = self.connection.take() {
            if used.elapsed() < MAX_UNTESTED || db.is_alive().await {
                db.begin_transaction();
                return Ok(db);
            }
            db.close().await;
        }
        let connection = self.pools.writer().await;
        connection.map_err(|failed| BatchError::Transaction(failed.error, failed.retryable))
    }

    /// Wakes those who wait for events, here and in other processes. PostgreSQL has notified them with the commit.
    fn announce(&self, last: u64, work: bool) {
        self.signal.publish(last, work);
        if let Some(file) = &self.pools.file_signal {
            file.notify();
        }
    }
}

pub(crate) fn deliver(batch: Vec<Box<dyn WriteJob>>) -> Vec<Box<dyn WriteJob>> {
    batch.into_iter().filter_map(WriteJob::deliver).collect()
}

pub(crate) fn fail(batch: Vec<Box<dyn WriteJob>>, error: &StoreError) {
    for job in batch {
        job.fail(error.clone());
    }
}
