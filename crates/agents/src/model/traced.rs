//! Records a response as a step of a trace while it is forwarded.

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use windlass_core::{ErrorCode, TraceCollector, TurnTrace};
use windlass_wire::ModelEvent;

use super::budget::to_core_usage;
use super::failure;
use super::prices::Prices;

/// The trace step of a running response. If it is dropped before the end, the step is recorded as cancelled.
pub(crate) struct TracedResponse {
    trace: TurnTrace,
    nodes: TraceCollector,
    prices: Option<Prices>,
    finished: bool,
}

impl TracedResponse {
    /// Starts a step that will be added to `nodes`.
    pub(crate) fn start(trace: TurnTrace, nodes: &TraceCollector, prices: Option<Prices>) -> Self {
        Self {
            trace,
            nodes: nodes.clone(),
            prices,
            finished: false,
        }
    }

    /// Updates the step with an event of the response.
    pub(crate) fn on_event(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Usage(usage) => {
                let mut total = to_core_usage(usage);
                total.cost_usd = self.prices.map(|prices| prices.cost(usage));
                self.trace.add_usage(total);
            }
            ModelEvent::Error(error) => {
                self.trace.set_diagnostics(failure::diagnostics(error));
                self.trace.fail(failure::code(error.kind), &error.message);
            }
            _ => {}
        }
    }

    /// Adds the collected steps as children.
    pub(crate) fn add_children(&mut self, inner: &TraceCollector) {
        self.trace.add_children(inner.take());
    }

    /// Ends the step.
    pub(crate) fn finish(&mut self) {
        if !std::mem::replace(&mut self.finished, true) {
            self.nodes.push(self.trace.finish());
        }
    }
}

impl Drop for TracedResponse {
    fn drop(&mut self) {
        if !self.finished {
            let message = "stopped before it finished";
            self.trace.fail(ErrorCode::Cancelled, message);
            self.finish();
        }
    }
}

/// Forwards the events and records them in the step.
pub(super) fn traced(
    events: BoxStream<'static, ModelEvent>,
    step: TracedResponse,
) -> BoxStream<'static, ModelEvent> {
    let events = stream::unfold((events, step), |(mut events, mut step)| async move {
        let event = events.next().await?;
        step.on_event(&event);
        if event.is_terminal() {
            step.finish();
        }
        Some((event, (events, step)))
    });
    events.boxed()
}
