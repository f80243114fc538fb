//! Stored permission requests and their decisions.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::{PermissionOption, Timestamp};

use crate::id::{ApprovalId, AttemptRef};

/// A stored permission request. One process asks, and another one may record the decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// The id.
    pub id: ApprovalId,
    /// The request.
    #[serde(flatten)]
    pub request: NewApproval,
    /// When the request was made.
    pub created_at: Timestamp,
    /// The decision. `None` while the request is pending.
    pub decision: Option<ApprovalDecision>,
}

impl Approval {
    /// Returns why a chosen option has no effect: another one was chosen first, or the request was withdrawn.
    pub fn rejection(&self, option: &str) -> Option<String> {
        let id = self.id;
        let decision = self.decision.as_ref();
        match decision.and_then(|decision| decision.option.as_deref()) {
            Some(chosen) if chosen == option => None,
            Some(other) => Some(format!(
                "permission request {id} was already decided: {other}"
            )),
            None => Some(format!(
                "permission request {id} was withdrawn: its turn has ended"
            )),
        }
    }
}

/// A permission request to be stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewApproval {
    /// The attempt that asks for permission.
    pub attempt: AttemptRef,
    /// The agent's name.
    pub agent: String,
    /// The tool that needs the permission.
    pub tool: String,
    /// The input of the tool.
    pub input: Value,
    /// The options that the agent offers.
    pub options: Vec<PermissionOption>,
    /// When the turn that asks ends at the latest. A later decision has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

/// The decision on a permission request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDecision {
    /// The id of the chosen option. `None` if the request was withdrawn because the turn ended first.
    pub option: Option<String>,
    /// When it was decided.
    pub at: Timestamp,
}
