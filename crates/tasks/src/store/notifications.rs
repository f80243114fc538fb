//! Notifications.

use std::fmt;

use super::error::StoreFuture;
use crate::id::{NotificationId, ProjectId};
use crate::notification::{FollowStep, Notification, NotificationClaim, NotificationEnd};

/// Stores notifications until they are sent. They are derived from the event log by followers; each follower has a
/// stored position, which moves together with what it derived.
pub trait Notifications: fmt::Debug + Send + Sync {
    /// Returns the position of a follower. A new follower starts after the last event.
    fn follow(&self, follower: String) -> StoreFuture<'_, u64>;
    /// Moves a follower and stores what it derived. Returns `false`, and stores nothing, if the follower is not at
    /// the start of the step: another process was faster.
    fn record_followed(&self, step: FollowStep) -> StoreFuture<'_, bool>;
    /// Claims a notification that is due.
    fn claim_notification(&self, claim: NotificationClaim)
    -> StoreFuture<'_, Option<Notification>>;
    /// Stores the result of a claimed notification. Returns `false` if it was claimed again since.
    fn end_notification(
        &self,
        id: NotificationId,
        claim: u32,
        end: NotificationEnd,
    ) -> StoreFuture<'_, bool>;
    /// Returns the newest notifications, newest first.
    fn notifications(
        &self,
        project: Option<ProjectId>,
        limit: u32,
    ) -> StoreFuture<'_, Vec<Notification>>;
}
