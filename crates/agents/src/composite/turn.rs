//! One turn of a composite, as a stream that owns the turns of its nodes.

use std::future::ready;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream;
use tokio::sync::{Notify, mpsc};
use windlass_core::{
    AgentEvent, BackendEvent, Error, ErrorCode, EventReceiver, EventStream, Result, SessionId,
    TurnDiagnostics, TurnTrace, Usage,
};

use super::backend::{CompositeState, Node};
use super::cooldown::NodeOrder;
use super::hold_buffer::HoldBuffer;
use super::session::CompositeSession;
use super::{CompositeKind, FallbackCause};

/// How many events may wait before the turn does.
const EVENT_QUEUE: usize = 16;

/// A turn under way. It runs inside its own stream, so that dropping the stream ends it.
pub(super) struct CompositeTurn {
    pub(super) shared: Arc<CompositeState>,
    pub(super) session: Arc<CompositeSession>,
    /// What was asked, in the caller's words.
    pub(super) prompt: String,
    out: mpsc::Sender<BackendEvent>,
    pub(super) stop: Arc<Notify>,
    /// Whether somebody asked for the end.
    pub(super) stopped: bool,
    /// What all nodes took together, where they say so.
    pub(super) usage: Option<Usage>,
}

/// What came of asking a node.
pub(super) enum NodeOutcome {
    /// The turn ends so.
    Finished(AgentEvent),
    /// The next node is asked.
    FellBack(NodeFailure),
}

/// How a node failed.
pub(super) struct NodeFailure {
    end: AgentEvent,
    cause: Option<FallbackCause>,
    left: TurnDiagnostics,
}

impl NodeFailure {
    fn new(error: Error) -> Self {
        let after = match &error {
            Error::Agent { retry_after, .. } => *retry_after,
            _ => None,
        };
        Self {
            cause: FallbackCause::from_error(&error),
            left: TurnDiagnostics::default().with_retry_after(after),
            end: error.into(),
        }
    }

    fn ended(end: AgentEvent, left: TurnDiagnostics) -> Self {
        Self {
            cause: FallbackCause::from_code(code_of(&end)),
            left,
            end,
        }
    }
}

impl CompositeTurn {
    /// Begins a turn.
    pub(super) fn start(
        shared: Arc<CompositeState>,
        session: Arc<CompositeSession>,
        prompt: String,
    ) -> EventStream {
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
        let turn = Self {
            stop: session.begin_turn(),
            shared,
            session,
            prompt,
            out: sender,
            stopped: false,
            usage: None,
        };
        let work = stream::once(turn.run()).filter_map(|()| ready(None));
        let events = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|event| (event, receiver))
        });
        Box::pin(stream::select(events, work))
    }

    async fn run(mut self) {
        let end = match self.shared.profile.kind {
            CompositeKind::PlanExecute => self.plan_and_execute().await,
            CompositeKind::Single | CompositeKind::Fallback => self.run_fallback().await,
        };
        self.send(end).await;
    }

    /// Asks one node after the other until one answers.
    async fn run_fallback(&mut self) -> AgentEvent {
        let mut order = self.shared.cooling.order();
        if let Some(home) = self.session.preferred_node() {
            // The others are as they were before one another: a stable sort.
            order.ask.sort_by_key(|node| *node != home);
        }
        self.skip(&order).await;
        let prompt = self.prompt.clone();
        let mut failures: Vec<(usize, NodeFailure)> = Vec::new();
        for (place, node) in order.ask.iter().enumerate() {
            let replaceable = place + 1 < order.ask.len();
            match self.run_node(*node, &prompt, replaceable).await {
                NodeOutcome::Finished(end) => return end,
                NodeOutcome::FellBack(failed) => failures.push((*node, failed)),
            }
        }
        self.all_failed(failures, &order).await
    }

    /// Tells of those that rest.
    async fn skip(&self, order: &NodeOrder) {
        for (node, rest, left) in &order.resting {
            let mut trace = TurnTrace::start(&self.shared.clock, "skipped", self.name(*node));
            trace.fail(rest.code, &format!("rests for {} s more", left.as_secs()));
            self.send(trace.finish().to_event()).await;
        }
    }

    /// No node answered: how that is the end of the turn.
    async fn all_failed(
        &self,
        failures: Vec<(usize, NodeFailure)>,
        order: &NodeOrder,
    ) -> AgentEvent {
        let mut said = Vec::new();
        for (node, failed) in &failures {
            let words = match &failed.end {
                AgentEvent::Error { message, .. } => message,
                AgentEvent::SessionInvalid { reason } => reason,
                _ => continue,
            };
            said.push(format!("{}: {words}", self.name(*node)));
        }
        let soonest = order.earliest_ready();
        let (end, left) = match failures.into_iter().last() {
            Some((_, failed)) if said.len() < 2 => (failed.end, failed.left),
            Some((_, failed)) => {
                let message = format!("no node answered: {}", said.join("; "));
                let code = code_of(&failed.end);
                let recoverable = is_recoverable(&failed.end);
                let end = AgentEvent::Error {
                    code,
                    message,
                    recoverable,
                };
                (end, failed.left)
            }
            None => {
                let names = order.resting.iter().map(|(node, _, left)| {
                    format!("{} for {} s more", self.name(*node), left.as_secs())
                });
                let names: Vec<String> = names.collect();
                let message = format!("every node rests: {}", names.join(", "));
                let code = order.resting.first().map(|(_, rest, _)| rest.code);
                let end = AgentEvent::Error {
                    code: code.unwrap_or(ErrorCode::RateLimited),
                    message,
                    recoverable: true,
                };
                (end, TurnDiagnostics::default().with_retry_after(soonest))
            }
        };
        let (before, end) = left.attach_to(end);
        if let Some(before) = before {
            self.send(before).await;
        }
        end
    }

    /// Asks one node, and passes on what it says once it has begun.
    pub(super) async fn run_node(
        &mut self,
        node: usize,
        text: &str,
        replaceable: bool,
    ) -> NodeOutcome {
        let shared = Arc::clone(&self.shared);
        let Some(Node { name, agent }) = shared.nodes.get(node) else {
            return NodeOutcome::Finished(
                Error::InvalidInput("there is no such node".to_owned()).into(),
            );
        };
        let mut trace = TurnTrace::start(&shared.clock, "node", name);
        let stop = Arc::clone(&self.stop);
        let opened = tokio::select! {
            opened = self.open(node, text) => opened,
            () = stop.notified() => {
                self.stopped = true;
                Err(Error::Cancelled)
            }
        };
        let (session, mut events) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                trace.fail_to_start(&error);
                return self
                    .failed(node, trace, NodeFailure::new(error), false)
                    .await;
            }
        };
        let mut hold = HoldBuffer::new(replaceable);
        let mut left = TurnDiagnostics::default();
        let end = loop {
            let next = tokio::select! {
                next = events.recv_envelope() => next,
                () = self.stop.notified(), if !self.stopped => {
                    self.stopped = true;
                    let _ = agent.cancel(&session).await;
                    continue;
                }
            };
            let Some(envelope) = next else {
                break Error::agent(ErrorCode::BackendError, "the node's turn has no end").into();
            };
            trace.on_event(&envelope.event);
            match envelope.event {
                AgentEvent::SessionChanged { new_session_id } => {
                    self.session.set_node_session(node, new_session_id.into());
                }
                event if event.is_terminal() => break event,
                // A step inside the node is now a step inside the node's.
                AgentEvent::Custom { kind, .. } if kind == "trace" => {}
                event => match TurnDiagnostics::from_event(&event) {
                    Some(said) => left = said,
                    None => {
                        let raw = envelope.raw;
                        self.send_all(hold.push(BackendEvent { event, raw })).await;
                    }
                },
            }
        };
        if let AgentEvent::Result { .. } = end {
            self.send_all(hold.drain()).await;
            return NodeOutcome::Finished(self.on_node_answered(node, &trace, end).await);
        }
        let begun = hold.has_started();
        if begun
            || !shared
                .profile
                .falls_back_on(FallbackCause::from_code(code_of(&end)))
        {
            self.send_all(hold.drain()).await;
        }
        self.failed(
            node,
            trace,
            NodeFailure::ended(end, left),
            begun && replaceable,
        )
        .await
    }

    /// The node's session, with all that it missed, and its turn.
    async fn open(&self, node: usize, text: &str) -> Result<(SessionId, EventReceiver)> {
        let agent = &self.shared.nodes[node].agent;
        let options = self.session.options.clone();
        let seat = self.session.node_session(node);
        let id = match seat.session {
            Some(id) if seat.current => id,
            Some(id) => match agent.load_session(&id, options.clone()).await {
                Ok(()) => id,
                // It is told the whole conversation instead.
                Err(Error::SessionNotFound { .. } | Error::Unsupported { .. }) => {
                    self.session.clear_node_session(node);
                    agent.new_session(options).await?
                }
                Err(error) => return Err(error),
            },
            None => agent.new_session(options).await?,
        };
        self.session.set_node_session(node, id.clone());
        let events = agent
            .prompt(&id, self.session.prompt_for(node, text))
            .await?;
        Ok((id, events))
    }

    /// The node has answered: it is remembered, and so is the answer.
    async fn on_node_answered(
        &mut self,
        node: usize,
        trace: &TurnTrace,
        end: AgentEvent,
    ) -> AgentEvent {
        let AgentEvent::Result {
            text,
            usage,
            metadata,
        } = end
        else {
            return end;
        };
        self.shared.cooling.record_success(node);
        self.session.record_answer(node, &self.prompt, &text);
        self.send(trace.finish().to_event()).await;
        let inner = self.session.node_session(node).session;
        let outer = inner.and_then(|inner| self.shared.to_composite_id(node, &inner));
        if let Some(outer) = outer
            && self.session.set_announced_id(&outer)
        {
            let session = Arc::clone(&self.session);
            self.shared.sessions.insert(outer.clone(), session);
            let new_session_id = outer.as_str().to_owned();
            self.send(AgentEvent::SessionChanged { new_session_id })
                .await;
        }
        self.add_usage(usage.as_ref());
        AgentEvent::Result {
            text,
            usage: self.usage.take(),
            metadata,
        }
    }

    /// The node has failed. `shown`: too late for another to take over.
    async fn failed(
        &mut self,
        node: usize,
        trace: TurnTrace,
        failed: NodeFailure,
        shown: bool,
    ) -> NodeOutcome {
        let step = trace.finish();
        self.add_usage(step.usage.as_ref());
        self.send(step.to_event()).await;
        let code = code_of(&failed.end);
        if code == ErrorCode::SessionOrphaned {
            self.session.clear_node_session(node);
        }
        let passes = self.shared.profile.falls_back_on(failed.cause) && !self.stopped;
        if passes {
            let wish = failed.left.retry_after();
            self.shared.cooling.record_failure(node, code, wish);
        }
        if passes && !shown {
            tracing::info!(node = self.name(node), %code, "passed over");
            return NodeOutcome::FellBack(failed);
        }
        let (before, end) = failed.left.attach_to(failed.end);
        if let Some(before) = before {
            self.send(before).await;
        }
        NodeOutcome::Finished(end)
    }

    /// Adds what a node took.
    pub(super) fn add_usage(&mut self, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            *self.usage.get_or_insert_default() += usage;
        }
    }

    pub(super) fn name(&self, node: usize) -> &str {
        let node = self.shared.nodes.get(node);
        node.map_or("nobody", |node| node.name.as_str())
    }

    /// Sends an event. If nobody listens any more, the turn is about to be dropped.
    pub(super) async fn send(&self, event: impl Into<BackendEvent>) {
        let _ = self.out.send(event.into()).await;
    }

    async fn send_all(&self, events: Vec<BackendEvent>) {
        for event in events {
            self.send(event).await;
        }
    }
}

/// The code of an end that is no result.
pub(super) fn code_of(end: &AgentEvent) -> ErrorCode {
    match end {
        AgentEvent::Error { code, .. } => *code,
        AgentEvent::SessionInvalid { .. } => ErrorCode::SessionOrphaned,
        _ => ErrorCode::Unknown,
    }
}

fn is_recoverable(end: &AgentEvent) -> bool {
    match end {
        AgentEvent::Error { recoverable, .. } => *recoverable,
        _ => true,
    }
}
