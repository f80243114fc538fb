//! Stores an agent's permission requests, so that users can decide them.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::permission::SessionApprover;
use windlass_core::{Approver, Clock, PermissionRequest};
use windlass_tasks::{ApprovalId, Approvals, AttemptRef, NewApproval};

use super::retry_transient;
use super::turn_deadline::TurnDeadline;
use crate::Runner;

/// How often the store is polled for a decision.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Requests approval through the store for one attempt.
#[derive(Debug)]
struct StoreApprover {
    store: Arc<dyn Approvals>,
    clock: Arc<dyn Clock>,
    at: AttemptRef,
    /// Display name of the requesting agent.
    agent: String,
    /// When the turn that asks ends.
    deadline: TurnDeadline,
}

/// Returns the approver of this attempt: the one from the settings, or else one that waits for a decision in
/// the store. It is used only if the policy is to ask; the agent's own policy may apply instead of that of
/// the settings.
pub(super) fn approver(
    runner: &Runner,
    at: AttemptRef,
    agent: &str,
    deadline: &TurnDeadline,
) -> SessionApprover {
    if runner.settings.approver.0.is_some() {
        return runner.settings.approver.clone();
    }
    SessionApprover(Some(Arc::new(StoreApprover {
        store: runner.store.clone(),
        clock: Arc::clone(&runner.clock),
        at,
        agent: agent.to_owned(),
        deadline: deadline.clone(),
    })))
}

impl Approver for StoreApprover {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let new = NewApproval {
                attempt: self.at,
                agent: self.agent.clone(),
                tool: request.tool,
                input: request.input,
                options: request.options,
                deadline: self.deadline.get(),
            };
            let approval = self.store.request_approval(new).await.ok()?;
            let mut pending = PendingApproval {
                store: Arc::clone(&self.store),
                id: approval.id,
                decided: false,
            };
            loop {
                let read = || self.store.approval(approval.id);
                let current = retry_transient(&*self.clock, read).await.ok()?;
                if let Some(decision) = current.decision {
                    pending.decided = true;
                    return decision.option;
                }
                self.clock.sleep(POLL_INTERVAL).await;
            }
        })
    }
}

/// An undecided permission request. It is withdrawn on drop: the turn has ended, so a decision would have no
/// effect.
struct PendingApproval {
    store: Arc<dyn Approvals>,
    id: ApprovalId,
    decided: bool,
}

impl Drop for PendingApproval {
    fn drop(&mut self) {
        if self.decided {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let store = Arc::clone(&self.store);
            let id = self.id;
            runtime.spawn(async move { store.decide_approval(id, None).await });
        }
    }
}
