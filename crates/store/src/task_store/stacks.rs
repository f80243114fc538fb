//! Tasks that build on the changes of other tasks.

use windlass_tasks::{
    AttemptRef, BasePart, DependencyChange, NewTask, Stacks, StoreFuture, Task, TaskId,
};

use super::write::{durable, operation, ready_error};
use crate::ops::{bases, new_task_rules, stacks};
use crate::store::SqlStore;
use crate::write_job::stages;

impl Stacks for SqlStore {
    fn dependency_changes(&self, task: TaskId) -> StoreFuture<'_, Vec<DependencyChange>> {
        self.read("reading the changes of dependencies", move |db| {
            Box::pin(bases::dependency_changes(db, task))
        })
    }

    fn record_base(
        &self,
        attempt: AttemptRef,
        base: String,
        parts: Vec<BasePart>,
    ) -> StoreFuture<'_, ()> {
        let options = durable(stages!("recording a base"));
        let args = (base, parts);
        self.write(
            options,
            operation!(|db, args| bases::record_base(db, attempt, &args.0, &args.1)),
        )
    }

    fn wait_for_merge(&self, attempt: AttemptRef, merge: NewTask) -> StoreFuture<'_, Task> {
        if let Err(error) = new_task_rules::check(std::slice::from_ref(&merge)) {
            return ready_error(error);
        }
        let options = durable(stages!("adding a task that merges"));
        self.write(
            options,
            operation!(|db, merge| stacks::wait_for_merge(db, attempt, &merge)),
        )
    }

    fn wait_for_update(
        &self,
        attempt: AttemptRef,
        dependency: TaskId,
        reason: String,
    ) -> StoreFuture<'_, Task> {
        let options = durable(stages!("waiting for a dependency"));
        self.write(
            options,
            operation!(|db, reason| stacks::wait_for_update(db, attempt, dependency, &reason)),
        )
    }
}
