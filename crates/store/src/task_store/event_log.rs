//! Messages for subscribers.

use std::time::Duration;

use windlass_tasks::{AttemptRef, Broadcast, EventFilter, EventLog, LoggedEvent, StoreFuture};

use super::write::{operation, ready_error, relaxed};
use crate::events;
use crate::store::SqlStore;
use crate::write_job::stages;

impl EventLog for SqlStore {
    fn append_events(
        &self,
        attempt: Option<AttemptRef>,
        messages: Vec<Broadcast>,
    ) -> StoreFuture<'_, u64> {
        if let Err(error) = events::check(&messages) {
            return ready_error(error);
        }
        let options = relaxed(stages!("appending events"));
        self.write(
            options,
            operation!(|db, messages| events::append(db, attempt, &messages)),
        )
    }

    fn events(&self, filter: EventFilter) -> StoreFuture<'_, Vec<LoggedEvent>> {
        self.read("reading events", move |db| {
            Box::pin(async move { events::read(db, &filter).await })
        })
    }

    fn wait_for_events(&self, after: u64, timeout: Duration) -> StoreFuture<'_, u64> {
        self.wait(after, timeout)
    }
    fn wait_for_work(&self, after: u64, timeout: Duration) -> StoreFuture<'_, u64> {
        self.wait_for_claimable(after, timeout)
    }
}
