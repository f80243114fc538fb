//! Stateless completions by the first available node, if every node is a [`CompletionModel`].

use std::future::ready;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::sync::mpsc;
use windlass_core::{ErrorCode, TurnTrace};
use windlass_wire::{ErrorKind, ModelError, ModelEvent, ModelRequest};

use super::FallbackCause;
use super::backend::Composite;
use super::cooldown::NodeOrder;
use super::hold_buffer::HoldBuffer;
use super::state::CompositeState;
use crate::model::{CompletionContext, CompletionModel, TracedResponse, completion_model, failure};

/// Capacity of the event channel; the run waits when it is full.
const EVENT_QUEUE: usize = 16;

/// A running completion. It runs inside its own stream, so that dropping the stream ends it.
struct CompletionRun {
    shared: Arc<CompositeState>,
    request: ModelRequest,
    out: mpsc::Sender<ModelEvent>,
    context: CompletionContext,
}

impl CompletionModel for Composite {
    fn complete_in(
        &self,
        request: ModelRequest,
        context: &CompletionContext,
    ) -> BoxStream<'static, ModelEvent> {
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
        let run = CompletionRun {
            shared: Arc::clone(&self.shared),
            request,
            out: sender,
            context: context.clone(),
        };
        let work = stream::once(run.run()).filter_map(|()| ready(None));
        let events = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|event| (event, receiver))
        });
        stream::select(events, work).boxed()
    }
}

impl CompletionRun {
    async fn run(self) {
        let order = self.shared.cooldowns.order();
        for (node, cooldown, remaining) in &order.cooling {
            let mut trace = TurnTrace::start(&self.shared.clock, "skipped", self.name(*node));
            let message = format!("cooling down for {} s more", remaining.as_secs());
            trace.fail(cooldown.code, &message);
            self.context.nodes.push(trace.finish());
        }
        let mut failures = Vec::new();
        for (position, node) in order.nodes.iter().enumerate() {
            let replaceable = position + 1 < order.nodes.len();
            match self.run_node(*node, replaceable).await {
                Ok(()) => return,
                Err(error) => failures.push((*node, error)),
            }
        }
        let error = self.all_failed(failures, &order);
        self.send_all(vec![ModelEvent::Error(error)]).await;
    }

    /// Runs one node. Returns an error if the node failed before its output started, so that the next node can run.
    async fn run_node(&self, node: usize, replaceable: bool) -> Result<(), ModelError> {
        let shared = &self.shared;
        let configured = shared.nodes.get(node);
        let Some(model) = configured.and_then(|node| completion_model(&node.agent)) else {
            let message = format!("{} does not support completions", self.name(node));
            return Err(ModelError::new(ErrorKind::Server, message));
        };
        let inner = CompletionContext {
            work: self.context.work.clone(),
            ..CompletionContext::default()
        };
        let trace = TurnTrace::start(&shared.clock, "node", self.name(node));
        let mut step = TracedResponse::start(trace, &self.context.nodes, None);
        let mut hold = HoldBuffer::new(replaceable);
        let mut events = model.complete_in(self.request.clone(), &inner);
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
        step.add_children(&inner.nodes);
        step.finish();
        let error = match last {
            Some(ModelEvent::Error(error)) => error,
            Some(done) => {
                shared.cooldowns.record_success(node);
                self.send_all(hold.drain()).await;
                self.send_all(vec![done]).await;
                return Ok(());
            }
            None => ModelError::new(
                ErrorKind::Interrupted,
                "the response ended without a terminal event",
            ),
        };
        let code = failure::code(error.kind);
        if shared.profile.falls_back_on(FallbackCause::from_code(code)) {
            shared
                .cooldowns
                .record_failure(node, code, error.retry_after);
            if !hold.has_started() || !replaceable {
                return Err(error);
            }
        }
        self.send_all(hold.drain()).await;
        self.send_all(vec![ModelEvent::Error(error)]).await;
        Ok(())
    }

    /// Builds the error for the case that no node answered.
    fn all_failed(&self, mut failures: Vec<(usize, ModelError)>, order: &NodeOrder) -> ModelError {
        let messages: Vec<String> = failures
            .iter()
            .map(|(node, error)| format!("{}: {}", self.name(*node), error.message))
            .collect();
        match failures.pop() {
            Some((_, mut error)) => {
                if messages.len() > 1 {
                    error.message = format!("no node answered: {}", messages.join("; "));
                }
                error
            }
            None => {
                let limited = order
                    .cooling
                    .iter()
                    .any(|(_, cooldown, _)| cooldown.code == ErrorCode::RateLimited);
                let kind = if limited {
                    ErrorKind::RateLimited
                } else {
                    ErrorKind::Overloaded
                };
                let error = ModelError::new(kind, "all nodes are cooling down: try again later");
                match order.earliest_ready() {
                    Some(retry_after) => error.with_retry_after(retry_after),
                    None => error,
                }
            }
        }
    }

    fn name(&self, node: usize) -> &str {
        let node = self.shared.nodes.get(node);
        node.map_or("unknown", |node| node.name.as_str())
    }

    /// Sends events. Errors are ignored: if the receiver was dropped, this run is about to be dropped too.
    async fn send_all(&self, events: Vec<ModelEvent>) {
        for event in events {
            let _ = self.out.send(event).await;
        }
    }
}
