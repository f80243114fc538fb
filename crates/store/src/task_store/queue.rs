//! Adding, listing and changing tasks.

use std::sync::Arc;

use windlass_tasks::{Enqueued, NewTask, StoreFuture, Task, TaskFilter, TaskId, TaskQueue};

use super::write::{durable, operation, ready_error};
use crate::merge::{MergeInput, MergeOutput, Mergeable};
use crate::ops::{add_merged, enqueue, new_task_rules, tasks, workers};
use crate::store::{SqlStore, WriteExtras};
use crate::task_row;
use crate::write_job::stages;

impl TaskQueue for SqlStore {
    fn enqueue(&self, tasks: Vec<NewTask>) -> StoreFuture<'_, Vec<Enqueued>> {
        if let Err(error) = new_task_rules::check(&tasks) {
            return ready_error(error);
        }
        let options = durable(stages!("adding tasks"));
        let parents_known = self.known_parents.contains_all(&tasks);
        let tasks = Arc::new(tasks);
        let input = || Arc::new(MergeInput::Add(Arc::clone(&tasks)));
        let extras = WriteExtras {
            undo: None,
            merge: (parents_known && add_merged::can_merge(&tasks)).then(|| Mergeable {
                input: input(),
                output: |output| match output {
                    MergeOutput::Added(added) => Some(vec![added]),
                    _ => None,
                },
            }),
        };
        let write = self.write_with(
            options,
            operation!(|db, tasks| enqueue::enqueue(db, &tasks, parents_known)),
            extras,
        );
        Box::pin(async move {
            let added = write.await?;
            self.known_parents.insert(&added);
            Ok(added)
        })
    }

    fn add_dependency(&self, task: TaskId, on: TaskId) -> StoreFuture<'_, ()> {
        let options = durable(stages!("adding a dependency"));
        self.write(options, move |db| {
            Box::pin(tasks::add_dependency(db, task, on))
        })
    }

    fn task(&self, id: TaskId) -> StoreFuture<'_, Task> {
        let skew = self.clock_skew();
        self.read("reading a task", move |db| {
            Box::pin(async move {
                let mut task = task_row::get(db, id).await?.task;
                workers::explain_waiting(db, skew, std::slice::from_mut(&mut task)).await?;
                Ok(task)
            })
        })
    }

    fn tasks(&self, filter: TaskFilter) -> StoreFuture<'_, Vec<Task>> {
        let skew = self.clock_skew();
        self.read("listing tasks", move |db| {
            Box::pin(async move {
                let mut tasks = tasks::list(db, &filter).await?;
                workers::explain_waiting(db, skew, &mut tasks).await?;
                Ok(tasks)
            })
        })
    }

    fn cancel(&self, id: TaskId) -> StoreFuture<'_, Task> {
        let options = durable(stages!("cancelling a task"));
        self.write(options, move |db| Box::pin(tasks::cancel(db, id)))
    }

    fn retry(&self, id: TaskId, fresh: bool) -> StoreFuture<'_, Task> {
        let options = durable(stages!("retrying a task"));
        self.write(options, move |db| Box::pin(tasks::retry(db, id, fresh)))
    }

    fn accept(&self, id: TaskId) -> StoreFuture<'_, Task> {
        let options = durable(stages!("accepting a proof"));
        self.write(options, move |db| Box::pin(tasks::accept(db, id)))
    }
}
