//! Puts an agent's permission requests into the store, where whoever decides finds them.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use windlass_core::permission::SessionApprover;
use windlass_core::task::{AttemptRef, NewApproval, RecordId};
use windlass_core::{Approver, Clock, PermissionRequest, TaskStore};

use super::retry_transient;
use crate::Runner;

/// How often the store is asked whether somebody has decided.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Asks through the store on behalf of one attempt.
#[derive(Debug)]
struct StoreApprover {
    store: Arc<dyn TaskStore>,
    clock: Arc<dyn Clock>,
    at: AttemptRef,
    /// What people call the agent that asks.
    agent: String,
}

/// Who decides in this attempt: whom the settings name, else whoever looks into the store. Asked only where the policy
/// says so, and that may be the agent's own rather than the settings'.
pub(super) fn approver(runner: &Runner, at: AttemptRef, agent: &str) -> SessionApprover {
    if runner.settings.approver.0.is_some() {
        return runner.settings.approver.clone();
    }
    SessionApprover(Some(Arc::new(StoreApprover {
        store: Arc::clone(&runner.store),
        clock: Arc::clone(&runner.clock),
        at,
        agent: agent.to_owned(),
    })))
}

impl Approver for StoreApprover {
    fn decide(&self, ask: PermissionRequest) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let asked = NewApproval {
                attempt: self.at,
                agent: self.agent.clone(),
                tool: ask.tool,
                input: ask.input,
                options: ask.options,
            };
            let asked = self.store.request_approval(asked).await.ok()?;
            let mut open = PendingApproval {
                store: Arc::clone(&self.store),
                id: asked.id,
                decided: false,
            };
            loop {
                let look = || self.store.approval(asked.id);
                let found = retry_transient(&*self.clock, look).await.ok()?;
                if let Some(decision) = found.decision {
                    open.decided = true;
                    return decision.option;
                }
                self.clock.sleep(POLL_INTERVAL).await;
            }
        })
    }
}

/// A question that nobody has answered yet. Dropped, it is withdrawn: the turn has ended, and no answer would be heard.
struct PendingApproval {
    store: Arc<dyn TaskStore>,
    id: RecordId,
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
