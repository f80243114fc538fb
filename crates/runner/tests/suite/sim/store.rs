//! The in-memory store behind the traits of a store, with injected faults.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use windlass_core::{Clock, Usage};
use windlass_tasks::{
    AttemptRef, Broadcast, Claim, Claimed, EarlierChange, Enqueued, EventFilter, EventLog, Issue,
    IssueId, LeaseStatus, Leases, LoggedEvent, NewIssue, NewProject, NewTask, Outcome, Project,
    ProjectCheckout, ProjectId, ProjectIdentity, Projects, Release, StoreError, StoreFuture,
    StoreResult, Task, TaskFilter, TaskId, TaskQueue,
};

use super::faults::Faults;
use super::memory::{Memory, Now, next_id};

/// An in-memory store that can be slow, reject calls, or lose replies.
#[derive(Debug)]
pub(crate) struct SimStore {
    memory: Mutex<Memory>,
    changed: Notify,
    /// No call is answered, not even with an error.
    pub(crate) is_unreachable: AtomicBool,
    pub(crate) faults: Arc<Faults>,
    clock: Arc<dyn Clock>,
}

impl SimStore {
    pub(crate) fn new(clock: Arc<dyn Clock>, faults: Arc<Faults>) -> Self {
        Self {
            memory: Mutex::default(),
            changed: Notify::new(),
            is_unreachable: AtomicBool::new(false),
            faults,
            clock,
        }
    }

    /// Locks the stored data, without faults.
    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap()
    }

    pub(crate) fn now(&self) -> Now {
        Now {
            steady: self.clock.elapsed(),
            wall: self.clock.now(),
        }
    }

    /// Never returns if the store is unreachable.
    async fn reached(&self) {
        if self.is_unreachable.load(Ordering::Relaxed) {
            std::future::pending().await
        }
    }

    pub(crate) fn call<'a, T: Send + 'a>(
        &'a self,
        apply: impl FnOnce(&mut Memory, Now) -> StoreResult<T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let outcome = self.faults.next_outcome();
            self.clock.sleep(outcome.before).await;
            self.reached().await;
            if outcome.rejected {
                return Err(StoreError::Unavailable(
                    "the store is unavailable".to_owned(),
                ));
            }
            let result = apply(&mut self.memory(), self.now());
            self.changed.notify_waiters();
            self.clock.sleep(outcome.after).await;
            self.reached().await;
            if outcome.lost {
                return Err(StoreError::Timeout {
                    what: "waiting for a reply",
                    after: Duration::from_secs(1),
                });
            }
            result
        })
    }
}

pub(crate) fn find<T: Clone>(
    what: &'static str,
    id: impl Display,
    all: &[T],
    matches: impl Fn(&T) -> bool,
) -> StoreResult<T> {
    let found = all.iter().find(|one| matches(one)).cloned();
    found.ok_or_else(|| StoreError::not_found(what, id))
}

impl Projects for SimStore {
    fn store_id(&self) -> StoreFuture<'_, String> {
        self.call(|_, _| Ok("0000abcd".to_owned()))
    }

    fn add_project(&self, new: NewProject) -> StoreFuture<'_, Project> {
        self.call(move |memory, now| {
            let id = next_id(memory.projects.len());
            let project = Project::new(id, new.name, new.root, now.wall);
            memory.projects.push(project.clone());
            Ok(project)
        })
    }

    fn add_remote_project(&self, identity: ProjectIdentity) -> StoreFuture<'_, Project> {
        self.call(move |memory, now| {
            let id = next_id(memory.projects.len());
            let project = Project {
                here: false,
                root_commit: identity.root_commit,
                remote: identity.remote,
                ..Project::new(id, identity.name, "/mirror".into(), now.wall)
            };
            memory.projects.push(project.clone());
            Ok(project)
        })
    }

    fn identify_project(
        &self,
        id: ProjectId,
        identity: ProjectIdentity,
    ) -> StoreFuture<'_, Project> {
        self.call(move |memory, _| {
            let known = memory.projects.iter_mut().find(|project| project.id == id);
            let project = known.ok_or_else(|| StoreError::not_found("project", id))?;
            project.name = identity.name;
            project.root_commit = identity.root_commit;
            project.remote = identity.remote;
            Ok(project.clone())
        })
    }

    fn set_checkout(&self, id: ProjectId, root: Option<PathBuf>) -> StoreFuture<'_, Project> {
        self.call(move |memory, _| {
            let known = memory.projects.iter_mut().find(|project| project.id == id);
            let project = known.ok_or_else(|| StoreError::not_found("project", id))?;
            project.here = root.is_some();
            project.root = root.unwrap_or_else(|| "/mirror".into());
            Ok(project.clone())
        })
    }

    fn checkouts(&self, id: ProjectId) -> StoreFuture<'_, Vec<ProjectCheckout>> {
        self.call(move |memory, _| {
            let known = memory.projects.iter();
            let here = known.filter(|project| project.id == id && project.here);
            let checkouts = here.map(|project| ProjectCheckout {
                machine: String::new(),
                root: project.root.clone(),
            });
            Ok(checkouts.collect())
        })
    }

    fn remove_project(&self, id: ProjectId) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            memory.projects.retain(|project| project.id != id);
            Ok(())
        })
    }

    fn project(&self, id: ProjectId) -> StoreFuture<'_, Project> {
        self.call(move |memory, _| {
            find("project", id, &memory.projects, |project| project.id == id)
        })
    }

    fn projects(&self) -> StoreFuture<'_, Vec<Project>> {
        self.call(|memory, _| Ok(memory.projects.clone()))
    }

    fn add_issue(&self, new: NewIssue) -> StoreFuture<'_, Issue> {
        self.call(move |memory, now| {
            let issue = Issue {
                id: next_id(memory.issues.len()),
                project_id: new.project_id,
                title: new.title,
                description: new.description,
                created_at: now.wall,
            };
            memory.issues.push(issue.clone());
            Ok(issue)
        })
    }

    fn issue(&self, id: IssueId) -> StoreFuture<'_, Issue> {
        self.call(move |memory, _| find("issue", id, &memory.issues, |issue| issue.id == id))
    }
}

impl TaskQueue for SimStore {
    fn enqueue(&self, tasks: Vec<NewTask>) -> StoreFuture<'_, Vec<Enqueued>> {
        self.call(move |memory, now| memory.enqueue(tasks, now))
    }

    fn add_dependency(&self, task: TaskId, on: TaskId) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            memory.row(task)?.task.dependencies.push(on);
            Ok(())
        })
    }

    fn task(&self, id: TaskId) -> StoreFuture<'_, Task> {
        self.call(move |memory, _| Ok(memory.row(id)?.task.clone()))
    }

    fn tasks(&self, filter: TaskFilter) -> StoreFuture<'_, Vec<Task>> {
        self.call(move |memory, _| {
            let all = memory.rows.values().map(|row| &row.task);
            Ok(all
                .filter(|task| filter.status.is_none_or(|status| status == task.status))
                .filter(|task| filter.after.is_none_or(|after| task.id > after))
                .filter(|task| filter.issue_id.is_none_or(|id| Some(id) == task.issue_id))
                .cloned()
                .collect())
        })
    }

    fn cancel(&self, id: TaskId) -> StoreFuture<'_, Task> {
        self.call(move |memory, now| memory.cancel(id, now))
    }

    fn retry(&self, id: TaskId, fresh: bool) -> StoreFuture<'_, Task> {
        self.call(move |memory, now| {
            let row = memory.row(id)?;
            if fresh {
                row.fresh = row.task.attempt;
                row.task.review = None;
            }
            memory.reopen(id, now)
        })
    }

    fn accept(&self, id: TaskId) -> StoreFuture<'_, Task> {
        self.call(move |memory, _| {
            let row = memory.row(id)?;
            row.task.needs_review = false;
            Ok(row.task.clone())
        })
    }
}

impl Leases for SimStore {
    fn claim(&self, claim: Claim) -> StoreFuture<'_, Option<Claimed>> {
        self.call(move |memory, now| Ok(memory.claim(&claim, now)))
    }

    fn heartbeat(&self, attempt: AttemptRef, lease: Duration) -> StoreFuture<'_, LeaseStatus> {
        self.call(move |memory, now| memory.heartbeat(attempt, lease, now))
    }

    fn release(&self, attempt: AttemptRef, release: Release) -> StoreFuture<'_, ()> {
        self.call(move |memory, now| memory.release(attempt, &release.usage, now))
    }

    fn reclaim_expired(&self) -> StoreFuture<'_, Vec<Task>> {
        self.call(|memory, now| Ok(memory.reclaim_expired(now)))
    }

    fn record_intent(&self, attempt: AttemptRef, commit: String) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            let row = memory.fenced(attempt)?;
            row.intents.insert(attempt.number, commit);
            Ok(())
        })
    }

    fn pending_intent(&self, task: TaskId) -> StoreFuture<'_, Option<String>> {
        self.call(move |memory, _| Ok(memory.row(task)?.intents.values().last().cloned()))
    }

    fn record_change(&self, attempt: AttemptRef, commit: String) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            let is_held = memory.fenced(attempt).is_ok();
            let row = memory.row(attempt.task)?;
            match row.changes.get(&attempt.number) {
                Some(recorded) if !is_held && *recorded != commit => {
                    Err(StoreError::Superseded { attempt })
                }
                _ => {
                    row.changes.insert(attempt.number, commit);
                    Ok(())
                }
            }
        })
    }

    fn earlier_change(&self, task: TaskId) -> StoreFuture<'_, Option<EarlierChange>> {
        self.call(move |memory, _| {
            let row = memory.row(task)?;
            let mut later = row.changes.range(row.fresh + 1..);
            Ok(later.next_back().map(|(attempt, commit)| EarlierChange {
                attempt: *attempt,
                commit: commit.clone(),
            }))
        })
    }

    fn finish(&self, attempt: AttemptRef, outcome: Outcome, usage: Usage) -> StoreFuture<'_, Task> {
        self.call(move |memory, now| memory.finish(attempt, outcome, &usage, now))
    }
}

impl EventLog for SimStore {
    fn append_events(
        &self,
        attempt: Option<AttemptRef>,
        messages: Vec<Broadcast>,
    ) -> StoreFuture<'_, u64> {
        self.call(move |memory, now| {
            if let Some(attempt) = attempt {
                let ended = &memory.row(attempt.task)?.ended;
                if ended.as_ref().is_none_or(|(by, _)| *by != attempt) {
                    memory.fenced(attempt)?;
                }
            }
            for message in messages {
                memory.append_event(message, now);
            }
            Ok(memory.events.len() as u64)
        })
    }

    fn events(&self, filter: EventFilter) -> StoreFuture<'_, Vec<LoggedEvent>> {
        self.call(move |memory, _| {
            let all = memory.events.iter();
            Ok(all
                .filter(|event| event.seq > filter.after)
                .filter(|event| filter.before.is_none_or(|before| event.seq < before))
                .filter(|event| {
                    filter.task_id.is_none() || filter.task_id == event.message.task_id()
                })
                .cloned()
                .collect())
        })
    }

    fn wait_for_events(&self, after: u64, timeout: Duration) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let until = self.clock.elapsed() + timeout;
            loop {
                let changed = self.changed.notified();
                let last = self.memory().events.len() as u64;
                let left = until.saturating_sub(self.clock.elapsed());
                if last > after || left.is_zero() {
                    return Ok(last);
                }
                tokio::select! {
                    biased;
                    () = changed => {}
                    () = self.clock.sleep(left) => {}
                }
            }
        })
    }
}
