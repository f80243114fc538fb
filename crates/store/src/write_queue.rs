//! Group commit: one task takes what waits, does it in one transaction, and answers when that is committed.
//!
//! A commit costs a wait for the disk, whatever stands in it. While one is under way the next pieces of work gather,
//! so many clients share one wait. SQLite has one lane, because it has one writer. PostgreSQL has a few; work on the
//! same task always takes the same lane, so that lanes do not wait for each other in a circle.

use std::time::Duration;

use tokio::sync::mpsc;
use windlass_core::task::StoreError;

use crate::connection::DbConnection;
use crate::notify::EventSignal;
use crate::pools::{self, Pools};
use crate::write_job::{JobStage, RunOutcome, WriteJob};

/// The pieces of work that one transaction takes.
const MAX_BATCH: usize = 256;
/// The pieces of work that may wait for a lane.
const QUEUE_CAPACITY: usize = 1_024;
/// How long a transaction may take before its connection is given up.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(20);
/// How long to wait before trying again what may pass by itself: at first, and at most.
const RETRY_BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// Where work goes in.
pub(crate) type WriteQueue = mpsc::Sender<Box<dyn WriteJob>>;

/// Opens a lane. It ends when nobody can send to it any more.
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
    let mut usual = 1;
    // What must be undone goes first.
    let mut batch: Vec<Box<dyn WriteJob>> = Vec::new();
    loop {
        if batch.is_empty() {
            match queue.recv().await {
                Some(work) => batch.push(work),
                None => return,
            }
        }
        fill_batch(&mut queue, &mut batch, usual).await;
        usual = batch.len();
        batch = run_batch(&pools, &signal, batch).await;
    }
}

/// Takes what waits. Those who were just answered come again at once: they are given a moment to.
async fn fill_batch(
    queue: &mut mpsc::Receiver<Box<dyn WriteJob>>,
    batch: &mut Vec<Box<dyn WriteJob>>,
    usual: usize,
) {
    for _ in 0..8 {
        while batch.len() < MAX_BATCH {
            match queue.try_recv() {
                Ok(work) => batch.push(work),
                Err(_) => break,
            }
        }
        if batch.len() >= usual.min(MAX_BATCH) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Why a transaction did not come to its end.
enum BatchError {
    /// A piece of work spoiled it.
    JobFailed,
    /// The transaction itself failed; whether doing it again may help.
    Transaction(StoreError, bool),
}

/// Does all of it in one transaction, or, where one spoils it, each by itself. Gives what must be undone.
async fn run_batch(
    pools: &Pools,
    signal: &EventSignal,
    mut batch: Vec<Box<dyn WriteJob>>,
) -> Vec<Box<dyn WriteJob>> {
    batch.retain(|work| work.has_waiter());
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
    for work in batch {
        undo.extend(run_single(pools, signal, work).await);
    }
    undo
}

/// Does one piece of work in a transaction of its own, again where that may help and somebody still waits.
async fn run_single(
    pools: &Pools,
    signal: &EventSignal,
    work: Box<dyn WriteJob>,
) -> Vec<Box<dyn WriteJob>> {
    let mut batch = vec![work];
    let (mut pause, longest) = RETRY_BACKOFF;
    loop {
        if !batch.iter().all(|work| work.has_waiter()) {
            return Vec::new();
        }
        match transaction(pools, signal, &mut batch).await {
            // What it said when it spoiled its own transaction is its answer.
            Ok(()) | Err(BatchError::JobFailed) => return deliver(batch),
            Err(BatchError::Transaction(error, false)) => {
                fail(batch, &error);
                return Vec::new();
            }
            Err(BatchError::Transaction(error, true)) => {
                tracing::debug!(%error, "trying again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(longest);
            }
        }
    }
}

fn deliver(batch: Vec<Box<dyn WriteJob>>) -> Vec<Box<dyn WriteJob>> {
    batch.into_iter().filter_map(WriteJob::deliver).collect()
}

fn fail(batch: Vec<Box<dyn WriteJob>>, error: &StoreError) {
    for work in batch {
        work.fail(error.clone());
    }
}

/// One transaction on one connection, which is given up if it ends in an unknown state.
async fn transaction(
    pools: &Pools,
    signal: &EventSignal,
    batch: &mut [Box<dyn WriteJob>],
) -> Result<(), BatchError> {
    let durable = batch.iter().any(|work| work.is_durable());
    let mut session = pools
        .writer()
        .await
        .map_err(|broken| BatchError::Transaction(broken.error, broken.again))?;
    let done = tokio::time::timeout(
        TRANSACTION_TIMEOUT,
        run_transaction(pools, &mut session, batch, durable),
    )
    .await;
    match done {
        Ok(Ok(last)) => {
            if let Some(last) = last {
                signal.publish(last);
            }
            Ok(())
        }
        Ok(Err(undone)) => {
            if session.execute_batch(pools::ROLLBACK).await.is_err() {
                session.close().await;
            }
            Err(undone)
        }
        Err(_) => {
            session.close().await;
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
    session: &mut DbConnection,
    batch: &mut [Box<dyn WriteJob>],
    durable: bool,
) -> Result<Option<u64>, BatchError> {
    pools
        .begin(session, durable)
        .await
        .map_err(|error| transaction_error(session, error))?;
    for work in batch.iter_mut() {
        work.set_stage(JobStage::Running);
        if work.run(session).await == RunOutcome::Poisoned {
            if session.is_retryable() {
                let error = StoreError::Unavailable("the connection broke".to_owned());
                return Err(BatchError::Transaction(error, true));
            }
            return Err(BatchError::JobFailed);
        }
    }
    let last = match session.assign_seqs().await {
        Ok(last) => last,
        Err(error) => return Err(transaction_error(session, error)),
    };
    for work in batch.iter() {
        work.set_stage(JobStage::Committing);
    }
    match session.execute_batch(pools::COMMIT).await {
        Ok(_) => Ok(last),
        // Whether it was kept is not known: doing it again might do it twice.
        Err(error) => Err(BatchError::Transaction(error, false)),
    }
}

fn transaction_error(session: &DbConnection, error: StoreError) -> BatchError {
    BatchError::Transaction(error, session.is_retryable())
}
