//! Group commit: one task takes the queued jobs, runs them in one transaction, and replies after the commit.
//!
//! A commit waits for the disk, no matter how much it contains. While one commit is in progress the next jobs
//! gather, and share one wait. SQLite has one queue because it has one writer. PostgreSQL has
//! several; jobs for the same task always use the same queue, so that queues do not deadlock.

use std::time::Duration;

use tokio::sync::mpsc;
use windlass_core::Backoff;
use windlass_tasks::StoreError;

use crate::connection::DbConnection;
use crate::events;
use crate::notify::EventSignal;
use crate::pools::{self, Pools};
use crate::write_job::{JobStage, RunOutcome, WriteJob};

/// Maximum number of jobs in one transaction.
const MAX_BATCH: usize = 256;
/// Maximum number of jobs that wait in a queue.
const QUEUE_CAPACITY: usize = 1_024;
/// How long a transaction may take before its connection is discarded.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(20);
/// The delays before a transient error is retried.
const RETRY_BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(250));

/// The sender side of a write queue.
pub(crate) type WriteQueue = mpsc::Sender<Box<dyn WriteJob>>;

/// Spawns a writer and returns its queue. The writer ends when all senders are dropped.
pub(crate) fn spawn_writer(pools: Pools, signal: EventSignal) -> WriteQueue {
    let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
    tokio::spawn(run_writer(pools, signal, receiver));
    sender
}

async fn run_writer(
    pools: Pools,
    signal: EventSignal,
    mut queue: mpsc::Receiver<Box<dyn WriteJob>>,
) {
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
        batch = run_batch(&pools, &signal, batch).await;
    }
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

/// Reason why a transaction was not committed.
enum BatchError {
    /// A job failed after it wrote changes.
    JobFailed,
    /// The transaction itself failed. The flag is `true` if a retry may help.
    Transaction(StoreError, bool),
}

/// Runs all jobs in one transaction or, if one job fails, each job in its own transaction. Returns the undo
/// jobs.
async fn run_batch(
    pools: &Pools,
    signal: &EventSignal,
    mut batch: Vec<Box<dyn WriteJob>>,
) -> Vec<Box<dyn WriteJob>> {
    batch.retain(|job| job.has_waiter());
    if batch.len() > 1 {
        match transaction(pools, signal, &mut batch).await {
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
        undo.extend(run_single(pools, signal, job).await);
    }
    undo
}

/// Runs one job in its own transaction. Retries transient errors while the caller still waits.
async fn run_single(
    pools: &Pools,
    signal: &EventSignal,
    job: Box<dyn WriteJob>,
) -> Vec<Box<dyn WriteJob>> {
    let mut batch = vec![job];
    let mut retries = 0;
    loop {
        if !batch.iter().all(|job| job.has_waiter()) {
            return Vec::new();
        }
        match transaction(pools, signal, &mut batch).await {
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

fn deliver(batch: Vec<Box<dyn WriteJob>>) -> Vec<Box<dyn WriteJob>> {
    batch.into_iter().filter_map(WriteJob::deliver).collect()
}

fn fail(batch: Vec<Box<dyn WriteJob>>, error: &StoreError) {
    for job in batch {
        job.fail(error.clone());
    }
}

/// Runs one transaction on one connection. The connection is closed if it ends in an unknown state.
async fn transaction(
    pools: &Pools,
    signal: &EventSignal,
    batch: &mut [Box<dyn WriteJob>],
) -> Result<(), BatchError> {
    let durable = batch.iter().any(|job| job.is_durable());
    let mut db = pools
        .writer()
        .await
        .map_err(|failed| BatchError::Transaction(failed.error, failed.retryable))?;
    let done = tokio::time::timeout(
        TRANSACTION_TIMEOUT,
        run_transaction(pools, &mut db, batch, durable),
    )
    .await;
    match done {
        Ok(Ok(last)) => {
            if let Some(last) = last {
                signal.publish(last);
            }
            Ok(())
        }
        Ok(Err(error)) => {
            if db.execute_batch(pools::ROLLBACK).await.is_err() {
                db.close().await;
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

async fn run_transaction(
    pools: &Pools,
    db: &mut DbConnection,
    batch: &mut [Box<dyn WriteJob>],
    durable: bool,
) -> Result<Option<u64>, BatchError> {
    pools
        .begin(db, durable)
        .await
        .map_err(|error| transaction_error(db, error))?;
    for job in batch.iter_mut() {
        job.set_stage(JobStage::Running);
        if job.run(db).await == RunOutcome::Poisoned {
            if db.is_retryable() {
                let error = StoreError::Unavailable("the connection was lost".to_owned());
                return Err(BatchError::Transaction(error, true));
            }
            return Err(BatchError::JobFailed);
        }
    }
    let last = match events::assign_seqs(db).await {
        Ok(last) => last,
        Err(error) => return Err(transaction_error(db, error)),
    };
    for job in batch.iter() {
        job.set_stage(JobStage::Committing);
    }
    match db.execute_batch(pools::COMMIT).await {
        Ok(_) => Ok(last),
        // It is unknown whether the commit took effect: a retry could apply it twice.
        Err(error) => Err(BatchError::Transaction(error, false)),
    }
}

fn transaction_error(db: &DbConnection, error: StoreError) -> BatchError {
    BatchError::Transaction(error, db.is_retryable())
}
