//! Notifications.

use windlass_tasks::{
    FollowStep, Notification, NotificationClaim, NotificationEnd, NotificationId, Notifications,
    ProjectId, StoreFuture,
};

use super::write::{durable, fencing, operation, ready_error, relaxed};
use crate::ops::notifications;
use crate::store::SqlStore;
use crate::write_job::stages;

impl Notifications for SqlStore {
    fn follow(&self, follower: String) -> StoreFuture<'_, u64> {
        let options = relaxed(stages!("starting to follow events"));
        self.write(
            options,
            operation!(|db, follower| notifications::follow(db, &follower)),
        )
    }

    fn record_followed(&self, step: FollowStep) -> StoreFuture<'_, bool> {
        if let Err(error) = notifications::check(&step) {
            return ready_error(error);
        }
        let options = durable(stages!("storing notifications"));
        self.write(
            options,
            operation!(|db, step| notifications::record(db, &step)),
        )
    }

    fn claim_notification(
        &self,
        claim: NotificationClaim,
    ) -> StoreFuture<'_, Option<Notification>> {
        let options = fencing(stages!("claiming a notification"));
        self.write(
            options,
            operation!(|db, claim| notifications::claim(db, &claim)),
        )
    }

    fn end_notification(
        &self,
        id: NotificationId,
        claim: u32,
        end: NotificationEnd,
    ) -> StoreFuture<'_, bool> {
        let options = durable(stages!("ending a notification"));
        self.write(
            options,
            operation!(|db, end| notifications::end(db, id, claim, &end)),
        )
    }

    fn notifications(
        &self,
        project: Option<ProjectId>,
        limit: u32,
    ) -> StoreFuture<'_, Vec<Notification>> {
        self.read("listing notifications", move |db| {
            Box::pin(notifications::list(db, project, limit))
        })
    }
}
