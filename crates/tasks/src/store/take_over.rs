//! Messages to agents.

use std::fmt;

use super::error::StoreFuture;
use crate::attempt::{Claim, Claimed};
use crate::id::{AttemptRef, MessageId, TaskId};
use crate::message::AgentMessage;

/// Stores what people say to agents, and lets a person take over a task.
pub trait TakeOver: fmt::Debug + Send + Sync {
    /// Stores a message to the agent of a task. It waits for the next turn.
    fn send_message(
        &self,
        task: TaskId,
        author: String,
        text: String,
    ) -> StoreFuture<'_, AgentMessage>;
    /// Returns the messages of a task, oldest first.
    fn messages(&self, task: TaskId) -> StoreFuture<'_, Vec<AgentMessage>>;
    /// Gives an attempt the messages after `seen` that no other attempt has received, oldest first. If
    /// the response was lost, the call is repeated with the same `seen`.
    fn take_messages(
        &self,
        attempt: AttemptRef,
        seen: Option<MessageId>,
    ) -> StoreFuture<'_, Vec<AgentMessage>>;
    /// Claims the named task for a person, whatever its status is, unless it runs or waits for another task. As
    /// after a [`retry`](crate::TaskQueue::retry), its former result does not count any more.
    fn take_over(&self, claim: Claim) -> StoreFuture<'_, Claimed>;
}
