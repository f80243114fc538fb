//! Candidates in the in-memory store.

use windlass_core::Usage;
use windlass_tasks::{AttemptRef, NewTask, StoreError, StoreResult, Task, TaskId, TaskStatus};

use super::memory::{Memory, Now};

impl Memory {
    /// Returns the ids of the candidates of a task.
    fn candidates(&self, parent: TaskId) -> Vec<TaskId> {
        let rows = self.rows.values();
        let rows = rows.filter(|row| row.task.candidate_of == Some(parent));
        rows.map(|row| row.task.id).collect()
    }

    /// Returns the tasks that are added as candidates of a new task.
    pub(crate) fn new_candidates(new: &NewTask) -> Vec<NewTask> {
        let agents = new.best_of.iter().flat_map(|best_of| &best_of.agents);
        let candidate = |agent: &Option<String>| NewTask {
            agent: agent.clone(),
            best_of: None,
            ..new.clone()
        };
        agents.map(candidate).collect()
    }

    /// Returns `true` if a task waits for no candidate.
    pub(crate) fn candidates_ended(&self, task: &Task) -> bool {
        let Some(best_of) = &task.best_of else {
            return true;
        };
        let ids = self.candidates(task.id);
        let tasks = || ids.iter().map(|id| &self.rows[id].task);
        let is_clean = |task: &Task| {
            task.status == TaskStatus::Completed && !task.unverified && !task.needs_review
        };
        let has_ended = |task: &Task| task.status.is_final() || task.status == TaskStatus::Blocked;
        best_of.first && tasks().any(is_clean) || tasks().all(has_ended)
    }

    /// Gives the result of a candidate to its task.
    pub(crate) fn choose(&mut self, attempt: AttemptRef, winner: TaskId) -> StoreResult<()> {
        let won = self.row(winner)?;
        if won.task.candidate_of != Some(attempt.task) || won.task.status != TaskStatus::Completed {
            return Err(StoreError::Refused("not a completed candidate".to_owned()));
        }
        let (task, proof) = (won.task.clone(), won.proof.clone());
        let change = won.changes.values().last().cloned();
        let row = self.row(attempt.task)?;
        row.task.best_of = None;
        row.task.agent = task.agent;
        row.task.branch = task.branch;
        row.task.unverified = task.unverified;
        row.task.needs_review = task.needs_review;
        row.proof = proof;
        row.changes
            .extend(change.map(|change| (attempt.number, change)));
        Ok(())
    }

    /// Cancels the candidates of a task that has ended.
    pub(crate) fn cancel_candidates(&mut self, parent: TaskId, now: Now) -> StoreResult<()> {
        for id in self.candidates(parent) {
            self.cancel(id, now)?;
        }
        Ok(())
    }

    /// Adds the usage of an attempt to the task that its task is a candidate of.
    pub(crate) fn add_candidate_usage(&mut self, candidate: TaskId, usage: &Usage) {
        let parent = self.rows[&candidate].task.candidate_of;
        if let Some(row) = parent.and_then(|parent| self.rows.get_mut(&parent)) {
            row.task.usage += usage;
        }
    }
}
