//! Tasks that build on others, in the in-memory store: bases, and what is outdated.

use std::collections::BTreeSet;

use windlass_core::Usage;
use windlass_tasks::{
    AttemptRef, BasePart, Dependency, DependencyChange, NewTask, Stacks, StoreError, StoreFuture,
    StoreResult, Task, TaskId, TaskStatus,
};

use super::memory::{Memory, Now};
use super::store::SimStore;

impl Stacks for SimStore {
    fn dependency_changes(&self, task: TaskId) -> StoreFuture<'_, Vec<DependencyChange>> {
        self.call(move |memory, _| memory.dependency_changes(task))
    }

    fn record_base(
        &self,
        attempt: AttemptRef,
        base: String,
        parts: Vec<BasePart>,
    ) -> StoreFuture<'_, ()> {
        self.call(move |memory, _| {
            let row = memory.fenced(attempt)?;
            row.bases.insert(attempt.number, (base, parts));
            Ok(())
        })
    }

    fn wait_for_merge(&self, attempt: AttemptRef, merge: NewTask) -> StoreFuture<'_, Task> {
        self.call(move |memory, now| memory.wait_for_merge(attempt, merge, now))
    }

    fn wait_for_update(
        &self,
        attempt: AttemptRef,
        dependency: TaskId,
        _: String,
    ) -> StoreFuture<'_, Task> {
        self.call(move |memory, now| {
            memory.fenced(attempt)?;
            if memory.row(dependency)?.task.status == TaskStatus::Completed {
                memory.outdate(dependency, now)?;
            }
            memory.release(attempt, &Usage::default(), now)?;
            Ok(memory.row(dependency)?.task.clone())
        })
    }
}

impl Memory {
    fn dependency_changes(&mut self, id: TaskId) -> StoreResult<Vec<DependencyChange>> {
        let mut ordered = Vec::new();
        for on in self.row(id)?.task.dependencies.clone() {
            for earlier in self.dependency_changes(on)? {
                if !ordered.contains(&earlier) {
                    ordered.push(earlier);
                }
            }
            let row = self.row(on)?;
            let change = DependencyChange {
                task: on,
                title: row.task.title.clone(),
                completed: row.task.status == TaskStatus::Completed,
                commit: row.published.as_ref().map(|(commit, _)| commit.clone()),
                branch: row.task.branch.clone(),
                landed: None,
                edits_tests: row.task.edits_tests,
            };
            if !ordered.contains(&change) {
                ordered.push(change);
            }
        }
        Ok(ordered)
    }

    fn wait_for_merge(
        &mut self,
        attempt: AttemptRef,
        merge: NewTask,
        now: Now,
    ) -> StoreResult<Task> {
        self.fenced(attempt)?;
        let same_key = |task: &&Task| task.idempotency_key == merge.idempotency_key;
        let known = self.rows.values().map(|row| &row.task).find(same_key);
        let id = match known.map(|task| task.id) {
            Some(id) => id,
            None => self.enqueue(vec![merge.clone()], now)?[0].task.id,
        };
        let below = self.dependency_changes(attempt.task)?;
        if below.iter().any(|known| known.task == id) {
            return Err(StoreError::Refused("it is already merged".to_owned()));
        }
        let row = self.row(attempt.task)?;
        row.task
            .dependencies
            .retain(|on| !merge.dependencies.contains(&Dependency::Task(*on)));
        row.task.dependencies.push(id);
        self.release(attempt, &Usage::default(), now)?;
        Ok(self.row(id)?.task.clone())
    }

    /// Blocks a pending task if a task that it depends on has ended without success meanwhile.
    pub(crate) fn block_if_hopeless(&mut self, id: TaskId, now: Now) {
        let dependencies = self.rows[&id].task.dependencies.clone();
        let is_hopeless = dependencies.iter().any(|on| {
            let on = self.rows.get(on).map(|row| row.task.status);
            matches!(on, Some(TaskStatus::Failed | TaskStatus::Cancelled))
        });
        if is_hopeless {
            self.set_status(id, TaskStatus::Blocked, "worker", now);
        }
    }

    /// Makes a completed task and those that build on it outdated.
    pub(crate) fn outdate(&mut self, id: TaskId, now: Now) -> StoreResult<()> {
        self.reopen(id, now)?;
        self.row(id)?.task.outdated = true;
        let above = self.completed_on(|part| part.task == id);
        for task in above {
            self.outdate(task, now)?;
        }
        Ok(())
    }

    /// Finds what is outdated now that the task is completed.
    pub(crate) fn outdate_after(&mut self, id: TaskId, now: Now) -> StoreResult<()> {
        let row = self.row(id)?;
        let number = row.task.attempt;
        row.published = match &row.proof {
            Some(proof) => Some((proof.commit.clone(), proof.base_parts.clone())),
            None => {
                let parts = row.bases.get(&number).map(|(_, parts)| parts.clone());
                let commit = row.changes.get(&number).cloned();
                commit.map(|commit| (commit, parts.unwrap_or_default()))
            }
        };
        let Some((commit, parts)) = row.published.clone() else {
            return Ok(());
        };
        for task in self.completed_on(|part| part.task == id && part.commit != commit) {
            self.outdate(task, now)?;
        }
        let below = self.dependency_changes(id)?;
        let is_replaced = |part: &BasePart| {
            let mut below = below.iter().filter(|known| known.completed);
            below
                .any(|known| known.task == part.task && known.commit.as_ref() != Some(&part.commit))
        };
        if parts.iter().any(is_replaced) {
            self.outdate(id, now)?;
        }
        Ok(())
    }

    /// Returns the completed tasks with such a change in their base.
    fn completed_on(&self, is_such: impl Fn(&BasePart) -> bool) -> BTreeSet<TaskId> {
        let completed = self.rows.values();
        let completed = completed.filter(|row| row.task.status == TaskStatus::Completed);
        completed
            .filter(|row| {
                let parts = row.published.as_ref().map(|(_, parts)| parts);
                parts.is_some_and(|parts| parts.iter().any(&is_such))
            })
            .map(|row| row.task.id)
            .collect()
    }
}
