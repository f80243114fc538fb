//! Messages for subscribers.

use std::fmt;
use std::time::Duration;

use super::error::StoreFuture;
use crate::broadcast::{Broadcast, EventFilter, LoggedEvent};
use crate::id::AttemptRef;

/// Stores messages for subscribers, in one order for all of them.
pub trait EventLog: fmt::Debug + Send + Sync {
    /// Appends messages for subscribers and returns the number of the last one. With an attempt the write is
    /// fenced, and messages of its previous call are not stored twice: the caller may repeat a call if
    /// its response was lost.
    fn append_events(
        &self,
        attempt: Option<AttemptRef>,
        messages: Vec<Broadcast>,
    ) -> StoreFuture<'_, u64>;
    /// Returns messages ordered by number.
    fn events(&self, filter: EventFilter) -> StoreFuture<'_, Vec<LoggedEvent>>;
    /// Waits until there are messages after this number, at most for `timeout`, and returns the number of the
    /// last one. Pass it to the next call. An idle worker claims, waits from the last number, and claims
    /// again, so that it misses no task added between the two calls.
    fn wait_for_events(&self, after: u64, timeout: Duration) -> StoreFuture<'_, u64>;
    /// Like [`wait_for_events`](Self::wait_for_events), for those who wait for tasks to claim: it need not end for messages
    /// that make no task claimable, and need not end before the timeout at all where many others wait, too.
    fn wait_for_work(&self, after: u64, timeout: Duration) -> StoreFuture<'_, u64> {
        self.wait_for_events(after, timeout)
    }
}
