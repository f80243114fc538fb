//! An in-memory task store: the reference that real stores are compared with.
//!
//! Every rule is here once, in its simplest form: claim order, leases, fencing, dependencies, outcomes.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::{Timestamp, TraceNode, Usage};
use windlass_tasks::{
    AgentMessage, AgentSession, Approval, AttemptRef, BasePart, Blocker, Broadcast, Claim, Claimed,
    Correction, Dependency, Enqueued, Issue, LeaseStatus, LoggedEvent, NewTask, Outcome, Project,
    ProjectId, Proof, Review, ReviewDecision, Schedule, StoreError, StoreResult, Task, TaskId,
    TaskStatus, TestResult, WorkerPause,
};

use super::new_task::new_task;
use super::store_landings::Entry;
use super::store_limits::SimLimit;
use super::store_outbox::Outbox;
use super::store_workers::WorkerEntry;

/// The stored data.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) rows: BTreeMap<TaskId, Row>,
    pub(crate) projects: Vec<Project>,
    pub(crate) issues: Vec<Issue>,
    pub(crate) blockers: Vec<Blocker>,
    pub(crate) approvals: Vec<Approval>,
    pub(crate) reviews: Vec<Review>,
    pub(crate) events: Vec<LoggedEvent>,
    pub(crate) outbox: Outbox,
    pub(crate) traces: BTreeMap<String, (Option<TaskId>, TraceNode)>,
    /// Pauses of workers, by project; `None` for all.
    pub(crate) pauses: BTreeMap<Option<ProjectId>, WorkerPause>,
    pub(crate) notes: BTreeMap<ProjectId, String>,
    pub(crate) landings: Vec<Entry>,
    pub(crate) last_landing: usize,
    pub(crate) last_token: usize,
    pub(crate) schedules: Vec<Schedule>,
    pub(crate) limits: Vec<SimLimit>,
    pub(crate) messages: Vec<AgentMessage>,
    pub(crate) workers: Vec<WorkerEntry>,
    pub(crate) last_worker: usize,
    /// Every status change, in order.
    pub(crate) history: Vec<(TaskId, TaskStatus)>,
}

/// Returns the id of the record that follows `len` others.
pub(crate) fn next_id<Id: From<i64>>(len: usize) -> Id {
    Id::from(len as i64 + 1)
}

/// A task and its records.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) task: Task,
    /// When the lease of the running attempt expires, by the store's clock.
    pub(crate) lease: Option<Duration>,
    pub(crate) cancel: bool,
    /// Number of attempts that count towards the limit; released attempts do not count.
    pub(crate) used: u32,
    /// Publish intents of attempts that are running or were lost, since the task was last completed.
    pub(crate) intents: BTreeMap<u32, String>,
    pub(crate) ended: Option<(AttemptRef, Outcome)>,
    pub(crate) proof: Option<Proof>,
    /// The proofs of all versions.
    pub(crate) proofs: BTreeMap<u32, Proof>,
    /// The attempts that completed the task.
    pub(crate) completed: Vec<u32>,
    pub(crate) sessions: BTreeMap<u32, AgentSession>,
    pub(crate) tests: Vec<(u32, TestResult)>,
    pub(crate) corrections: Vec<(u32, Correction)>,
    /// The commits that keep the changes of attempts.
    pub(crate) changes: BTreeMap<u32, String>,
    /// The changes of attempts up to this number are not continued.
    pub(crate) fresh: u32,
    /// What attempts started from.
    pub(crate) bases: BTreeMap<u32, (String, Vec<BasePart>)>,
    /// The commit of the last completed attempt, and the changes in its base.
    pub(crate) published: Option<(String, Vec<BasePart>)>,
}

/// The store's time: the monotonic time for leases, and the wall clock for display.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) steady: Duration,
    pub(crate) wall: Timestamp,
}

impl Memory {
    pub(crate) fn row(&mut self, id: TaskId) -> StoreResult<&mut Row> {
        let row = self.rows.get_mut(&id);
        row.ok_or_else(|| StoreError::not_found("task", id))
    }

    /// Returns the task if this attempt still holds it.
    pub(crate) fn fenced(&mut self, attempt: AttemptRef) -> StoreResult<&mut Row> {
        let row = self.row(attempt.task)?;
        let is_ours =
            row.task.status == TaskStatus::InProgress && row.task.attempt == attempt.number;
        if is_ours {
            Ok(row)
        } else {
            Err(StoreError::Superseded { attempt })
        }
    }

    /// Sets the status of a task and appends the event.
    pub(crate) fn set_status(&mut self, id: TaskId, status: TaskStatus, agent_id: &str, now: Now) {
        let Some(row) = self.rows.get_mut(&id) else {
            return;
        };
        row.task.status = status;
        row.task.updated_at = now.wall;
        if status != TaskStatus::InProgress {
            row.lease = None;
            row.cancel = false;
        }
        let message = Broadcast::TaskStatus {
            project_id: row.task.project_id,
            task_id: id,
            status,
            agent_id: agent_id.to_owned(),
        };
        self.history.push((id, status));
        self.append_event(message, now);
        if matches!(status, TaskStatus::Failed | TaskStatus::Cancelled) {
            self.block_dependents(id, status, now);
        }
        if status == TaskStatus::Pending {
            self.block_if_hopeless(id, now);
        }
    }

    /// Appends the event of a change that is not one of the status.
    pub(super) fn touch(&mut self, id: TaskId, now: Now) {
        let task = &self.rows[&id].task;
        let message = Broadcast::TaskStatus {
            project_id: task.project_id,
            task_id: id,
            status: task.status,
            agent_id: "worker".to_owned(),
        };
        self.append_event(message, now);
    }

    pub(crate) fn append_event(&mut self, message: Broadcast, now: Now) -> u64 {
        let seq = self.events.len() as u64 + 1;
        self.events.push(LoggedEvent {
            seq,
            at: now.wall,
            message,
        });
        seq
    }

    fn block_dependents(&mut self, id: TaskId, status: TaskStatus, now: Now) {
        let waiting: Vec<TaskId> = self
            .rows
            .values()
            .filter(|row| row.task.status == TaskStatus::Pending)
            .filter(|row| row.task.dependencies.contains(&id))
            .map(|row| row.task.id)
            .collect();
        for waiting in waiting {
            if let Some(row) = self.rows.get_mut(&waiting) {
                row.task.output = Some(format!("task {id} is {status}"));
            }
            self.set_status(waiting, TaskStatus::Blocked, "worker", now);
        }
    }

    pub(crate) fn enqueue(&mut self, new: Vec<NewTask>, now: Now) -> StoreResult<Vec<Enqueued>> {
        let first = self.rows.len();
        let mut added = Vec::new();
        let mut parents = Vec::new();
        for (at, new) in new.into_iter().enumerate() {
            let id = next_id(first + at);
            let dependencies = new.dependencies.iter().map(|on| match on {
                Dependency::Task(on) => *on,
                Dependency::Sibling(at) => next_id(first + *at),
            });
            let dependencies: Vec<TaskId> = dependencies.collect();
            if dependencies.iter().any(|on| *on >= id) {
                return Err(StoreError::Refused("a cycle".to_owned()));
            }
            let candidates = Self::new_candidates(&new);
            let task = new_task(id, new, dependencies, now);
            self.rows.insert(id, Row::new(task.clone()));
            self.set_status(id, TaskStatus::Pending, "worker", now);
            added.push(Enqueued { task, fresh: true });
            parents.push((id, candidates));
        }
        for (parent, candidates) in parents {
            for new in candidates {
                let id = next_id(self.rows.len());
                let dependencies = self.rows[&parent].task.dependencies.clone();
                let mut task = new_task(id, new, dependencies, now);
                task.candidate_of = Some(parent);
                self.rows.insert(id, Row::new(task));
                self.set_status(id, TaskStatus::Pending, "worker", now);
            }
        }
        Ok(added)
    }

    /// Claims the task with the highest priority, then lowest step, then lowest id, among those whose
    /// dependencies are completed.
    pub(crate) fn claim(&mut self, claim: &Claim, now: Now) -> Option<Claimed> {
        let mut ready: Vec<&Task> = self
            .rows
            .values()
            .map(|row| &row.task)
            .filter(|task| task.status == TaskStatus::Pending && !task.paused)
            .filter(|task| claim.task == Some(task.id) || !self.is_paused(task.project_id))
            .filter(|task| claim.task.is_none_or(|id| id == task.id))
            .filter(|task| claim.task.is_some() || self.suits(claim, task))
            .filter(|task| claim.project_id.is_none_or(|id| id == task.project_id))
            .filter(|task| claim.kinds.is_empty() || claim.kinds.contains(&task.kind))
            .filter(|task| task.dependencies.iter().all(|on| self.is_completed(*on)))
            .filter(|task| self.candidates_ended(task))
            .collect();
        ready.sort_by_key(|task| (task.priority, task.workflow_step, task.id));
        let id = ready.first()?.id;
        let row = self.rows.get_mut(&id)?;
        row.task.attempt += 1;
        row.used += 1;
        row.lease = Some(now.steady + claim.lease);
        let agent_id = row.task.kind.agent_id();
        self.set_status(id, TaskStatus::InProgress, agent_id, now);
        let task = self.rows.get(&id)?.task.clone();
        let attempt = AttemptRef {
            task: id,
            number: task.attempt,
        };
        Some(Claimed { task, attempt })
    }

    fn is_paused(&self, project: ProjectId) -> bool {
        self.pauses.contains_key(&None) || self.pauses.contains_key(&Some(project))
    }

    fn is_completed(&self, id: TaskId) -> bool {
        let row = self.rows.get(&id);
        row.is_some_and(|row| row.task.status == TaskStatus::Completed)
    }

    pub(crate) fn heartbeat(
        &mut self,
        attempt: AttemptRef,
        lease: Duration,
        now: Now,
    ) -> StoreResult<LeaseStatus> {
        let row = self.fenced(attempt)?;
        row.lease = Some(now.steady + lease);
        Ok(if row.cancel {
            LeaseStatus::CancelRequested
        } else {
            LeaseStatus::Held
        })
    }

    pub(crate) fn release(
        &mut self,
        attempt: AttemptRef,
        usage: &Usage,
        now: Now,
    ) -> StoreResult<()> {
        let row = self.fenced(attempt)?;
        row.used -= 1;
        row.task.usage += usage;
        let (status, agent_id) = if row.cancel {
            (TaskStatus::Cancelled, "worker")
        } else {
            (TaskStatus::Pending, row.task.kind.agent_id())
        };
        self.add_candidate_usage(attempt.task, usage);
        self.set_status(attempt.task, status, agent_id, now);
        Ok(())
    }

    /// Reclaims tasks with expired leases.
    pub(crate) fn reclaim_expired(&mut self, now: Now) -> Vec<Task> {
        let expired: Vec<TaskId> = self
            .rows
            .values()
            .filter(|row| row.lease.is_some_and(|until| until <= now.steady))
            .map(|row| row.task.id)
            .collect();
        for id in &expired {
            let row = self.rows.get_mut(id).unwrap();
            let status = if row.cancel {
                TaskStatus::Cancelled
            } else if row.used >= row.task.max_attempts {
                row.task.output = Some("the last attempt was lost".to_owned());
                TaskStatus::Failed
            } else {
                TaskStatus::Pending
            };
            self.set_status(*id, status, "worker", now);
        }
        expired
            .iter()
            .map(|id| self.rows[id].task.clone())
            .collect()
    }

    /// Finishes an attempt. Repeating the call with the same outcome returns the same result.
    pub(crate) fn finish(
        &mut self,
        attempt: AttemptRef,
        outcome: Outcome,
        usage: &Usage,
        now: Now,
    ) -> StoreResult<Task> {
        let row = self.row(attempt.task)?;
        if row.ended.as_ref() == Some(&(attempt, outcome.clone())) {
            return Ok(row.task.clone());
        }
        self.fenced(attempt)?;
        self.add_candidate_usage(attempt.task, usage);
        let has_candidates = self.row(attempt.task)?.task.best_of.is_some();
        if let Outcome::Chosen { winner, .. } = &outcome {
            self.choose(attempt, *winner)?;
        }
        let row = self.row(attempt.task)?;
        row.task.usage += usage;
        row.ended = Some((attempt, outcome.clone()));
        row.intents.remove(&attempt.number);
        let agent_id = row.task.kind.agent_id();
        let status = match outcome {
            Outcome::Completed {
                proof,
                branch,
                output,
            } => {
                row.complete(attempt.number, proof.map(|proof| *proof), now);
                row.task.branch = branch;
                row.task.output = Some(output);
                TaskStatus::Completed
            }
            Outcome::Chosen { output, .. } => {
                row.task.output = Some(output);
                row.task.completed_at = Some(now.wall);
                TaskStatus::Completed
            }
            Outcome::Failed { error, again } => {
                row.task.output = Some(error);
                if again && row.used < row.task.max_attempts {
                    TaskStatus::Pending
                } else {
                    TaskStatus::Failed
                }
            }
            Outcome::Blocked { question } => {
                row.task.output = Some(question.clone());
                let project_id = row.task.project_id;
                self.blockers.push(Blocker {
                    id: next_id(self.blockers.len()),
                    project_id,
                    task_id: attempt.task,
                    attempt: attempt.number,
                    question,
                    created_at: now.wall,
                    answer: None,
                });
                TaskStatus::Blocked
            }
            Outcome::Cancelled => TaskStatus::Cancelled,
        };
        self.set_status(attempt.task, status, agent_id, now);
        if has_candidates && status.is_final() {
            self.cancel_candidates(attempt.task, now)?;
        }
        if status == TaskStatus::Completed {
            self.outdate_after(attempt.task, now)?;
        }
        Ok(self.rows[&attempt.task].task.clone())
    }

    pub(crate) fn cancel(&mut self, id: TaskId, now: Now) -> StoreResult<Task> {
        let row = self.row(id)?;
        match row.task.status {
            TaskStatus::InProgress => row.cancel = true,
            status if status.is_final() => {}
            _ => self.set_status(id, TaskStatus::Cancelled, "worker", now),
        }
        Ok(self.rows[&id].task.clone())
    }

    /// Resets a task to pending and clears its attempt count.
    pub(crate) fn reopen(&mut self, id: TaskId, now: Now) -> StoreResult<Task> {
        let row = self.row(id)?;
        row.used = 0;
        row.task.paused = false;
        row.task.completed_at = None;
        row.task.landed = None;
        row.task.review = (row.task.review).filter(|one| *one == ReviewDecision::RequestChanges);
        self.remove_queued(id);
        self.set_status(id, TaskStatus::Pending, "worker", now);
        Ok(self.rows[&id].task.clone())
    }
}

impl Row {
    /// Records the proof of the attempt that completes the task.
    fn complete(&mut self, attempt: u32, proof: Option<Proof>, now: Now) {
        self.task.unverified = proof.is_none();
        self.task.needs_review = proof.as_ref().is_some_and(Proof::needs_review);
        self.task.completed_at = Some(now.wall);
        self.task.review = None;
        self.task.outdated = false;
        self.completed.push(attempt);
        if let Some(proof) = &proof {
            self.proofs.insert(attempt, proof.clone());
        }
        self.proof = proof;
        self.intents.clear();
    }
}
