//! Questions for a person.

use windlass_tasks::{
    Blocker, BlockerId, Blockers, ProjectId, StoreError, StoreFuture, Task, TaskId,
};

use super::write::{durable, operation, ready_error};
use crate::ops::blockers;
use crate::store::SqlStore;
use crate::write_job::stages;

impl Blockers for SqlStore {
    fn blockers(&self, project: Option<ProjectId>, open: bool) -> StoreFuture<'_, Vec<Blocker>> {
        self.read("listing questions", move |db| {
            Box::pin(blockers::blockers(db, project, open))
        })
    }

    fn task_blockers(&self, task: TaskId) -> StoreFuture<'_, Vec<Blocker>> {
        self.read("reading a task's questions", move |db| {
            Box::pin(blockers::task_blockers(db, task))
        })
    }

    fn answer_blocker(&self, blocker: BlockerId, text: String) -> StoreFuture<'_, Task> {
        if text.trim().is_empty() {
            let empty = "the answer must not be empty";
            return ready_error(StoreError::Refused(empty.to_owned()));
        }
        let options = durable(stages!("answering a question"));
        self.write(
            options,
            operation!(|db, text| blockers::answer(db, blocker, &text)),
        )
    }
}
