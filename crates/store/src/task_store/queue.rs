//! Adding, listing and changing tasks.

use windlass_tasks::{Enqueued, NewTask, StoreFuture, Task, TaskFilter, TaskId, TaskQueue};

use super::write::{durable, operation, ready_error};
use crate::ops::{enqueue, new_task_rules, tasks};
use crate::store::SqlStore;
use crate::task_row;
use crate::write_job::stages;

impl TaskQueue for SqlStore {
    fn enqueue(&self, tasks: Vec<NewTask>) -> StoreFuture<'_, Vec<Enqueued>> {
        if let Err(error) = new_task_rules::check(&tasks) {
            return ready_error(error);
        }
        let options = durable(stages!("adding tasks"), None);
        let parents_known = self.known_parents.contains_all(&tasks);
        let write = self.write(
            options,
            operation!(|db, tasks| enqueue::enqueue(db, &tasks, parents_known)),
        );
        Box::pin(async move {
            let added = write.await?;
            self.known_parents.insert(&added);
            Ok(added)
        })
    }

    fn add_dependency(&self, task: TaskId, on: TaskId) -> StoreFuture<'_, ()> {
        let options = durable(stages!("adding a dependency"), Some(task));
        self.write(options, move |db| {
            Box::pin(tasks::add_dependency(db, task, on))
        })
    }

    fn task(&self, id: TaskId) -> StoreFuture<'_, Task> {
        self.read("reading a task", move |db| {
            Box::pin(async move { Ok(task_row::get(db, id).await?.task) })
        })
    }

    fn tasks(&self, filter: TaskFilter) -> StoreFuture<'_, Vec<Task>> {
        self.read("listing tasks", move |db| {
            Box::pin(async move { tasks::list(db, &filter).await })
        })
    }

    fn cancel(&self, id: TaskId) -> StoreFuture<'_, Task> {
        let options = durable(stages!("cancelling a task"), Some(id));
        self.write(options, move |db| Box::pin(tasks::cancel(db, id)))
    }

    fn retry(&self, id: TaskId, fresh: bool) -> StoreFuture<'_, Task> {
        let options = durable(stages!("retrying a task"), Some(id));
        self.write(options, move |db| Box::pin(tasks::retry(db, id, fresh)))
    }

    fn accept(&self, id: TaskId) -> StoreFuture<'_, Task> {
        let options = durable(stages!("accepting a proof"), Some(id));
        self.write(options, move |db| Box::pin(tasks::accept(db, id)))
    }
}
