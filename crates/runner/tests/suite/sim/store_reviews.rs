//! The reviews of the in-memory store.

use windlass_tasks::{
    AttemptRef, NewReview, Proof, Review, ReviewDecision, Reviews, StoreError, StoreFuture, Task,
    TaskId, TaskStatus,
};

use super::memory::next_id;
use super::store::SimStore;

impl Reviews for SimStore {
    fn add_review(&self, new: NewReview) -> StoreFuture<'_, (Review, Task)> {
        self.call(move |memory, now| {
            let row = memory.row(new.task_id)?;
            let newest = row.changes.keys().chain(&row.completed).max().copied();
            let is_decision = new.decision != ReviewDecision::Comment;
            let is_completed = row.task.status == TaskStatus::Completed;
            if newest != Some(new.attempt) || is_decision && !is_completed {
                return Err(StoreError::Refused("not the newest version".to_owned()));
            }
            row.task.review = Some(new.decision);
            row.task.needs_review &= new.decision != ReviewDecision::Approve;
            let review = Review {
                id: next_id(memory.reviews.len()),
                project_id: memory.row(new.task_id)?.task.project_id,
                task_id: new.task_id,
                attempt: new.attempt,
                decision: new.decision,
                author: new.author,
                author_kind: new.author_kind,
                text: new.text,
                comments: new.comments,
                created_at: now.wall,
            };
            memory.reviews.push(review.clone());
            if new.decision == ReviewDecision::RequestChanges {
                memory.reopen(new.task_id, now)?;
            }
            Ok((review, memory.row(new.task_id)?.task.clone()))
        })
    }

    fn reviews(&self, task: TaskId) -> StoreFuture<'_, Vec<Review>> {
        self.call(move |memory, _| {
            let all = memory.reviews.iter();
            Ok(all.filter(|one| one.task_id == task).cloned().collect())
        })
    }

    fn open_reviews(&self, task: TaskId) -> StoreFuture<'_, Vec<Review>> {
        self.call(move |memory, _| {
            let row = memory.row(task)?;
            if row.task.review != Some(ReviewDecision::RequestChanges) {
                return Ok(Vec::new());
            }
            let last = row.completed.last().copied().unwrap_or(0);
            let all = memory.reviews.iter();
            Ok(all
                .filter(|one| one.task_id == task && one.attempt >= last)
                .cloned()
                .collect())
        })
    }

    fn proof_of(&self, version: AttemptRef) -> StoreFuture<'_, Option<Proof>> {
        self.call(move |memory, _| {
            let row = memory.row(version.task)?;
            Ok(row.proofs.get(&version.number).cloned())
        })
    }
}
