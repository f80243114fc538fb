//! Whether a call may be sent: by the policy, by the provider's limits and by the spending limits.

use std::sync::Arc;
use std::time::Duration;

use windlass_agents::bridge::BUDGET_EXCEEDED;
use windlass_tasks::CallLabels;
use windlass_wire::{ErrorKind, ModelError};

use crate::limit_answer::{LimitAnswer, MAX_AGENT_WAIT};
use crate::meter::{Meter, MeteredCall};
use crate::request_facts::RequestFacts;
use crate::route::ProviderRoute;

/// Counts a call, or returns why it may not be sent.
pub(crate) async fn admit(
    meter: &Arc<Meter>,
    (labels, max_calls): (&CallLabels, Option<u32>),
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
    let slot = match max_calls {
        None => None,
        Some(max) => Some(meter.slots().wait(&labels.account, max).await?),
    };
    let call = meter.begin(labels, request).await;
    let call = call.map_err(|problem| {
        let message = format!("{BUDGET_EXCEEDED}: {problem}");
        ModelError::new(ErrorKind::Permission, message)
    })?;
    Ok(call.in_slot(slot))
}

/// Returns the account for a call: the first that need not wait, or else the one with the shortest wait. The others are those that
/// can replace it.
pub(crate) async fn accounts<'r>(
    meter: &Meter,
    route: &'r ProviderRoute,
) -> (&'r ProviderRoute, Vec<&'r ProviderRoute>) {
    let mut ready = Vec::new();
    if route.others.is_empty() {
        return (route, ready);
    }
    let mut shortest = (Duration::MAX, route);
    for account in std::iter::once(route).chain(&route.others) {
        match meter.account_limit(&account.labels).await {
            None => ready.push(account),
            Some(limit) if limit.wait < shortest.0 => shortest = (limit.wait, account),
            Some(_) => {}
        }
    }
    if ready.is_empty() {
        return (shortest.1, ready);
    }
    (ready.remove(0), ready)
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
