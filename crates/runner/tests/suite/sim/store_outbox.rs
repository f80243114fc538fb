//! Pushes and notifications of the in-memory store.

use std::collections::BTreeMap;

use windlass_tasks::{
    FollowStep, NewPush, Notification, NotificationClaim, NotificationEnd, NotificationId,
    NotificationState, Notifications, ProjectId, Push, PushClaim, PushEnd, PushRef, PushState,
    Pushes, StoreError, StoreFuture, StoreResult, TaskId,
};

use super::memory::{Now, next_id};
use super::store::SimStore;

/// Pushes, notifications and the positions of followers.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pushes: Vec<Push>,
    notifications: Vec<Notification>,
    followers: BTreeMap<String, u64>,
}

impl Outbox {
    fn request(&mut self, new: NewPush, now: Now) -> Push {
        let same = |push: &&mut Push| push.task_id == new.task_id && push.remote == new.remote;
        if let Some(push) = self.pushes.iter_mut().find(same) {
            push.state = PushState::Queued;
            push.claim += 1;
            return push.clone();
        }
        let push = Push {
            id: next_id(self.pushes.len()),
            task_id: new.task_id,
            remote: new.remote,
            reference: new.reference,
            commit: None,
            sent: Vec::new(),
            request: None,
            state: PushState::Queued,
            error: None,
            tries: 0,
            due_at: Some(now.wall),
            at: now.wall,
            claim: 0,
        };
        self.pushes.push(push.clone());
        push
    }

    fn fenced(&mut self, at: PushRef) -> StoreResult<&mut Push> {
        let found = self.pushes.iter_mut().find(|push| push.at() == at);
        found.ok_or_else(|| StoreError::Refused("another process started it again".to_owned()))
    }
}

impl Pushes for SimStore {
    fn request_push(&self, push: NewPush) -> StoreFuture<'_, Push> {
        self.call(move |memory, now| Ok(memory.outbox.request(push, now)))
    }

    fn pushes(&self, task: TaskId) -> StoreFuture<'_, Vec<Push>> {
        self.call(move |memory, _| {
            let pushes = memory.outbox.pushes.iter();
            Ok(pushes
                .filter(|push| push.task_id == task)
                .cloned()
                .collect())
        })
    }

    fn claim_push(&self, claim: PushClaim) -> StoreFuture<'_, Option<Push>> {
        self.call(move |memory, _| {
            let is_wanted = |push: &&mut Push| match claim.id {
                Some(id) => push.id == id,
                None => push.state == PushState::Queued,
            };
            let push = memory.outbox.pushes.iter_mut().find(is_wanted);
            Ok(push.map(|push| {
                push.state = PushState::Pushing;
                push.claim += 1;
                push.clone()
            }))
        })
    }

    fn record_sent(&self, push: PushRef, commit: String) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            memory.outbox.fenced(push)?.sent.push(commit);
            Ok(())
        })
    }

    fn end_push(&self, push: PushRef, end: PushEnd) -> StoreFuture<'_, Push> {
        self.call(move |memory, _| {
            let push = memory.outbox.fenced(push)?;
            push.state = match end {
                PushEnd::Pushed { commit, .. } => {
                    push.commit = Some(commit);
                    push.sent.clear();
                    PushState::Pushed
                }
                PushEnd::Failed {
                    retry_in: Some(_), ..
                } => PushState::Queued,
                PushEnd::Failed { .. } => PushState::Failed,
            };
            Ok(push.clone())
        })
    }
}

impl Notifications for SimStore {
    fn follow(&self, follower: String) -> StoreFuture<'_, u64> {
        self.call(move |memory, _| {
            let last = memory.events.len() as u64;
            Ok(*memory.outbox.followers.entry(follower).or_insert(last))
        })
    }

    fn record_followed(&self, step: FollowStep) -> StoreFuture<'_, bool> {
        self.call(move |memory, now| {
            if memory.outbox.followers.get(&step.follower) != Some(&step.from) {
                return Ok(false);
            }
            memory.outbox.followers.insert(step.follower, step.to);
            for new in step.notifications {
                let id = next_id(memory.outbox.notifications.len());
                memory.outbox.notifications.push(Notification {
                    id,
                    project_id: new.project_id,
                    task_id: new.task_id,
                    cause: new.cause,
                    channel: new.channel,
                    body: new.body,
                    state: NotificationState::Pending,
                    error: None,
                    tries: 0,
                    created_at: now.wall,
                    claim: 0,
                });
            }
            for new in step.pushes {
                memory.outbox.request(new, now);
            }
            Ok(true)
        })
    }

    fn claim_notification(
        &self,
        claim: NotificationClaim,
    ) -> StoreFuture<'_, Option<Notification>> {
        self.call(move |memory, _| {
            let is_due = |one: &&mut Notification| {
                one.state == NotificationState::Pending && claim.channels.contains(&one.channel)
            };
            let found = memory.outbox.notifications.iter_mut().find(is_due);
            Ok(found.map(|one| {
                one.claim += 1;
                one.clone()
            }))
        })
    }

    fn end_notification(
        &self,
        id: NotificationId,
        claim: u32,
        end: NotificationEnd,
    ) -> StoreFuture<'_, bool> {
        self.call(move |memory, _| {
            let mut all = memory.outbox.notifications.iter_mut();
            let Some(found) = all.find(|one| one.id == id && one.claim == claim) else {
                return Ok(false);
            };
            found.state = match end {
                NotificationEnd::Sent => NotificationState::Sent,
                NotificationEnd::Retry { .. } => NotificationState::Pending,
                NotificationEnd::Dropped { .. } => NotificationState::Dropped,
            };
            Ok(true)
        })
    }

    fn notifications(&self, _: Option<ProjectId>, _: u32) -> StoreFuture<'_, Vec<Notification>> {
        self.call(|memory, _| Ok(memory.outbox.notifications.clone()))
    }
}
