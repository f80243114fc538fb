//! Reviews of changes.

use windlass_tasks::{AttemptRef, NewReview, Proof, Review, Reviews, StoreFuture, Task, TaskId};

use super::write::{durable, operation, ready_error};
use crate::ops::{review_rules, reviews};
use crate::store::SqlStore;
use crate::write_job::stages;

impl Reviews for SqlStore {
    fn add_review(&self, review: NewReview) -> StoreFuture<'_, (Review, Task)> {
        if let Err(error) = review_rules::check(&review) {
            return ready_error(error);
        }
        let options = durable(stages!("storing a review"));
        self.write(options, operation!(|db, review| reviews::add(db, &review)))
    }

    fn reviews(&self, task: TaskId) -> StoreFuture<'_, Vec<Review>> {
        self.read("reading a task's reviews", move |db| {
            Box::pin(reviews::list(db, task))
        })
    }

    fn open_reviews(&self, task: TaskId) -> StoreFuture<'_, Vec<Review>> {
        self.read("reading a task's open reviews", move |db| {
            Box::pin(reviews::open(db, task))
        })
    }

    fn proof_of(&self, version: AttemptRef) -> StoreFuture<'_, Option<Proof>> {
        self.read("reading the proof of a version", move |db| {
            Box::pin(reviews::proof_of(db, version))
        })
    }
}
