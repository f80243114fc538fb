//! One turn of a composite, as a stream that owns the turns of its nodes.

use std::future::ready;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream;
use tokio::sync::{Notify, mpsc};
use windlass_core::{
    Aftermath, AgentEvent, Emitted, Error, ErrorCode, EventReceiver, EventStream, Result,
    SessionId, TurnTrace, Usage,
};

use super::backend::{Node, Shared};
use super::cooling::Order;
use super::hold::Hold;
use super::session::Session;
use super::{Cause, Kind};

/// How many events may wait before the turn does.
const QUEUE: usize = 16;

/// A turn under way. It runs inside its own stream, so that dropping the stream ends it.
pub(super) struct Turn {
    pub(super) shared: Arc<Shared>,
    pub(super) session: Arc<Session>,
    /// What was asked, in the caller's words.
    pub(super) prompt: String,
    out: mpsc::Sender<Emitted>,
    pub(super) stop: Arc<Notify>,
    /// Whether somebody asked for the end.
    pub(super) stopped: bool,
    /// What all nodes took together, where they say so.
    pub(super) usage: Option<Usage>,
}

/// What came of asking a node.
pub(super) enum Asked {
    /// The turn ends so.
    Over(AgentEvent),
    /// The next node is asked.
    PassedOver(Failed),
}

/// How a node failed.
pub(super) struct Failed {
    end: AgentEvent,
    cause: Option<Cause>,
    left: Aftermath,
}

impl Failed {
    fn new(error: Error) -> Self {
        let after = match &error {
            Error::Agent { retry_after, .. } => *retry_after,
            _ => None,
        };
        Self {
            cause: Cause::of_error(&error),
            left: Aftermath::default().wait(after),
            end: error.into(),
        }
    }

    fn ended(end: AgentEvent, left: Aftermath) -> Self {
        Self {
            cause: Cause::of(code_of(&end)),
            left,
            end,
        }
    }
}

impl Turn {
    /// Begins a turn.
    pub(super) fn begin(shared: Arc<Shared>, session: Arc<Session>, prompt: String) -> EventStream {
        let (sender, receiver) = mpsc::channel(QUEUE);
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
            Kind::PlanExecute => self.plan_and_execute().await,
            Kind::Single | Kind::Fallback => self.first_who_can().await,
        };
        self.send(end).await;
    }

    /// Asks one node after the other until one answers.
    async fn first_who_can(&mut self) -> AgentEvent {
        let mut order = self.shared.cooling.order();
        if let Some(home) = self.session.home() {
            // The others are as they were before one another: a stable sort.
            order.ask.sort_by_key(|node| *node != home);
        }
        self.skip(&order).await;
        let prompt = self.prompt.clone();
        let mut failures: Vec<(usize, Failed)> = Vec::new();
        for (place, node) in order.ask.iter().enumerate() {
            let replaceable = place + 1 < order.ask.len();
            match self.ask(*node, &prompt, replaceable).await {
                Asked::Over(end) => return end,
                Asked::PassedOver(failed) => failures.push((*node, failed)),
            }
        }
        self.nobody(failures, &order).await
    }

    /// Tells of those that rest.
    async fn skip(&self, order: &Order) {
        for (node, rest, left) in &order.resting {
            let mut trace = TurnTrace::begin(&self.shared.clock, "skipped", self.name(*node));
            trace.failed(rest.code, &format!("rests for {} s more", left.as_secs()));
            self.send(trace.close().event()).await;
        }
    }

    /// No node answered: how that is the end of the turn.
    async fn nobody(&self, failures: Vec<(usize, Failed)>, order: &Order) -> AgentEvent {
        let mut said = Vec::new();
        for (node, failed) in &failures {
            let words = match &failed.end {
                AgentEvent::Error { message, .. } => message,
                AgentEvent::SessionInvalid { reason } => reason,
                _ => continue,
            };
            said.push(format!("{}: {words}", self.name(*node)));
        }
        let soonest = order.soonest();
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
                (end, Aftermath::default().wait(soonest))
            }
        };
        let (before, end) = left.before(end);
        if let Some(before) = before {
            self.send(before).await;
        }
        end
    }

    /// Asks one node, and passes on what it says once it has begun.
    pub(super) async fn ask(&mut self, node: usize, text: &str, replaceable: bool) -> Asked {
        let shared = Arc::clone(&self.shared);
        let Some(Node { name, agent }) = shared.nodes.get(node) else {
            return Asked::Over(Error::InvalidInput("there is no such node".to_owned()).into());
        };
        let mut trace = TurnTrace::begin(&shared.clock, "node", name);
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
                trace.refused(&error);
                return self.failed(node, trace, Failed::new(error), false).await;
            }
        };
        let mut hold = Hold::new(replaceable);
        let mut left = Aftermath::default();
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
            trace.hear(&envelope.event);
            match envelope.event {
                AgentEvent::SessionChanged { new_session_id } => {
                    self.session.sits(node, new_session_id.into());
                }
                event if event.is_terminal() => break event,
                // A step inside the node is now a step inside the node's.
                AgentEvent::Custom { kind, .. } if kind == "trace" => {}
                event => match Aftermath::of(&event) {
                    Some(said) => left = said,
                    None => {
                        let raw = envelope.raw;
                        self.send_all(hold.take(Emitted { event, raw })).await;
                    }
                },
            }
        };
        if let AgentEvent::Result { .. } = end {
            self.send_all(hold.release()).await;
            return Asked::Over(self.answered(node, &trace, end).await);
        }
        let begun = hold.has_begun();
        if begun || !shared.profile.passes_over(Cause::of(code_of(&end))) {
            self.send_all(hold.release()).await;
        }
        self.failed(node, trace, Failed::ended(end, left), begun && replaceable)
            .await
    }

    /// The node's session, with all that it missed, and its turn.
    async fn open(&self, node: usize, text: &str) -> Result<(SessionId, EventReceiver)> {
        let agent = &self.shared.nodes[node].agent;
        let options = self.session.options.clone();
        let seat = self.session.seat(node);
        let id = match seat.session {
            Some(id) if seat.current => id,
            Some(id) => match agent.load_session(&id, options.clone()).await {
                Ok(()) => id,
                // It is told the whole conversation instead.
                Err(Error::SessionNotFound { .. } | Error::Unsupported { .. }) => {
                    self.session.leaves(node);
                    agent.new_session(options).await?
                }
                Err(error) => return Err(error),
            },
            None => agent.new_session(options).await?,
        };
        self.session.sits(node, id.clone());
        let events = agent.prompt(&id, self.session.told(node, text)).await?;
        Ok((id, events))
    }

    /// The node has answered: it is remembered, and so is the answer.
    async fn answered(&mut self, node: usize, trace: &TurnTrace, end: AgentEvent) -> AgentEvent {
        let AgentEvent::Result {
            text,
            usage,
            metadata,
        } = end
        else {
            return end;
        };
        self.shared.cooling.well(node);
        self.session.answered(node, &self.prompt, &text);
        self.send(trace.close().event()).await;
        let inner = self.session.seat(node).session;
        let outer = inner.and_then(|inner| self.shared.outer(node, &inner));
        if let Some(outer) = outer
            && self.session.announce(&outer)
        {
            let session = Arc::clone(&self.session);
            self.shared.sessions.insert(outer.clone(), session);
            let new_session_id = outer.as_str().to_owned();
            self.send(AgentEvent::SessionChanged { new_session_id })
                .await;
        }
        self.spent(usage.as_ref());
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
        failed: Failed,
        shown: bool,
    ) -> Asked {
        let step = trace.close();
        self.spent(step.usage.as_ref());
        self.send(step.event()).await;
        let code = code_of(&failed.end);
        if code == ErrorCode::SessionOrphaned {
            self.session.leaves(node);
        }
        let passes = self.shared.profile.passes_over(failed.cause) && !self.stopped;
        if passes {
            let wish = failed.left.retry_after();
            self.shared.cooling.failed(node, code, wish);
        }
        if passes && !shown {
            tracing::info!(node = self.name(node), %code, "passed over");
            return Asked::PassedOver(failed);
        }
        let (before, end) = failed.left.before(failed.end);
        if let Some(before) = before {
            self.send(before).await;
        }
        Asked::Over(end)
    }

    /// Adds what a node took.
    pub(super) fn spent(&mut self, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            *self.usage.get_or_insert_default() += usage;
        }
    }

    pub(super) fn name(&self, node: usize) -> &str {
        let node = self.shared.nodes.get(node);
        node.map_or("nobody", |node| node.name.as_str())
    }

    /// Sends an event. If nobody listens any more, the turn is about to be dropped.
    pub(super) async fn send(&self, event: impl Into<Emitted>) {
        let _ = self.out.send(event.into()).await;
    }

    async fn send_all(&self, events: Vec<Emitted>) {
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
