//! Pushes.

use windlass_tasks::{NewPush, Push, PushClaim, PushEnd, PushRef, Pushes, StoreFuture, TaskId};

use super::write::{durable, fencing, operation};
use crate::ops::pushes;
use crate::store::SqlStore;
use crate::write_job::stages;

impl Pushes for SqlStore {
    fn request_push(&self, push: NewPush) -> StoreFuture<'_, Push> {
        let options = durable(stages!("requesting a push"));
        self.write(options, operation!(|db, push| pushes::request(db, &push)))
    }

    fn pushes(&self, task: TaskId) -> StoreFuture<'_, Vec<Push>> {
        self.read("listing pushes", move |db| Box::pin(pushes::list(db, task)))
    }

    fn claim_push(&self, claim: PushClaim) -> StoreFuture<'_, Option<Push>> {
        let options = fencing(stages!("claiming a push"));
        if claim.id.is_some() {
            return self.write(options, operation!(|db, claim| pushes::claim(db, &claim)));
        }
        // Every worker asks every few seconds, and nearly always there is nothing to write.
        let is_open = self.read("looking for pushes", |db| Box::pin(pushes::any_open(db)));
        Box::pin(async move {
            if !is_open.await? {
                return Ok(None);
            }
            let write = self.write(options, operation!(|db, claim| pushes::claim(db, &claim)));
            write.await
        })
    }

    fn record_sent(&self, push: PushRef, commit: String) -> StoreFuture<'_, ()> {
        let options = durable(stages!("recording a push"));
        self.write(
            options,
            operation!(|db, commit| pushes::record_sent(db, push, &commit)),
        )
    }

    fn end_push(&self, push: PushRef, end: PushEnd) -> StoreFuture<'_, Push> {
        let options = durable(stages!("ending a push"));
        self.write(options, operation!(|db, end| pushes::end(db, push, &end)))
    }
}
