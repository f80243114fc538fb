//! Workers of the in-memory store.

use std::time::Duration;

use windlass_tasks::{
    Claim, NewWorker, Project, RegisteredWorker, StoreError, StoreFuture, Task, WorkerId,
    WorkerRenewal, WorkerState, Workers, has_agent, sorted_labels,
};

use super::memory::{Memory, next_id};
use super::store::SimStore;

/// How long a lost worker is listed.
const KEEP_LOST: Duration = Duration::from_secs(24 * 60 * 60);

/// A worker, with the time of its last renewal by the store's clock.
#[derive(Debug)]
pub(crate) struct WorkerEntry {
    pub(crate) worker: RegisteredWorker,
    interval: Duration,
    seen: Duration,
    pub(crate) drain: bool,
}

impl WorkerEntry {
    fn state(&self, steady: Duration) -> WorkerState {
        WorkerState::new(steady.saturating_sub(self.seen), self.interval, self.drain)
    }

    fn listed(&self, steady: Duration) -> RegisteredWorker {
        let state = self.state(steady);
        RegisteredWorker {
            state,
            seen_seconds_ago: steady.saturating_sub(self.seen).as_secs(),
            ..self.worker.clone()
        }
    }
}

impl Memory {
    /// Returns `true` if the worker of a claim can do a task and is not drained.
    pub(crate) fn suits(&self, claim: &Claim, task: &Task) -> bool {
        let is_drained =
            |entry: &WorkerEntry| entry.drain && Some(entry.worker.id) == claim.worker_id;
        let reaches = |project: &Project| {
            project.id == task.project_id && (project.here || project.remote.is_some())
        };
        let agents = claim.agents.as_ref().zip(task.agent.as_ref());
        !self.workers.iter().any(is_drained)
            && task.needs.iter().all(|label| claim.labels.contains(label))
            && agents.is_none_or(|(agents, agent)| has_agent(agents, agent))
            && (claim.project_id.is_some() || self.projects.iter().any(reaches))
    }
}

impl Workers for SimStore {
    fn register_worker(&self, new: NewWorker) -> StoreFuture<'_, WorkerId> {
        self.call(move |memory, now| {
            let labels = sorted_labels(&new.labels).map_err(StoreError::Refused)?;
            memory.workers.retain(|entry| {
                let is_same =
                    (&entry.worker.machine, &entry.worker.name) == (&new.machine, &new.name);
                let is_lost = entry.state(now.steady) == WorkerState::Lost;
                let age = now.steady.saturating_sub(entry.seen);
                age <= KEEP_LOST && !(is_same && is_lost)
            });
            memory.last_worker += 1;
            let id = next_id(memory.last_worker);
            let interval = new.interval;
            let new = NewWorker { labels, ..new };
            let worker = new.registered(id, now.wall);
            memory.workers.push(WorkerEntry {
                worker,
                interval,
                seen: now.steady,
                drain: false,
            });
            Ok(id)
        })
    }

    fn renew_worker(&self, id: WorkerId, running: u32) -> StoreFuture<'_, WorkerRenewal> {
        self.call(move |memory, now| {
            let mut entries = memory.workers.iter_mut();
            let Some(entry) = entries.find(|entry| entry.worker.id == id) else {
                return Ok(WorkerRenewal::Unknown);
            };
            entry.worker.running = running;
            entry.worker.seen_at = now.wall;
            entry.seen = now.steady;
            Ok(if entry.drain {
                WorkerRenewal::DrainRequested
            } else {
                WorkerRenewal::Renewed
            })
        })
    }

    fn remove_worker(&self, id: WorkerId) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            memory.workers.retain(|entry| entry.worker.id != id);
            Ok(())
        })
    }

    fn workers(&self) -> StoreFuture<'_, Vec<RegisteredWorker>> {
        self.call(|memory, now| {
            let entries = memory.workers.iter();
            Ok(entries.map(|entry| entry.listed(now.steady)).collect())
        })
    }

    fn drain_worker(&self, id: WorkerId) -> StoreFuture<'_, RegisteredWorker> {
        self.call(move |memory, now| {
            let mut entries = memory.workers.iter_mut();
            let entry = entries.find(|entry| entry.worker.id == id);
            let entry = entry.ok_or_else(|| StoreError::not_found("worker", id))?;
            entry.drain = true;
            Ok(entry.listed(now.steady))
        })
    }
}
