//! Messages to agents, and tasks that a person takes over.

use windlass_tasks::{
    AgentMessage, AttemptRef, Claim, Claimed, MessageId, StoreFuture, TakeOver, TaskId,
};

use super::write::{durable, operation, ready_error};
use crate::ops::take_over;
use crate::store::SqlStore;
use crate::write_job::stages;

impl TakeOver for SqlStore {
    fn send_message(
        &self,
        task: TaskId,
        author: String,
        text: String,
    ) -> StoreFuture<'_, AgentMessage> {
        if let Err(error) = take_over::check(&author, &text) {
            return ready_error(error);
        }
        let options = durable(stages!("storing a message"));
        let message = (author, text);
        self.write(
            options,
            operation!(|db, message| take_over::send(db, task, &message.0, &message.1)),
        )
    }

    fn messages(&self, task: TaskId) -> StoreFuture<'_, Vec<AgentMessage>> {
        self.read("listing the messages of a task", move |db| {
            Box::pin(take_over::list(db, task))
        })
    }

    fn take_messages(
        &self,
        attempt: AttemptRef,
        seen: Option<MessageId>,
    ) -> StoreFuture<'_, Vec<AgentMessage>> {
        let options = durable(stages!("delivering messages"));
        self.write(options, move |db| {
            Box::pin(take_over::take(db, attempt, seen))
        })
    }

    fn take_over(&self, claim: Claim) -> StoreFuture<'_, Claimed> {
        let options = durable(stages!("taking over a task"));
        self.write(
            options,
            operation!(|db, claim| take_over::take_over(db, &claim)),
        )
    }
}
