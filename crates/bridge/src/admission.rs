//! Whether a call may be sent: by the policy, by the provider's limits and by the spending limits.

use std::sync::Arc;
use std::time::Duration;

use windlass_agents::bridge::BUDGET_EXCEEDED;
use windlass_tasks::CallLabels;
use windlass_wire::{ErrorKind, ModelError};

use crate::limit_answer::LimitAnswer;
use crate::meter::{Meter, MeteredCall};
use crate::request_facts::RequestFacts;

/// How long an agent may wait by itself. For a longer wait its turn must fail soon, so that Windlass can wait, or go on with
/// another agent.
pub(crate) const MAX_AGENT_WAIT: Duration = Duration::from_secs(5);

/// Counts a call, or returns why it may not be sent.
pub(crate) async fn admit(
    meter: &Arc<Meter>,
    labels: &CallLabels,
    request: &RequestFacts,
    body: &[u8],
) -> Result<MeteredCall, ModelError> {
    if let Some(problem) = meter.policy_problem(labels, request, body).await {
        let message = format!("windlass policy: {problem}");
        return Err(ModelError::new(ErrorKind::Permission, message));
    }
    if let Some(limit) = hold(meter, labels).await {
        meter.store_refused(labels, request, None).await;
        return Err(limit_error(&labels.account, &limit));
    }
    let call = meter.begin(labels, request).await;
    call.map_err(|problem| {
        let message = format!("{BUDGET_EXCEEDED}: {problem}");
        ModelError::new(ErrorKind::Permission, message)
    })
}

/// Waits for a limit that ends soon. Returns a longer one.
async fn hold(meter: &Meter, labels: &CallLabels) -> Option<LimitAnswer> {
    let limit = meter.account_limit(labels).await?;
    if limit.wait > MAX_AGENT_WAIT {
        return Some(limit);
    }
    meter.clock().sleep(limit.wait).await;
    None
}

/// Returns the error of a call whose account must wait.
fn limit_error(account: &str, limit: &LimitAnswer) -> ModelError {
    let (seconds, reason) = (limit.wait.as_secs() + 1, &limit.reason);
    let message = format!("rate limit of {account}: try again in {seconds} s ({reason})");
    ModelError::new(ErrorKind::RateLimited, message).with_retry_after(limit.wait)
}
