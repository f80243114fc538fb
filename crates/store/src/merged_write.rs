//! Writes that PostgreSQL does in one statement, which is its own transaction.
//!
//! An operation needs several round trips to the server, and each takes longer than the work that it asks for. So
//! the most frequent writes also have a form that is one statement: adding a task, claiming a task, renewing a lease
//! and completing an attempt. Waiting writes of the same kind share the statement. It writes what the operation writes, and
//! does nothing for a write that needs more, for example if other tasks depend on the completed one: this then runs as an
//! operation. SQLite has no round trips and runs operations only.
//!
//! Each statement is next to its operation in `ops`, and the conformance suite holds both to the same behaviour.

use std::sync::Arc;

use windlass_tasks::StoreResult;

use crate::connection::DbConnection;
use crate::merge::{MergeInput, MergedResults};
use crate::ops::{add_merged, claim, complete, renew_merged};
use crate::pools::{DatabasePools, Pools};
use crate::write_job::{JobStage, WriteJob};
use crate::writer::{self, BatchError, TRANSACTION_TIMEOUT, Writer};

/// The jobs after the merged ones were answered.
#[derive(Debug, Default)]
pub(crate) struct MergedBatch {
    /// Jobs that must run as operations.
    pub(crate) left: Vec<Box<dyn WriteJob>>,
    /// Jobs that undo the writes of callers that stopped waiting.
    pub(crate) undo: Vec<Box<dyn WriteJob>>,
}

/// Runs the jobs that can be merged, on a database where that is faster.
pub(crate) async fn run(writer: &mut Writer, batch: Vec<Box<dyn WriteJob>>) -> MergedBatch {
    let mut done = MergedBatch::default();
    if matches!(writer.pools.kind, DatabasePools::Sqlite(..)) {
        done.left = batch;
        return done;
    }
    let mut groups: Vec<Vec<Box<dyn WriteJob>>> = Vec::new();
    for job in batch {
        let Some(input) = job.merge_input() else {
            done.left.push(job);
            continue;
        };
        let merges = |group: &&mut Vec<Box<dyn WriteJob>>| {
            let first = group.first().and_then(|first| first.merge_input());
            first.is_some_and(|first| first.merges_with(input))
        };
        match groups.iter_mut().find(merges) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    for group in groups {
        run_group(writer, group, &mut done).await;
    }
    done
}

/// Runs one statement for jobs of the same kind.
async fn run_group(writer: &mut Writer, mut group: Vec<Box<dyn WriteJob>>, done: &mut MergedBatch) {
    // An operation tries again, with its own errors.
    let Ok(mut db) = writer.connect().await else {
        done.left.extend(group);
        return;
    };
    let run = run_statement(&writer.pools, &mut db, &mut group);
    let ended = tokio::time::timeout(TRANSACTION_TIMEOUT, run).await;
    match writer.end(db, ended).await {
        Ok(()) => {
            let (merged, left) = group.into_iter().partition(|job| job.has_result());
            done.undo.extend(writer::deliver(merged));
            done.left.extend(left);
        }
        Err(BatchError::JobFailed) => done.left.extend(group),
        Err(BatchError::Transaction(error, _)) => writer::fail(group, &error),
    }
}

async fn run_statement(
    pools: &Pools,
    db: &mut DbConnection,
    group: &mut [Box<dyn WriteJob>],
) -> Result<Option<u64>, BatchError> {
    for job in group.iter() {
        job.set_stage(JobStage::Running);
    }
    let inputs = group.iter().filter_map(|job| job.merge_input().cloned());
    let inputs: Vec<Arc<MergeInput>> = inputs.collect();
    pools.set_lease_clock(db);
    match write(db, pools.clock_skew.get(), &inputs).await {
        Ok(results) => {
            for (job, output) in group.iter_mut().zip(results.outputs) {
                if let Some(output) = output {
                    job.set_merged(output);
                }
            }
            Ok(results.last_seq)
        }
        Err(_) if db.is_rejected() => Err(BatchError::JobFailed),
        // It is unknown whether the statement took effect: a retry could apply it twice.
        Err(error) => Err(BatchError::Transaction(error, false)),
    }
}

async fn write(
    db: &mut DbConnection,
    skew: i64,
    inputs: &[Arc<MergeInput>],
) -> StoreResult<MergedResults> {
    let (mut tasks, mut claims) = (Vec::new(), Vec::new());
    let (mut renewals, mut completed) = (Vec::new(), Vec::new());
    for input in inputs {
        match &**input {
            MergeInput::Add(one) => tasks.extend(one.iter()),
            MergeInput::Claim(claim, machine) => claims.push((claim, machine.as_str())),
            MergeInput::Complete(attempt) => completed.push(attempt),
            MergeInput::Renew(attempt, lease) => renewals.push((*attempt, *lease)),
        }
    }
    db.set_quiet(!claims.is_empty());
    if let Some(first) = claims.first() {
        claim::claim_merged(db, skew, *first, claims.len()).await
    } else if !completed.is_empty() {
        complete::complete_merged(db, skew, &completed).await
    } else if !renewals.is_empty() {
        renew_merged::renew_merged(db, skew, &renewals).await
    } else {
        add_merged::add_merged(db, skew, &tasks).await
    }
}
