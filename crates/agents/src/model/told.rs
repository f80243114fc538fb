//! One answer made into a step of a trace, while it is passed on.

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use windlass_core::{ErrorCode, TraceNodes, TurnTrace};
use windlass_wire::ModelEvent;

use super::budget::{Prices, counted};
use super::failure;

/// An answer under way. Dropped before its end, it was stopped.
pub(crate) struct Told {
    trace: TurnTrace,
    nodes: TraceNodes,
    prices: Option<Prices>,
    over: bool,
}

impl Told {
    /// A step that will be added to these.
    pub(crate) fn begin(trace: TurnTrace, nodes: &TraceNodes, prices: Option<Prices>) -> Self {
        Self {
            trace,
            nodes: nodes.clone(),
            prices,
            over: false,
        }
    }

    /// Takes in a piece of the answer.
    pub(crate) fn hear(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Usage(usage) => {
                let mut said = counted(usage);
                said.cost_usd = self.prices.map(|prices| prices.cost(usage));
                self.trace.consumed(said);
            }
            ModelEvent::Error(error) => {
                self.trace.left(failure::left(error));
                self.trace.failed(failure::code(error.kind), &error.message);
            }
            _ => {}
        }
    }

    /// These were steps inside it.
    pub(crate) fn adopt(&mut self, inner: &TraceNodes) {
        self.trace.adopt(inner.take());
    }

    /// Ends the step.
    pub(crate) fn close(&mut self) {
        if !std::mem::replace(&mut self.over, true) {
            self.nodes.add(self.trace.close());
        }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        if !self.over {
            let message = "stopped before its end";
            self.trace.failed(ErrorCode::Cancelled, message);
            self.close();
        }
    }
}

/// The same events, and a step of them.
pub(super) fn told(
    events: BoxStream<'static, ModelEvent>,
    told: Told,
) -> BoxStream<'static, ModelEvent> {
    let heard = stream::unfold((events, told), |(mut events, mut told)| async move {
        let event = events.next().await?;
        told.hear(&event);
        if event.is_last() {
            told.close();
        }
        Some((event, (events, told)))
    });
    heard.boxed()
}
