//! Group commit: one task takes the queued jobs, runs them in one transaction, and replies after the commit.
//!
//! A commit waits for the disk, no matter how much it contains. While one commit is in progress the next jobs
//! gather, and share one wait. Jobs of the same kind can share their statements, too
//! ([`merged_write`](crate::merged_write)).
//!
//! A store has one queue. SQLite has one writer. On PostgreSQL the jobs of several queues could not be merged, and their
//! transactions would wait for each other: each holds the counter of events until it is on disk.

use std::time::Duration;

use tokio::sync::mpsc;
use windlass_core::Backoff;
use windlass_tasks::StoreError;

use crate::connection::DbConnection;
use crate::notify::EventSignal;
use crate::pools::Pools;
use crate::write_job::{JobStage, RunOutcome, WriteJob};
use crate::writer::{BatchError, TRANSACTION_TIMEOUT, Writer, deliver, fail};
use crate::{events, merged_write};

/// Maximum number of jobs in one transaction.
const MAX_BATCH: usize = 256;
/// Maximum number of jobs that wait in a queue.
const QUEUE_CAPACITY: usize = 1_024;
/// The delays before a transient error is retried.
const RETRY_BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(250));

/// The sender side of a write queue.
pub(crate) type WriteQueue = mpsc::Sender<Box<dyn WriteJob>>;

/// Spawns a writer and returns its queue. The writer ends when all senders are dropped.
pub(crate) fn spawn_writer(pools: Pools, signal: EventSignal) -> WriteQueue {
    let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
    let writer = Writer::new(pools, signal);
    tokio::spawn(writer.run(receiver));
    sender
}

/// Takes the waiting jobs. Clients that were just answered usually send their next job immediately, so this
/// yields a few times until the batch is as large as the last one.
async fn fill_batch(
    queue: &mut mpsc::Receiver<Box<dyn WriteJob>>,
    batch: &mut Vec<Box<dyn WriteJob>>,
    last_len: usize,
) {
    for _ in 0..8 {
        while batch.len() < MAX_BATCH {
            match queue.try_recv() {
                Ok(job) => batch.push(job),
                Err(_) => break,
            }
        }
        if batch.len() >= last_len.min(MAX_BATCH) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

impl Writer {
    async fn run(mut self, mut queue: mpsc::Receiver<Box<dyn WriteJob>>) {
        let mut last_len = 1;
        // Undo jobs run first.
        let mut batch: Vec<Box<dyn WriteJob>> = Vec::new();
        loop {
            if batch.is_empty() {
                match queue.recv().await {
                    Some(job) => batch.push(job),
                    None => return,
                }
            }
            fill_batch(&mut queue, &mut batch, last_len).await;
            last_len = batch.len();
            batch.retain(|job| job.has_waiter());
            let merged = merged_write::run(&mut self, batch).await;
            batch = merged.undo;
            batch.extend(self.run_batch(merged.left).await);
        }
    }

    /// Runs all jobs in one transaction or, if one job fails, each job in its own transaction. Returns the undo
    /// jobs.
    async fn run_batch(&mut self, mut batch: Vec<Box<dyn WriteJob>>) -> Vec<Box<dyn WriteJob>> {
        if batch.len() > 1 || batch.iter().any(|job| job.merge_input().is_some()) {
            match self.transaction(&mut batch, true).await {
                Ok(()) => return deliver(batch),
                Err(BatchError::Transaction(error, false)) => {
                    fail(batch, &error);
                    return Vec::new();
                }
                Err(BatchError::JobFailed | BatchError::Transaction(_, true)) => {}
            }
        }
        let mut undo = Vec::new();
        for job in batch {
            undo.extend(self.run_single(job).await);
        }
        undo
    }

    /// Runs one job in its own transaction. Retries transient errors while the caller still waits.
    async fn run_single(&mut self, job: Box<dyn WriteJob>) -> Vec<Box<dyn WriteJob>> {
        let mut batch = vec![job];
        let mut retries = 0;
        loop {
            if !batch.iter().all(|job| job.has_waiter()) {
                return Vec::new();
            }
            match self.transaction(&mut batch, false).await {
                // A job that failed its own transaction has its error as the result.
                Ok(()) | Err(BatchError::JobFailed) => return deliver(batch),
                Err(BatchError::Transaction(error, false)) => {
                    fail(batch, &error);
                    return Vec::new();
                }
                Err(BatchError::Transaction(error, true)) => {
                    tracing::debug!(%error, "retrying the transaction");
                    tokio::time::sleep(RETRY_BACKOFF.delay(retries)).await;
                    retries += 1;
                }
            }
        }
    }

    /// Runs the jobs in one transaction. On SQLite, `merge` lets jobs of the same kind share their statements.
    async fn transaction(
        &mut self,
        batch: &mut [Box<dyn WriteJob>],
        merge: bool,
    ) -> Result<(), BatchError> {
        let mut db = self.connect().await?;
        let merge = merge && db.is_sqlite();
        let run = run_transaction(&self.pools, &mut db, batch, merge);
        let done = tokio::time::timeout(TRANSACTION_TIMEOUT, run).await;
        self.end(db, done).await
    }
}

async fn run_transaction(
    pools: &Pools,
    db: &mut DbConnection,
    batch: &mut [Box<dyn WriteJob>],
    merge: bool,
) -> Result<Option<u64>, BatchError> {
    let durable = batch.iter().any(|job| job.is_durable());
    pools
        .begin(db, durable)
        .await
        .map_err(|error| transaction_error(db, error))?;
    for job in batch.iter_mut() {
        job.clear_result();
    }
    if merge && let Err(error) = merged_write::run_inside(db, batch).await {
        tracing::debug!(%error, "writes could not be merged");
        return Err(BatchError::JobFailed);
    }
    for job in batch.iter_mut().filter(|job| !job.has_result()) {
        job.set_stage(JobStage::Running);
        if job.run(db).await == RunOutcome::Poisoned {
            if db.is_retryable() {
                let error = StoreError::Unavailable("the connection was lost".to_owned());
                return Err(BatchError::Transaction(error, true));
            }
            return Err(BatchError::JobFailed);
        }
    }
    // SQLite writes the events with the commit, which saves a call to its thread.
    if !db.is_sqlite()
        && let Err(error) = events::assign_seqs(db).await
    {
        return Err(transaction_error(db, error));
    }
    for job in batch.iter() {
        job.set_stage(JobStage::Committing);
    }
    match events::commit(db).await {
        Ok(last) => Ok(last),
        // It is unknown whether the commit took effect: a retry could apply it twice.
        Err(error) => Err(BatchError::Transaction(error, false)),
    }
}

fn transaction_error(db: &DbConnection, error: StoreError) -> BatchError {
    BatchError::Transaction(error, db.is_retryable())
}
