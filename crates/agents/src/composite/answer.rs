//! Whole conversations answered by the first node that can, where every node is one that takes them.

use std::future::ready;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::sync::mpsc;
use windlass_core::{ErrorCode, TraceNodes, TurnTrace};
use windlass_wire::{ErrorKind, ModelError, ModelEvent, ModelRequest};

use super::Cause;
use super::backend::{Composite, Shared};
use super::cooling::Order;
use super::hold::Hold;
use crate::model::{Answers, Told, answers, failure};

/// How many events may wait before the answer does.
const QUEUE: usize = 16;

/// An answer under way. It runs inside its own stream, so that dropping the stream ends it.
struct Asking {
    shared: Arc<Shared>,
    request: ModelRequest,
    out: mpsc::Sender<ModelEvent>,
    nodes: TraceNodes,
}

impl Answers for Composite {
    fn answer_with(
        &self,
        request: ModelRequest,
        nodes: &TraceNodes,
    ) -> BoxStream<'static, ModelEvent> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let asking = Asking {
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

impl Asking {
    async fn run(self) {
        let order = self.shared.cooling.order();
        for (node, rest, left) in &order.resting {
            let mut trace = TurnTrace::begin(&self.shared.clock, "skipped", self.name(*node));
            trace.failed(rest.code, &format!("rests for {} s more", left.as_secs()));
            self.nodes.add(trace.close());
        }
        let mut failures = Vec::new();
        for (place, node) in order.ask.iter().enumerate() {
            let replaceable = place + 1 < order.ask.len();
            match self.ask(*node, replaceable).await {
                Ok(()) => return,
                Err(error) => failures.push((*node, error)),
            }
        }
        let error = self.nobody(failures, &order);
        self.send_all(vec![ModelEvent::Error(error)]).await;
    }

    /// Asks one node. The error is what it failed with before it had begun.
    async fn ask(&self, node: usize, replaceable: bool) -> Result<(), ModelError> {
        let shared = &self.shared;
        let of_node = shared.nodes.get(node);
        let Some(native) = of_node.and_then(|node| answers(&node.agent)) else {
            let message = format!("{} takes no conversations", self.name(node));
            return Err(ModelError::new(ErrorKind::Server, message));
        };
        let inner = TraceNodes::default();
        let trace = TurnTrace::begin(&shared.clock, "node", self.name(node));
        let mut step = Told::begin(trace, &self.nodes, None);
        let mut hold = Hold::new(replaceable);
        let mut events = native.answer_with(self.request.clone(), &inner);
        let mut last = None;
        while let Some(event) = events.next().await {
            step.hear(&event);
            if event.is_last() {
                last = Some(event);
                break;
            }
            self.send_all(hold.take(event)).await;
        }
        drop(events);
        step.adopt(&inner);
        step.close();
        let error = match last {
            Some(ModelEvent::Error(error)) => error,
            Some(done) => {
                shared.cooling.well(node);
                self.send_all(hold.release()).await;
                self.send_all(vec![done]).await;
                return Ok(());
            }
            None => ModelError::new(ErrorKind::Cut, "the answer has no end"),
        };
        let code = failure::code(error.kind);
        if shared.profile.passes_over(Cause::of(code)) {
            shared.cooling.failed(node, code, error.retry_after);
            if !hold.has_begun() || !replaceable {
                return Err(error);
            }
        }
        self.send_all(hold.release()).await;
        self.send_all(vec![ModelEvent::Error(error)]).await;
        Ok(())
    }

    /// No node answered: how that is told.
    fn nobody(&self, mut failures: Vec<(usize, ModelError)>, order: &Order) -> ModelError {
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
                match order.soonest() {
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
