//! One turn: the model answers, its calls are run, it answers again, until it is done.

use std::collections::HashSet;
use std::future::ready;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use serde_json::json;
use tokio::sync::{Notify, mpsc};
use windlass_core::{AgentEvent, Emitted, Error, ErrorCode, EventStream, Prompt};
use windlass_wire::{
    Fold, Message, ModelError, ModelEvent, ModelResponse, Part, Role, StopReason, ToolResult,
};

use super::agent::Shared;
use super::budget::{Budget, Spent};
use super::calls::{Asked, Bench, may_run_together};
use super::consent::Consent;
use super::session::{HISTORY_BYTES, Session, weight};
use super::{failure, mode, request};

/// How many events may wait before the turn does.
const QUEUE: usize = 16;
/// How often in a row an answer may be unusable.
const FLAWS: u32 = 3;
/// What the model is told about a call that was broken off.
const STOPPED: &str = "stopped by the user before it ended";

/// Where a turn's events go.
#[derive(Debug, Clone)]
pub(super) struct Outbox(mpsc::Sender<Emitted>);

impl Outbox {
    /// Sends an event. If nobody listens any more, the turn is about to be dropped.
    pub(super) async fn send(&self, event: AgentEvent) {
        let _ = self.0.send(event.into()).await;
    }
}

/// A turn under way. It runs inside its own stream, so that dropping the stream ends it.
pub(super) struct Turn {
    shared: Arc<Shared>,
    session: Arc<Session>,
    out: Outbox,
    budget: Budget,
    spent: Spent,
    since: Duration,
    /// What was said since the session was last told.
    said: Vec<Message>,
    /// The step whose calls are being run.
    open: Option<Open>,
    /// The ids of all calls so far.
    ids: HashSet<String>,
    /// What was wrong with the last answer, and with how many in a row.
    flaw: Option<String>,
    flaws: u32,
}

/// An answer with calls, and the results so far.
struct Open {
    message: Message,
    asked: Vec<Asked>,
    results: Vec<ToolResult>,
}

type Step = ControlFlow<AgentEvent>;

impl Turn {
    /// Begins a turn.
    pub(super) fn begin(shared: Arc<Shared>, session: Arc<Session>, prompt: Prompt) -> EventStream {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let stop = session.begin_turn();
        let turn = Self {
            budget: Budget::new(&shared.settings),
            since: shared.clock.elapsed(),
            shared,
            session,
            out: Outbox(sender),
            spent: Spent::default(),
            said: vec![Message::new(Role::User, vec![Part::text(prompt.text)])],
            open: None,
            ids: HashSet::new(),
            flaw: None,
            flaws: 0,
        };
        let work = stream::once(turn.run(stop)).filter_map(|()| ready(None));
        let events = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|event| (event, receiver))
        });
        Box::pin(stream::select(events, work))
    }

    async fn run(mut self, stop: Arc<Notify>) {
        let end = tokio::select! {
            biased;
            () = stop.notified() => None,
            end = self.work() => Some(end),
        };
        let end = end.unwrap_or_else(|| {
            self.broken_off();
            Error::Cancelled.into()
        });
        self.out.send(end).await;
    }

    async fn work(&mut self) -> AgentEvent {
        loop {
            if let ControlFlow::Break(end) = self.step().await {
                return end;
            }
        }
    }

    /// One answer of the model, and what it asks for.
    async fn step(&mut self) -> Step {
        self.spent.time = self.shared.clock.elapsed().saturating_sub(self.since);
        if let Some(error) = self.budget.refusal(&self.spent) {
            return Step::Break(error.into());
        }
        let bytes = self.session.bytes() + self.said.iter().map(weight).sum::<usize>();
        if bytes > HISTORY_BYTES {
            let message = format!(
                "the conversation is larger than {HISTORY_BYTES} bytes: begin a new session"
            );
            return Step::Break(Error::agent(ErrorCode::OutputLimit, message).into());
        }
        self.spent.steps += 1;
        let step = json!({ "step": self.spent.steps });
        self.out.send(AgentEvent::custom("step", step)).await;
        match self.ask().await {
            Ok(response) => {
                self.flaws = 0;
                self.flaw = None;
                self.follow(response).await
            }
            Err(error) if mode::is_unusable(&error) => self.flawed(error),
            Err(error) => {
                let (before, end) = failure::left(&error).before(failure::terminal(&error));
                if let Some(before) = before {
                    self.out.send(before).await;
                }
                Step::Break(end)
            }
        }
    }

    /// Asks the model, and passes on what it says while it says it.
    async fn ask(&mut self) -> Result<ModelResponse, ModelError> {
        let mut messages = self.session.history();
        messages.extend(self.said.iter().cloned());
        let (request, tool_mode) =
            request::make(&self.shared, &self.session, messages, self.flaw.as_deref());
        let mut events = mode::ask(&self.shared.line, tool_mode, request);
        let mut fold = Fold::default();
        let mut heard = Ok(());
        while let Some(event) = events.next().await {
            match &event {
                ModelEvent::TextDelta { text } => {
                    self.out.send(AgentEvent::Text(text.clone())).await
                }
                ModelEvent::ReasoningDelta { text } => {
                    self.out.send(AgentEvent::Thought(text.clone())).await;
                }
                _ => {}
            }
            heard = fold.push(&event);
            if event.is_last() {
                break;
            }
        }
        let response = fold.into_response();
        // What a failed answer took was taken too.
        if let Some(usage) = response.usage {
            self.spent.add(usage);
        }
        heard.map(|()| response)
    }

    /// An answer that is none goes back to the model, a few times.
    fn flawed(&mut self, error: ModelError) -> Step {
        self.flaws += 1;
        if self.flaws >= FLAWS {
            let message = format!(
                "{FLAWS} answers in a row could not be used: {}",
                error.message
            );
            return Step::Break(Error::agent(ErrorCode::BackendError, message).into());
        }
        tracing::info!(flaw = error.message, "an answer could not be used");
        self.flaw = Some(error.message);
        Step::Continue(())
    }

    /// Does what the answer asks for, or ends with it.
    async fn follow(&mut self, response: ModelResponse) -> Step {
        let calls: Vec<_> = response.calls().cloned().collect();
        if calls.is_empty() {
            return self.answered(response);
        }
        let mut asked = Vec::with_capacity(calls.len());
        for (place, mut call) in calls.into_iter().enumerate() {
            if call.id.is_empty() || !self.ids.insert(call.id.clone()) {
                call.id = format!("call_{}_{place}", self.spent.steps);
                self.ids.insert(call.id.clone());
            }
            asked.push(Asked::new(call, &self.session.kit));
        }
        self.open = Some(Open {
            message: spoken(response, &asked),
            asked,
            results: Vec::new(),
        });
        self.perform().await;
        self.close(STOPPED);
        Step::Continue(())
    }

    /// Runs the calls of the open step.
    async fn perform(&mut self) {
        let Some(open) = &self.open else { return };
        if may_run_together(&open.asked) {
            let results = self.bench().run_together(&open.asked).await;
            if let Some(open) = &mut self.open {
                open.results = results;
            }
            return;
        }
        for place in 0..open.asked.len() {
            let Some(asked) = self.open.as_ref().and_then(|open| open.asked.get(place)) else {
                return;
            };
            let result = self.bench().run(asked).await;
            if let Some(open) = &mut self.open {
                open.results.push(result);
            }
        }
    }

    fn bench(&self) -> Bench<'_> {
        let (policy, rules) = self.shared.granted(&self.session.options);
        Bench {
            consent: Consent {
                agent: self.shared.kind.name(),
                policy,
                rules,
                session: &self.session,
            },
            clock: &self.shared.clock,
            out: &self.out,
        }
    }

    /// Remembers the open step; calls without a result get one that says why.
    fn close(&mut self, why: &str) {
        let Some(Open {
            message,
            asked,
            mut results,
        }) = self.open.take()
        else {
            return;
        };
        let missing = asked.iter().skip(results.len());
        results.extend(missing.map(|asked| asked.unanswered(why)));
        let parts = results.into_iter().map(Part::ToolResult).collect();
        self.said.push(message);
        self.said.push(Message::new(Role::Tool, parts));
        self.session.remember(std::mem::take(&mut self.said));
    }

    /// The turn was cancelled: a conversation must not end with a call that has no result.
    fn broken_off(&mut self) {
        self.close(STOPPED);
    }

    /// The model calls nothing: it is done, or wants to go on.
    fn answered(&mut self, response: ModelResponse) -> Step {
        let stop = response.stop_or_implied();
        let text = response.text();
        let model = response.model.clone();
        self.said.push(spoken(response, &[]));
        self.session.remember(std::mem::take(&mut self.said));
        match stop {
            StopReason::Pause => return Step::Continue(()),
            StopReason::Refusal if text.trim().is_empty() => {
                return Step::Break(AgentEvent::Error {
                    code: ErrorCode::BackendError,
                    message: "the model refused to answer: ask differently".to_owned(),
                    recoverable: false,
                });
            }
            StopReason::MaxTokens if self.session.options.output_schema.is_some() => {
                let message = "the answer was cut at the limit on tokens: raise max_tokens, or ask for less at once";
                return Step::Break(Error::agent(ErrorCode::OutputLimit, message).into());
            }
            _ => {}
        }
        let mut metadata = json!({ "steps": self.spent.steps, "stop_reason": stop });
        if !model.is_empty() {
            metadata["model"] = model.into();
        }
        Step::Break(AgentEvent::Result {
            text,
            usage: self.budget.usage(&self.spent),
            metadata,
        })
    }
}

/// An answer as it is remembered, with its calls as they were understood.
fn spoken(response: ModelResponse, asked: &[Asked]) -> Message {
    let mut calls = asked.iter();
    let mut parts = Vec::with_capacity(response.parts.len());
    for part in response.parts {
        match part {
            Part::ToolCall(_) => {
                parts.extend(calls.next().map(|asked| Part::ToolCall(asked.remembered())));
            }
            part => parts.push(part),
        }
    }
    mode::remembered(Message::new(Role::Assistant, parts))
}
