//! Pushes.

use std::fmt;

use super::error::StoreFuture;
use crate::id::TaskId;
use crate::push::{NewPush, Push, PushClaim, PushEnd, PushRef};

/// Stores what was pushed where. A push is claimed, then recorded as sent, then ended; the writes of a claim that
/// another one replaced are refused.
pub trait Pushes: fmt::Debug + Send + Sync {
    /// Requests a push, which is then due. What earlier pushes to the same ref sent is still known.
    fn request_push(&self, push: NewPush) -> StoreFuture<'_, Push>;
    /// Returns the pushes of a task, oldest first.
    fn pushes(&self, task: TaskId) -> StoreFuture<'_, Vec<Push>>;
    /// Claims a push that is due.
    fn claim_push(&self, claim: PushClaim) -> StoreFuture<'_, Option<Push>>;
    /// Records a commit before it is sent, so that it is known as ours whatever happens next.
    fn record_sent(&self, push: PushRef, commit: String) -> StoreFuture<'_, ()>;
    /// Stores the result of a push.
    fn end_push(&self, push: PushRef, end: PushEnd) -> StoreFuture<'_, Push>;
}
