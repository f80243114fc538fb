//! Writes of the same kind that share their statements.
//!
//! An operation needs several statements, and each takes longer to reach the database than to run: PostgreSQL is behind a
//! socket, and SQLite runs in a thread of its own. So the most frequent writes also have a merged form: adding a task, claiming
//! a task, renewing a lease and completing an attempt, and on SQLite the calls and the traces of model requests. Waiting writes
//! of the same kind share it. It writes what the operation writes, and does nothing for a write that needs more, for example if
//! other tasks depend on the completed one: this then runs as an operation.
//!
//! On PostgreSQL the merged form is one statement, which is its own transaction. On SQLite it is one to three statements in
//! the transaction of all waiting writes, or a call with several statements ([`row_statements`](crate::row_statements)).
//!
//! `merged_statements` chooses the statement. Each is next to its operation in `ops`, and the conformance suite holds both to
//! the same behaviour.

use std::sync::Arc;

use windlass_tasks::StoreResult;

use crate::connection::DbConnection;
use crate::merge::MergeInput;
use crate::merged_statements::{write, write_alone};
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

/// Runs the jobs whose statements are transactions of their own: on PostgreSQL all that can be merged, on SQLite a task that is
/// added alone. There, the others share one transaction.
pub(crate) async fn run(writer: &mut Writer, batch: Vec<Box<dyn WriteJob>>) -> MergedBatch {
    let mut done = MergedBatch::default();
    let groups = match &writer.pools.kind {
        DatabasePools::Postgres(_) => {
            let mut groups = groups(&batch);
            groups.retain(|group| group.iter().all(|at| merges_on_postgres(&*batch[*at])));
            join_claims(groups, &batch)
        }
        // SQLite sets whether it waits for the disk in a call of its own, with the start of a transaction.
        DatabasePools::Sqlite(..) if is_one_task(&batch) && writer.waits_for_disk() => {
            vec![vec![0]]
        }
        DatabasePools::Sqlite(..) => Vec::new(),
    };
    let mut batch: Vec<Option<Box<dyn WriteJob>>> = batch.into_iter().map(Some).collect();
    for group in groups {
        let group = group.into_iter().filter_map(|at| batch[at].take());
        run_group(writer, group.collect(), &mut done).await;
    }
    done.left.extend(batch.into_iter().flatten());
    done
}

fn merges_on_postgres(job: &dyn WriteJob) -> bool {
    job.merge_input()
        .is_some_and(|input| input.merges_on_postgres())
}

fn is_one_task(batch: &[Box<dyn WriteJob>]) -> bool {
    let is_task = |input: &Arc<MergeInput>| matches!(**input, MergeInput::Add(_));
    match batch {
        [job] => job.merge_input().is_some_and(is_task),
        _ => false,
    }
}

/// Joins the ends of attempts and the first group of claims, in this order: a worker that ends an attempt claims the next task
/// at the same time.
fn join_claims(mut groups: Vec<Vec<usize>>, batch: &[Box<dyn WriteJob>]) -> Vec<Vec<usize>> {
    let find = |groups: &[Vec<usize>], is_kind: fn(&MergeInput) -> bool| {
        let is_kind = |at: &usize| batch[*at].merge_input().is_some_and(|input| is_kind(input));
        groups
            .iter()
            .position(|group| group.first().is_some_and(is_kind))
    };
    let ends = find(&groups, |input| matches!(input, MergeInput::Complete(_)));
    let claims = find(&groups, |input| matches!(input, MergeInput::Claim(..)));
    if let (Some(ends), Some(claims)) = (ends, claims) {
        let claims = std::mem::take(&mut groups[claims]);
        groups[ends].extend(claims);
        groups.retain(|group| !group.is_empty());
    }
    groups
}

/// Runs the jobs that can be merged in a transaction of SQLite. They have a result then.
pub(crate) async fn run_inside(
    db: &mut DbConnection,
    batch: &mut [Box<dyn WriteJob>],
) -> StoreResult<()> {
    for group in groups(batch) {
        let inputs = group.iter().filter_map(|at| batch[*at].merge_input());
        let inputs: Vec<Arc<MergeInput>> = inputs.cloned().collect();
        for at in &group {
            batch[*at].set_stage(JobStage::Running);
        }
        let results = write(db, db.now(), &inputs).await?;
        for (at, output) in group.into_iter().zip(results.outputs) {
            if let Some(output) = output {
                batch[at].set_merged(output);
            }
        }
    }
    Ok(())
}

/// Returns which jobs can be merged with each other, by their place in the batch.
fn groups(batch: &[Box<dyn WriteJob>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(&MergeInput, Vec<usize>)> = Vec::new();
    for (at, job) in batch.iter().enumerate() {
        let Some(input) = job.merge_input() else {
            continue;
        };
        match groups
            .iter_mut()
            .find(|(first, _)| first.merges_with(input))
        {
            Some((_, group)) => group.push(at),
            None => groups.push((input, vec![at])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Runs the statement of jobs of the same kind.
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
    let skew = pools.clock_skew.get();
    let written = if db.is_sqlite() {
        write_alone(db, skew, &inputs).await
    } else {
        write(db, skew, &inputs).await
    };
    match written {
        Ok(results) => {
            for (job, output) in group.iter_mut().zip(results.outputs) {
                if let Some(output) = output {
                    job.set_merged(output);
                }
            }
            Ok(results.last_seq)
        }
        Err(_) if !db.is_sqlite() && db.is_rejected() => Err(BatchError::JobFailed),
        // It is unknown whether the statement took effect: a retry could apply it twice.
        Err(error) => Err(BatchError::Transaction(error, false)),
    }
}
