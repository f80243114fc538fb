//! Whole conversations answered by the first node that can, where every node is one that takes them.

use std::future::ready;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::sync::mpsc;
use windlass_core::{ErrorCode, TraceCollector, TurnTrace};
use windlass_wire::{ErrorKind, ModelError, ModelEvent, ModelRequest};

use super::FallbackCause;
use super::backend::{Composite, CompositeState};
use super::cooldown::NodeOrder;
use super::hold_buffer::HoldBuffer;
use crate::model::{CompletionModel, TracedResponse, completion_model, failure};

/// How many events may wait before the answer does.
const EVENT_QUEUE: usize = 16;

/// An answer under way. It runs inside its own stream, so that dropping the stream ends it.
struct CompletionRun {
    shared: Arc<CompositeState>,
    request: ModelRequest,
    out: mpsc::Sender<ModelEvent>,
    nodes: TraceCollector,
}

impl CompletionModel for Composite {
    fn complete_traced(
        &self,
        request: ModelRequest,
        nodes: &TraceCollector,
    ) -> BoxStream<'static, ModelEvent> {
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
        let asking = CompletionRun {
            shared: Arc::clone(&self.shared),
            request,
            out: sender,
            nodes: nodes.clone(),
        };
        let work = stream::once(asking.run()).filter_map(|()| ready(None));
        let events = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|event| (event, receiver))
        });
        stream::select(events, work).boxed()
    }
}

impl CompletionRun {
    async fn run(self) {
        let order = self.shared.cooling.order();
        for (node, rest, left) in &order.resting {
            let mut trace = TurnTrace::start(&self.shared.clock, "skipped", self.name(*node));
            trace.fail(rest.code, &format!("rests for {} s more", left.as_secs()));
            self.nodes.push(trace.finish());
        }
        let mut failures = Vec::new();
        for (place, node) in order.ask.iter().enumerate() {
            let replaceable = place + 1 < order.ask.len();
            match self.ask(*node, replaceable).await {
                Ok(()) => return,
                Err(error) => failures.push((*node, error)),
            }
        }
        let error = self.all_failed(failures, &order);
        self.send_all(vec![ModelEvent::Error(error)]).await;
    }

    /// Asks one node. The error is what it failed with before it had begun.
    async fn ask(&self, node: usize, replaceable: bool) -> Result<(), ModelError> {
        let shared = &self.shared;
        let of_node = shared.nodes.get(node);
        let Some(native) = of_node.and_then(|node| completion_model(&node.agent)) else {
            let message = format!("{} takes no conversations", self.name(node));
            return Err(ModelError::new(ErrorKind::Server, message));
        };
        let inner = TraceCollector::default();
        let trace = TurnTrace::start(&shared.clock, "node", self.name(node));
        let mut step = TracedResponse::start(trace, &self.nodes, None);
        let mut hold = HoldBuffer::new(replaceable);
        let mut events = native.complete_traced(self.request.clone(), &inner);
        let mut last = None;
        while let Some(event) = events.next().await {
            step.on_event(&event);
            if event.is_terminal() {
                last = Some(event);
                break;
            }
            self.send_all(hold.push(event)).await;
        }
        drop(events);
        step.add_children(&inner);
        step.finish();
        let error = match last {
            Some(ModelEvent::Error(error)) => error,
            Some(done) => {
                shared.cooling.record_success(node);
                self.send_all(hold.drain()).await;
                self.send_all(vec![done]).await;
                return Ok(());
            }
            None => ModelError::new(ErrorKind::Interrupted, "the answer has no end"),
        };
        let code = failure::code(error.kind);
        if shared.profile.falls_back_on(FallbackCause::from_code(code)) {
            shared.cooling.record_failure(node, code, error.retry_after);
            if !hold.has_started() || !replaceable {
                return Err(error);
            }
        }
        self.send_all(hold.drain()).await;
        self.send_all(vec![ModelEvent::Error(error)]).await;
        Ok(())
    }

    /// No node answered: how that is told.
    fn all_failed(&self, mut failures: Vec<(usize, ModelError)>, order: &NodeOrder) -> ModelError {
        let said: Vec<String> = failures
            .iter()
            .map(|(node, error)| format!("{}: {}", self.name(*node), error.message))
            .collect();
        match failures.pop() {
            Some((_, mut error)) => {
                if said.len() > 1 {
                    error.message = format!("no node answered: {}", said.join("; "));
                }
                error
            }
            None => {
                let limited = order
                    .resting
                    .iter()
                    .any(|(_, rest, _)| rest.code == ErrorCode::RateLimited);
                let kind = match limited {
                    true => ErrorKind::RateLimited,
                    false => ErrorKind::Overloaded,
                };
                let error = ModelError::new(kind, "every node rests: ask again later");
                match order.earliest_ready() {
                    Some(soonest) => error.with_retry_after(soonest),
                    None => error,
                }
            }
        }
    }

    fn name(&self, node: usize) -> &str {
        let node = self.shared.nodes.get(node);
        node.map_or("nobody", |node| node.name.as_str())
    }

    /// Sends events. If nobody listens any more, the answer is about to be dropped.
    async fn send_all(&self, events: Vec<ModelEvent>) {
        for event in events {
            let _ = self.out.send(event).await;
        }
    }
}
