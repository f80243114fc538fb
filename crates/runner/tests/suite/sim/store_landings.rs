//! The landing queues of the in-memory store.

use std::time::Duration;

use windlass_tasks::{
    ClaimedLandings, Landed, Landing, LandingClaim, LandingFilter, LandingId, LandingOutcome,
    LandingState, LandingToken, Landings, NewLanding, ProjectId, StoreError, StoreFuture,
    StoreResult, Task, TaskId, TaskStatus,
};

use super::memory::{Memory, Now, next_id};
use super::store::SimStore;

/// An entry with its lease.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) landing: Landing,
    token: LandingToken,
    until: Duration,
}

impl Memory {
    fn entry(&mut self, id: LandingId) -> StoreResult<&mut Entry> {
        let entry = self.landings.iter_mut().find(|one| one.landing.id == id);
        entry.ok_or_else(|| StoreError::not_found("landing", id))
    }

    fn held(&mut self, token: LandingToken, id: LandingId) -> StoreResult<&mut Entry> {
        let entry = self.entry(id)?;
        if entry.token == token && entry.landing.state == LandingState::Landing {
            Ok(entry)
        } else {
            Err(StoreError::LandingLost)
        }
    }

    fn has_open_entry(&self, task: TaskId) -> bool {
        let mut open = self.landings.iter().filter(|one| is_open(&one.landing));
        open.any(|one| one.landing.task == task)
    }

    fn waits_for(&self, task: TaskId) -> Vec<TaskId> {
        let needed = self.rows[&task].task.dependencies.iter().copied();
        needed
            .filter(|on| self.rows[on].task.landed.is_none())
            .collect()
    }

    /// Removes the waiting entry of a task, unless its branch may have moved.
    pub(crate) fn remove_queued(&mut self, task: TaskId) {
        self.landings.retain(|one| {
            one.landing.task != task
                || one.landing.state != LandingState::Queued
                || !one.landing.intents.is_empty()
        });
    }

    fn add_landing(&mut self, new: NewLanding, now: Now) -> StoreResult<Landing> {
        let task = self.row(new.task)?.task.clone();
        if task.status != TaskStatus::Completed || task.landed.is_some() || task.needs_review {
            return Err(StoreError::Refused("it cannot land".to_owned()));
        }
        self.row(new.task)?.task.land = true;
        if !self.has_open_entry(new.task) {
            let id = next_id(self.last_landing);
            self.last_landing += 1;
            let landing = Landing {
                id,
                project_id: task.project_id,
                task: new.task,
                attempt: task.attempt,
                target: new.target,
                by: new.by,
                state: LandingState::Queued,
                worker: None,
                intents: Vec::new(),
                waits_for: Vec::new(),
                commit: None,
                reason: None,
                cases: Vec::new(),
                created_at: now.wall,
                ended_at: None,
            };
            self.landings.push(Entry {
                landing,
                token: LandingToken::from(0),
                until: Duration::ZERO,
            });
        }
        let mut open = self.landings.iter().filter(|one| is_open(&one.landing));
        let entry = open.find(|one| one.landing.task == new.task).unwrap();
        Ok(entry.landing.clone())
    }

    fn claim_landings(&mut self, claim: &LandingClaim, now: Now) -> Option<ClaimedLandings> {
        for entry in &mut self.landings {
            if entry.landing.state == LandingState::Landing && entry.until <= now.steady {
                entry.landing.state = LandingState::Queued;
            }
        }
        let mut taken: Vec<LandingId> = Vec::new();
        let mut queue: Option<(ProjectId, String)> = None;
        let mut tasks: Vec<TaskId> = Vec::new();
        for entry in &self.landings {
            let landing = &entry.landing;
            let key = (landing.project_id, landing.target.clone());
            let is_busy = self.landings.iter().any(|one| {
                one.landing.state == LandingState::Landing
                    && (one.landing.project_id, one.landing.target.clone()) == key
            });
            let task = &self.rows[&landing.task].task;
            let may_have_moved = !landing.intents.is_empty();
            let is_ready = task.status == TaskStatus::Completed
                && task.attempt == landing.attempt
                && task.landed.is_none()
                && !task.outdated
                && self
                    .waits_for(landing.task)
                    .iter()
                    .all(|on| tasks.contains(on));
            let is_wanted = claim.tasks.is_empty() || claim.tasks.contains(&landing.task);
            let joins = queue.as_ref().is_none_or(|queue| *queue == key);
            let is_first = taken.is_empty();
            if landing.state == LandingState::Queued
                && is_wanted
                && !is_busy
                && joins
                && (may_have_moved && is_first || is_ready && !may_have_moved)
            {
                queue = Some(key);
                taken.push(landing.id);
                tasks.push(landing.task);
                if may_have_moved {
                    break;
                }
            }
            if taken.len() >= claim.max.max(1) as usize {
                break;
            }
        }
        if taken.is_empty() {
            return None;
        }
        let token = next_id(self.last_token);
        self.last_token += 1;
        let mut entries = Vec::new();
        for id in taken {
            let entry = self.entry(id).unwrap();
            entry.token = token;
            entry.until = now.steady + claim.lease;
            entry.landing.state = LandingState::Landing;
            entry.landing.worker = Some(claim.worker.clone());
            entries.push(entry.landing.clone());
        }
        Some(ClaimedLandings { token, entries })
    }

    fn finish_landing(
        &mut self,
        token: LandingToken,
        id: LandingId,
        outcome: LandingOutcome,
        now: Now,
    ) -> StoreResult<Task> {
        let entry = self.entry(id)?.clone();
        let task = entry.landing.task;
        let is_repeated = entry.token == token
            && match &outcome {
                LandingOutcome::Landed { commit } => entry.landing.commit.as_ref() == Some(commit),
                LandingOutcome::Returned { .. } => entry.landing.state == LandingState::Returned,
                LandingOutcome::Withdrawn => false,
            };
        if is_repeated {
            return Ok(self.rows[&task].task.clone());
        }
        let landing = &mut self.held(token, id)?.landing;
        landing.ended_at = Some(now.wall);
        let (by, attempt) = (landing.by.clone(), landing.attempt);
        match outcome {
            LandingOutcome::Landed { commit } => {
                landing.state = LandingState::Landed;
                landing.commit = Some(commit.clone());
                let row = self.row(task)?;
                if row.task.status == TaskStatus::Completed && row.task.attempt == attempt {
                    let at = now.wall;
                    row.task.landed = Some(Landed { commit, at, by });
                }
                self.touch(task, now);
            }
            LandingOutcome::Returned {
                reason,
                cases,
                max_returns,
            } => {
                landing.state = LandingState::Returned;
                landing.reason = Some(reason.clone());
                landing.cases = cases;
                let returns = self.landings.iter().filter(|one| {
                    one.landing.task == task && one.landing.state == LandingState::Returned
                });
                let returns = returns.count();
                let row = self.row(task)?;
                if row.task.status == TaskStatus::Completed && row.task.attempt == attempt {
                    let has_attempts = row.used < row.task.max_attempts;
                    row.task.completed_at = None;
                    if has_attempts && returns <= max_returns as usize {
                        self.set_status(task, TaskStatus::Pending, "worker", now);
                    } else {
                        row.task.output = Some(reason);
                        self.set_status(task, TaskStatus::Blocked, "worker", now);
                    }
                }
            }
            LandingOutcome::Withdrawn => self.landings.retain(|one| one.landing.id != id),
        }
        Ok(self.rows[&task].task.clone())
    }
}

fn is_open(landing: &Landing) -> bool {
    matches!(landing.state, LandingState::Queued | LandingState::Landing)
}

impl Landings for SimStore {
    fn set_land(&self, task: TaskId, land: bool) -> StoreFuture<'_, Task> {
        self.call(move |memory, _| {
            memory.row(task)?.task.land = land;
            if !land {
                memory.remove_queued(task);
            }
            Ok(memory.rows[&task].task.clone())
        })
    }

    fn due_landings(&self, _: Option<ProjectId>) -> StoreFuture<'_, Vec<Task>> {
        self.call(move |memory, _| {
            let all = memory.rows.values().map(|row| &row.task);
            let is_due = |task: &&Task| {
                task.land
                    && task.status == TaskStatus::Completed
                    && !task.needs_review
                    && !task.unverified
                    && !task.outdated
                    && task.candidate_of.is_none()
                    && task.landed.is_none()
                    && !memory.has_open_entry(task.id)
            };
            Ok(all.filter(is_due).cloned().collect())
        })
    }

    fn enqueue_landing(&self, new: NewLanding) -> StoreFuture<'_, Landing> {
        self.call(move |memory, now| {
            let task = new.task;
            let landing = memory.add_landing(new, now)?;
            memory.touch(task, now);
            Ok(landing)
        })
    }

    fn claim_landings(&self, claim: LandingClaim) -> StoreFuture<'_, Option<ClaimedLandings>> {
        self.call(move |memory, now| Ok(memory.claim_landings(&claim, now)))
    }

    fn heartbeat_landings(&self, token: LandingToken, lease: Duration) -> StoreFuture<'_, ()> {
        self.call(move |memory, now| {
            let mut renewed = false;
            for entry in &mut memory.landings {
                if entry.token == token && entry.landing.state == LandingState::Landing {
                    entry.until = now.steady + lease;
                    renewed = true;
                }
            }
            renewed.then_some(()).ok_or(StoreError::LandingLost)
        })
    }

    fn record_landing_intent(
        &self,
        token: LandingToken,
        entries: Vec<LandingId>,
        commit: String,
    ) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            for id in &entries {
                memory.held(token, *id)?;
            }
            for id in entries {
                let intents = &mut memory.held(token, id)?.landing.intents;
                if !intents.contains(&commit) {
                    intents.push(commit.clone());
                }
            }
            Ok(())
        })
    }

    fn finish_landing(
        &self,
        token: LandingToken,
        entry: LandingId,
        outcome: LandingOutcome,
    ) -> StoreFuture<'_, Task> {
        self.call(move |memory, now| memory.finish_landing(token, entry, outcome, now))
    }

    fn release_landings(&self, token: LandingToken, reason: Option<String>) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            for entry in &mut memory.landings {
                if entry.token == token && entry.landing.state == LandingState::Landing {
                    entry.landing.state = LandingState::Queued;
                    entry.landing.reason.clone_from(&reason);
                }
            }
            Ok(())
        })
    }

    fn landings(&self, filter: LandingFilter) -> StoreFuture<'_, Vec<Landing>> {
        self.call(move |memory, _| {
            let all = memory.landings.iter().map(|one| &one.landing);
            Ok(all
                .filter(|one| filter.task.is_none_or(|task| task == one.task))
                .filter(|one| !filter.open || is_open(one))
                .cloned()
                .collect())
        })
    }

    fn record_landed(&self, new: NewLanding, commit: String) -> StoreFuture<'_, Task> {
        self.call(move |memory, now| {
            memory.remove_queued(new.task);
            let row = memory.row(new.task)?;
            let (at, by) = (now.wall, new.by);
            row.task.landed.get_or_insert(Landed { commit, at, by });
            Ok(row.task.clone())
        })
    }

    fn forget_landed(&self, task: TaskId) -> StoreFuture<'_, Task> {
        self.call(move |memory, _| {
            let row = memory.row(task)?;
            row.task.landed = None;
            row.task.land = false;
            Ok(row.task.clone())
        })
    }
}
