//! Claims, leases and the end of attempts.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::Usage;
use windlass_tasks::{
    AttemptRef, Claim, Claimed, EarlierChange, LeaseStatus, Leases, Outcome, Release, StoreFuture,
    Task, TaskId, Workers as _,
};

use super::write::{durable, fencing, operation, relaxed};
use crate::merge::{CompletedAttempt, MergeInput, MergeOutput, Mergeable};
use crate::ops::{attempts, claim, finish, reclaim};
use crate::store::{SqlStore, WriteExtras};
use crate::write_job::{JobProgress, TypedWriteJob, WriteJob, stages};

/// How many workers reclaim in each interval.
const MAX_RECLAIMING: u32 = 20;

/// Releases a task that was claimed for a caller that stopped waiting.
fn undo_claim(claimed: Option<Claimed>) -> Option<Box<dyn WriteJob>> {
    let attempt = claimed?.attempt;
    let release = Arc::new(Release {
        reason: "the worker stopped waiting for the claim".to_owned(),
        usage: Usage::default(),
    });
    Some(Box::new(TypedWriteJob {
        operation: Box::new(move |db| {
            let release = Arc::clone(&release);
            Box::pin(async move { finish::release(db, attempt, &release).await })
        }),
        durable: false,
        progress: JobProgress::new(stages!("releasing a task")),
        result: None,
        reply: None,
        undo: None,
        merge: None,
    }))
}

impl Leases for SqlStore {
    fn claim(&self, claim: Claim) -> StoreFuture<'_, Option<Claimed>> {
        let options = fencing(stages!("claiming a task"));
        let machine = &self.machine().name;
        let extras = WriteExtras {
            undo: Some(undo_claim),
            merge: claim.task.is_none().then(|| Mergeable {
                input: Arc::new(MergeInput::Claim(claim.clone(), machine.clone())),
                output: |output| match output {
                    MergeOutput::Claimed(claimed) => Some(claimed),
                    _ => None,
                },
            }),
        };
        let args = (claim, machine.clone());
        self.write_with(
            options,
            operation!(|db, args| claim::claim(db, &args.0, &args.1)),
            extras,
        )
    }

    fn heartbeat(&self, attempt: AttemptRef, lease: Duration) -> StoreFuture<'_, LeaseStatus> {
        let options = relaxed(stages!("renewing a lease"));
        let extras = WriteExtras {
            undo: None,
            merge: Some(Mergeable {
                input: Arc::new(MergeInput::Renew(attempt, lease)),
                output: |output| match output {
                    MergeOutput::Renewed(status) => Some(status),
                    _ => None,
                },
            }),
        };
        self.write_with(
            options,
            move |db| Box::pin(attempts::heartbeat(db, attempt, lease)),
            extras,
        )
    }

    fn release(&self, attempt: AttemptRef, release: Release) -> StoreFuture<'_, ()> {
        let options = durable(stages!("releasing a task"));
        self.write(
            options,
            operation!(|db, release| finish::release(db, attempt, &release)),
        )
    }

    fn reclaim_expired(&self) -> StoreFuture<'_, Vec<Task>> {
        // Among many workers, each takes its turn: every lease is read as often as among a few.
        let turns = self.known_workers().div_ceil(MAX_RECLAIMING);
        let call = self.reclaims.fetch_add(1, Ordering::Relaxed);
        if !call.is_multiple_of(turns) {
            return Box::pin(async { Ok(Vec::new()) });
        }
        let options = relaxed(stages!("reclaiming expired tasks"));
        let watch = Arc::clone(&self.lease_watch);
        self.write(
            options,
            operation!(|db, watch| reclaim::reclaim_expired(db, &watch)),
        )
    }

    fn record_intent(&self, attempt: AttemptRef, commit: String) -> StoreFuture<'_, ()> {
        let options = durable(stages!("recording a publish intent"));
        self.write(
            options,
            operation!(|db, commit| attempts::record_intent(db, attempt, &commit)),
        )
    }

    fn pending_intent(&self, task: TaskId) -> StoreFuture<'_, Option<String>> {
        self.read("reading a publish intent", move |db| {
            Box::pin(attempts::pending_intent(db, task))
        })
    }

    fn record_change(&self, attempt: AttemptRef, commit: String) -> StoreFuture<'_, ()> {
        let options = durable(stages!("recording a change"));
        self.write(
            options,
            operation!(|db, commit| attempts::record_change(db, attempt, &commit)),
        )
    }

    fn earlier_change(&self, task: TaskId) -> StoreFuture<'_, Option<EarlierChange>> {
        self.read("reading the last change", move |db| {
            Box::pin(attempts::earlier_change(db, task))
        })
    }

    fn finish(&self, attempt: AttemptRef, outcome: Outcome, usage: Usage) -> StoreFuture<'_, Task> {
        let options = durable(stages!("finishing an attempt"));
        let end = Arc::new((outcome, usage));
        let completed = CompletedAttempt::new(attempt, &end);
        let extras = WriteExtras {
            undo: None,
            merge: completed.map(|completed| Mergeable {
                input: Arc::new(MergeInput::Complete(completed)),
                output: |output| match output {
                    MergeOutput::Completed(task) => Some(task),
                    _ => None,
                },
            }),
        };
        self.write_with(
            options,
            operation!(|db, end| finish::finish(db, attempt, &end.0, &end.1)),
            extras,
        )
    }
}
