//! Who answers when an agent asks for permission and its policy says: a person.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::PermissionOption;

/// What an agent asks, before it acts.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionAsk {
    /// The same as in the turn's [`PermissionRequest`](crate::AgentEvent::PermissionRequest).
    pub id: String,
    /// The agent's name.
    pub agent: String,
    /// The tool that wants to run.
    pub tool: String,
    /// What the tool would be given.
    pub input: Value,
    /// The answers that the agent offers.
    pub options: Vec<PermissionOption>,
}

/// Somebody who can be asked: a terminal, a row in a store, a test.
pub trait Approver: fmt::Debug + Send + Sync {
    /// The id of the chosen option; `None` where nobody will choose. Dropping the future withdraws the
    /// question, as a turn that ends meanwhile does.
    fn decide(&self, ask: PermissionAsk) -> BoxFuture<'_, Option<String>>;
}

/// The approver of a session, where it has one.
#[derive(Debug, Clone, Default)]
pub struct Approval(pub Option<Arc<dyn Approver>>);

impl PartialEq for Approval {
    /// The same somebody.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(another)) => Arc::ptr_eq(one, another),
            (None, None) => true,
            _ => false,
        }
    }
}
