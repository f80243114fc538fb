//! One turn of a composite: a stream that owns the turns of its nodes.

use std::sync::Arc;

use tokio::sync::Notify;
use windlass_core::{
    AgentEvent, BackendEvent, Error, ErrorCode, EventReceiver, EventSink, EventStream, Prompt,
    Result, SessionId, TurnDiagnostics, TurnTrace, Usage, event_stream,
};

use super::cooldown::NodeOrder;
use super::hold_buffer::HoldBuffer;
use super::session::CompositeSession;
use super::state::{CompositeState, Node};
use super::{CompositeKind, FallbackCause};

/// A running turn. It runs inside its own stream, so that dropping the stream ends it.
pub(super) struct CompositeTurn {
    pub(super) shared: Arc<CompositeState>,
    pub(super) session: Arc<CompositeSession>,
    /// The prompt of the caller.
    pub(super) prompt: String,
    /// Whether the node that does the work must call a tool.
    requires_call: bool,
    out: EventSink,
    pub(super) stop: Arc<Notify>,
    /// `true` after the caller cancelled the turn.
    pub(super) stopped: bool,
    /// The total usage of the nodes that report it.
    pub(super) usage: Option<Usage>,
}

/// The outcome of running a node.
pub(super) enum NodeOutcome {
    /// The turn ends with this event.
    Finished(AgentEvent),
    /// The next node is used.
    FellBack(NodeFailure),
}

/// The failure of a node.
pub(super) struct NodeFailure {
    end: AgentEvent,
    cause: Option<FallbackCause>,
    diagnostics: TurnDiagnostics,
}

impl NodeFailure {
    fn new(error: Error) -> Self {
        let retry_after = match &error {
            Error::Agent { retry_after, .. } => *retry_after,
            _ => None,
        };
        Self {
            cause: FallbackCause::from_error(&error),
            diagnostics: TurnDiagnostics::default().with_retry_after(retry_after),
            end: error.into(),
        }
    }

    fn from_end(end: AgentEvent, diagnostics: TurnDiagnostics) -> Self {
        Self {
            cause: FallbackCause::from_code(code_of(&end)),
            diagnostics,
            end,
        }
    }
}

impl CompositeTurn {
    /// Starts a turn.
    pub(super) fn start(
        shared: Arc<CompositeState>,
        session: Arc<CompositeSession>,
        prompt: Prompt,
    ) -> EventStream {
        let stop = session.begin_turn();
        let turn = |out| Self {
            stop,
            shared,
            session,
            prompt: prompt.text,
            requires_call: prompt.requires_call,
            out,
            stopped: false,
            usage: None,
        };
        event_stream(|out| turn(out).run())
    }

    async fn run(mut self) {
        let end = match self.shared.profile.kind {
            CompositeKind::PlanExecute => self.plan_and_execute().await,
            CompositeKind::Single | CompositeKind::Fallback => self.run_fallback().await,
        };
        self.send(end).await;
    }

    /// Tries the nodes sequentially until one answers.
    async fn run_fallback(&mut self) -> AgentEvent {
        let mut order = self.shared.cooldowns.order();
        if let Some(preferred) = self.session.preferred_node() {
            // The sort is stable: the other nodes keep their order.
            order.nodes.sort_by_key(|node| *node != preferred);
        }
        self.report_skipped(&order).await;
        let prompt = self.prompt.clone();
        let mut failures: Vec<(usize, NodeFailure)> = Vec::new();
        for (position, node) in order.nodes.iter().enumerate() {
            let replaceable = position + 1 < order.nodes.len();
            match self.run_node(*node, &prompt, replaceable).await {
                NodeOutcome::Finished(end) => return end,
                NodeOutcome::FellBack(failure) => failures.push((*node, failure)),
            }
        }
        self.all_failed(failures, &order).await
    }

    /// Emits a trace step for each node that is cooling down.
    async fn report_skipped(&self, order: &NodeOrder) {
        for (node, cooldown, remaining) in &order.cooling {
            let mut trace = TurnTrace::start(&self.shared.clock, "skipped", self.name(*node));
            let message = format!("cooling down for {} s more", remaining.as_secs());
            trace.fail(cooldown.code, &message);
            self.send(trace.finish().to_event()).await;
        }
    }

    /// Builds the terminal event for the case that no node answered.
    async fn all_failed(
        &self,
        failures: Vec<(usize, NodeFailure)>,
        order: &NodeOrder,
    ) -> AgentEvent {
        let mut messages = Vec::new();
        for (node, failure) in &failures {
            let message = match &failure.end {
                AgentEvent::Error { message, .. } => message,
                AgentEvent::SessionInvalid { reason } => reason,
                _ => continue,
            };
            messages.push(format!("{}: {message}", self.name(*node)));
        }
        let retry_after = order.earliest_ready();
        let (end, diagnostics) = match failures.into_iter().last() {
            Some((_, failure)) if messages.len() < 2 => (failure.end, failure.diagnostics),
            Some((_, failure)) => {
                let message = format!("no node answered: {}", messages.join("; "));
                let code = code_of(&failure.end);
                let recoverable = is_recoverable(&failure.end);
                let end = AgentEvent::Error {
                    code,
                    message,
                    recoverable,
                };
                (end, failure.diagnostics)
            }
            None => {
                let nodes = order.cooling.iter().map(|(node, _, remaining)| {
                    format!("{} for {} s more", self.name(*node), remaining.as_secs())
                });
                let nodes: Vec<String> = nodes.collect();
                let message = format!("all nodes are cooling down: {}", nodes.join(", "));
                let code = order.cooling.first().map(|(_, cooldown, _)| cooldown.code);
                let end = AgentEvent::Error {
                    code: code.unwrap_or(ErrorCode::RateLimited),
                    message,
                    recoverable: true,
                };
                (
                    end,
                    TurnDiagnostics::default().with_retry_after(retry_after),
                )
            }
        };
        let (before, end) = diagnostics.attach_to(end);
        if let Some(before) = before {
            self.send(before).await;
        }
        end
    }

    /// Runs one node and forwards its events once its output has started.
    pub(super) async fn run_node(
        &mut self,
        node: usize,
        text: &str,
        replaceable: bool,
    ) -> NodeOutcome {
        let shared = Arc::clone(&self.shared);
        let Some(Node { name, agent }) = shared.nodes.get(node) else {
            return NodeOutcome::Finished(Error::InvalidInput("unknown node".to_owned()).into());
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
                    .on_node_failed(node, trace, NodeFailure::new(error), false)
                    .await;
            }
        };
        let mut hold = HoldBuffer::new(replaceable);
        let mut diagnostics = TurnDiagnostics::default();
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
                let message = "the node's turn ended without a terminal event";
                break Error::agent(ErrorCode::BackendError, message).into();
            };
            trace.on_event(&envelope.event);
            match envelope.event {
                AgentEvent::SessionChanged { new_session_id } => {
                    self.session.set_node_session(node, new_session_id.into());
                }
                event if event.is_terminal() => break event,
                // The trace of the node already contains this step as a child.
                AgentEvent::Custom { kind, .. } if kind == "trace" => {}
                event => match TurnDiagnostics::from_event(&event) {
                    Some(reported) => diagnostics = reported,
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
        let started = hold.has_started();
        if started
            || !shared
                .profile
                .falls_back_on(FallbackCause::from_code(code_of(&end)))
        {
            self.send_all(hold.drain()).await;
        }
        let failure = NodeFailure::from_end(end, diagnostics);
        self.on_node_failed(node, trace, failure, started && replaceable)
            .await
    }

    /// Creates or resumes the node's session and starts its turn, with the turns that the node missed.
    async fn open(&self, node: usize, text: &str) -> Result<(SessionId, EventReceiver)> {
        let agent = &self.shared.nodes[node].agent;
        let options = self.session.options.clone();
        let current = self.session.node_session(node);
        let id = match current.session {
            Some(id) if current.current => id,
            Some(id) => match agent.load_session(&id, options.clone()).await {
                Ok(()) => id,
                // The node receives the whole conversation in a new session instead.
                Err(Error::SessionNotFound { .. } | Error::Unsupported { .. }) => {
                    self.session.clear_node_session(node);
                    agent.new_session(options).await?
                }
                Err(error) => return Err(error),
            },
            None => agent.new_session(options).await?,
        };
        self.session.set_node_session(node, id.clone());
        let prompt = Prompt {
            requires_call: self.requires_call,
            ..Prompt::from(self.session.prompt_for(node, text))
        };
        let events = agent.prompt(&id, prompt).await?;
        Ok((id, events))
    }

    /// Records the answer of a node and its session, and returns the terminal event.
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
        self.shared.cooldowns.record_success(node);
        self.session.record_answer(node, &self.prompt, &text);
        self.send(trace.finish().to_event()).await;
        let inner = self.session.node_session(node).session;
        let id = inner.and_then(|inner| self.shared.to_composite_id(node, &inner));
        if let Some(id) = id
            && self.session.set_announced_id(&id)
        {
            let session = Arc::clone(&self.session);
            match self.shared.sessions.add(id.as_str(), session) {
                Ok(id) => {
                    let new_session_id = id.as_str().to_owned();
                    self.send(AgentEvent::SessionChanged { new_session_id })
                        .await;
                }
                Err(error) => tracing::warn!(%error, "a session keeps its temporary ID"),
            }
        }
        self.add_usage(usage.as_ref());
        AgentEvent::Result {
            text,
            usage: self.usage.take(),
            metadata,
        }
    }

    /// Records the failure of a node. If `started`, its output has been sent, so no other node can replace it.
    async fn on_node_failed(
        &mut self,
        node: usize,
        trace: TurnTrace,
        failure: NodeFailure,
        started: bool,
    ) -> NodeOutcome {
        let step = trace.finish();
        self.add_usage(step.usage.as_ref());
        self.send(step.to_event()).await;
        let code = code_of(&failure.end);
        if code == ErrorCode::SessionOrphaned {
            self.session.clear_node_session(node);
        }
        let falls_back = self.shared.profile.falls_back_on(failure.cause) && !self.stopped;
        if falls_back {
            let cooldowns = &self.shared.cooldowns;
            cooldowns.record_failure(node, code, failure.diagnostics.retry_after());
        }
        if falls_back && !started {
            tracing::info!(node = self.name(node), %code, "the node failed, falling back to the next one");
            return NodeOutcome::FellBack(failure);
        }
        let (before, end) = failure.diagnostics.attach_to(failure.end);
        if let Some(before) = before {
            self.send(before).await;
        }
        NodeOutcome::Finished(end)
    }

    /// Adds the usage of a node.
    pub(super) fn add_usage(&mut self, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            *self.usage.get_or_insert_default() += usage;
        }
    }

    pub(super) fn name(&self, node: usize) -> &str {
        let node = self.shared.nodes.get(node);
        node.map_or("unknown", |node| node.name.as_str())
    }

    /// Sends an event to the caller.
    pub(super) async fn send(&self, event: impl Into<BackendEvent>) {
        self.out.send(event).await;
    }

    async fn send_all(&self, events: Vec<BackendEvent>) {
        for event in events {
            self.send(event).await;
        }
    }
}

/// Returns the code of a terminal event that is not a result.
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
