//! The landing queues.

use std::sync::Arc;
use std::time::Duration;

use windlass_tasks::{
    ClaimedLandings, Landing, LandingClaim, LandingFilter, LandingId, LandingOutcome, LandingToken,
    Landings, NewLanding, ProjectId, StoreFuture, Task, TaskId,
};

use super::write::{durable, fencing, operation, relaxed};
use crate::ops::{landing_claim, landing_end, landings};
use crate::store::{SqlStore, WriteExtras};
use crate::write_job::{JobProgress, TypedWriteJob, WriteJob, stages};

/// Releases landings that were claimed for a caller that stopped waiting.
fn undo_claim(claimed: Option<ClaimedLandings>) -> Option<Box<dyn WriteJob>> {
    let token = claimed?.token;
    Some(Box::new(TypedWriteJob {
        operation: Box::new(move |db| {
            Box::pin(async move { landings::release(db, token, None).await })
        }),
        durable: false,
        progress: JobProgress::new(stages!("releasing landings")),
        result: None,
        reply: None,
        undo: None,
        merge: None,
    }))
}

impl Landings for SqlStore {
    fn set_land(&self, task: TaskId, land: bool) -> StoreFuture<'_, Task> {
        let options = durable(stages!("changing whether a task lands"));
        self.write(options, move |db| {
            Box::pin(landings::set_land(db, task, land))
        })
    }

    fn due_landings(&self, project: Option<ProjectId>) -> StoreFuture<'_, Vec<Task>> {
        self.read("listing tasks to land", move |db| {
            Box::pin(landings::due(db, project))
        })
    }

    fn enqueue_landing(&self, new: NewLanding) -> StoreFuture<'_, Landing> {
        let options = durable(stages!("adding a landing"));
        self.write(options, operation!(|db, new| landings::enqueue(db, &new)))
    }

    fn claim_landings(&self, claim: LandingClaim) -> StoreFuture<'_, Option<ClaimedLandings>> {
        let options = fencing(stages!("claiming landings"));
        let args = (claim, Arc::clone(&self.landing_watch));
        let extras = WriteExtras {
            undo: Some(undo_claim),
            merge: None,
        };
        // Every worker asks every few seconds, and nearly always there is nothing to write.
        let is_open = self.read("looking for landings", |db| {
            Box::pin(landing_claim::any_open(db))
        });
        Box::pin(async move {
            if !is_open.await? {
                return Ok(None);
            }
            let write = self.write_with(
                options,
                operation!(|db, args| landing_claim::claim(db, &args.0, &args.1)),
                extras,
            );
            write.await
        })
    }

    fn heartbeat_landings(&self, token: LandingToken, lease: Duration) -> StoreFuture<'_, ()> {
        let options = relaxed(stages!("renewing the lease of a landing"));
        self.write(options, move |db| {
            Box::pin(landings::heartbeat(db, token, lease))
        })
    }

    fn record_landing_intent(
        &self,
        token: LandingToken,
        entries: Vec<LandingId>,
        commit: String,
    ) -> StoreFuture<'_, ()> {
        let options = durable(stages!("recording the commit to land"));
        let args = (entries, commit);
        self.write(
            options,
            operation!(|db, args| landings::record_intent(db, token, &args.0, &args.1)),
        )
    }

    fn finish_landing(
        &self,
        token: LandingToken,
        entry: LandingId,
        outcome: LandingOutcome,
    ) -> StoreFuture<'_, Task> {
        let options = durable(stages!("finishing a landing"));
        self.write(
            options,
            operation!(|db, outcome| landing_end::finish(db, token, entry, &outcome)),
        )
    }

    fn release_landings(&self, token: LandingToken, reason: Option<String>) -> StoreFuture<'_, ()> {
        let options = durable(stages!("releasing landings"));
        self.write(
            options,
            operation!(|db, reason| landings::release(db, token, reason.as_deref())),
        )
    }

    fn landings(&self, filter: LandingFilter) -> StoreFuture<'_, Vec<Landing>> {
        self.read("listing landings", move |db| {
            Box::pin(async move { landings::list(db, &filter).await })
        })
    }

    fn record_landed(&self, new: NewLanding, commit: String) -> StoreFuture<'_, Task> {
        let options = durable(stages!("recording a landed change"));
        let args = (new, commit);
        self.write(
            options,
            operation!(|db, args| landing_end::record_landed(db, &args.0, &args.1)),
        )
    }

    fn forget_landed(&self, task: TaskId) -> StoreFuture<'_, Task> {
        let options = durable(stages!("forgetting a landing"));
        self.write(options, move |db| {
            Box::pin(landing_end::forget_landed(db, task))
        })
    }
}
