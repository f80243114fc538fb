//! One answer made into a step of a trace, while it is passed on.

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use windlass_core::{ErrorCode, TraceCollector, TurnTrace};
use windlass_wire::ModelEvent;

use super::budget::{Prices, to_core_usage};
use super::failure;

/// An answer under way. Dropped before its end, it was stopped.
pub(crate) struct TracedResponse {
    trace: TurnTrace,
    nodes: TraceCollector,
    prices: Option<Prices>,
    over: bool,
}

impl TracedResponse {
    /// A step that will be added to these.
    pub(crate) fn start(trace: TurnTrace, nodes: &TraceCollector, prices: Option<Prices>) -> Self {
        Self {
            trace,
            nodes: nodes.clone(),
            prices,
            over: false,
        }
    }

    /// Takes in a piece of the answer.
    pub(crate) fn on_event(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Usage(usage) => {
                let mut said = to_core_usage(usage);
                said.cost_usd = self.prices.map(|prices| prices.cost(usage));
                self.trace.add_usage(said);
            }
            ModelEvent::Error(error) => {
                self.trace.set_diagnostics(failure::diagnostics(error));
                self.trace.fail(failure::code(error.kind), &error.message);
            }
            _ => {}
        }
    }

    /// These were steps inside it.
    pub(crate) fn add_children(&mut self, inner: &TraceCollector) {
        self.trace.add_children(inner.take());
    }

    /// Ends the step.
    pub(crate) fn finish(&mut self) {
        if !std::mem::replace(&mut self.over, true) {
            self.nodes.push(self.trace.finish());
        }
    }
}

impl Drop for TracedResponse {
    fn drop(&mut self) {
        if !self.over {
            let message = "stopped before its end";
            self.trace.fail(ErrorCode::Cancelled, message);
            self.finish();
        }
    }
}

/// The same events, and a step of them.
pub(super) fn traced(
    events: BoxStream<'static, ModelEvent>,
    told: TracedResponse,
) -> BoxStream<'static, ModelEvent> {
    let heard = stream::unfold((events, told), |(mut events, mut told)| async move {
        let event = events.next().await?;
        told.on_event(&event);
        if event.is_terminal() {
            told.finish();
        }
        Some((event, (events, told)))
    });
    heard.boxed()
}
