//! Calls that this program makes itself, without the listener.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use windlass_agents::bridge::{CountedCall, ModelRoute, OwnRequest};
use windlass_tasks::{CallLabels, CallStatus};
use windlass_wire::{ErrorKind, ModelError, ReportedUsage};

use crate::admission::admit;
use crate::meter::{Meter, MeteredCall};
use crate::metered_body::nothing_reported;
use crate::request_facts::RequestFacts;
use crate::route::{account_of, labels};

/// A call of this program.
pub(crate) struct OwnCall {
    meter: Arc<Meter>,
    labels: CallLabels,
    /// `None` after the end.
    call: Option<MeteredCall>,
}

/// Admits a call, or returns why it may not be sent.
pub(crate) async fn begin(
    meter: Arc<Meter>,
    route: ModelRoute,
    request: OwnRequest,
) -> Result<OwnCall, ModelError> {
    let account = account_of(&route)
        .map_err(|problem| ModelError::new(ErrorKind::InvalidRequest, problem))?;
    let max_calls = route.max_calls;
    let labels = CallLabels {
        account,
        ..labels(route.agent, route.work)
    };
    let facts = RequestFacts {
        dialect: Some(request.dialect),
        model: Some(request.model),
        max_output: request.max_output,
        answers: 1,
        bytes: request.bytes,
    };
    // This program runs its tools itself.
    let call = admit(&meter, (&labels, max_calls), &facts, b"{}").await?;
    Ok(OwnCall {
        meter,
        labels,
        call: Some(call),
    })
}

impl CountedCall for OwnCall {
    fn end(mut self: Box<Self>, end: Result<ReportedUsage, ModelError>) -> BoxFuture<'static, ()> {
        async move {
            let Some(call) = self.call.take() else {
                return;
            };
            match end {
                Ok(found) if found.error.is_some() => {
                    call.settle(CallStatus::Interrupted, None, found);
                }
                Ok(found) => call.settle(CallStatus::Done, None, found),
                Err(error) => {
                    call.settle(CallStatus::Failed, Some(error.status), nothing_reported());
                    self.meter.on_error(&self.labels, &error).await;
                }
            }
        }
        .boxed()
    }
}

impl Drop for OwnCall {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            call.settle(CallStatus::Interrupted, None, nothing_reported());
        }
    }
}
