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
use windlass_core::{AgentEvent, BackendEvent, Error, ErrorCode, EventStream, Prompt};
use windlass_wire::{
    Message, ModelError, ModelEvent, ModelResponse, Part, ResponseBuilder, Role, StopReason,
    ToolResult,
};

use super::agent::ModelState;
use super::budget::{TurnBudget, TurnSpend};
use super::calls::{CallRunner, RequestedCall, can_run_in_parallel};
use super::permission::PermissionCheck;
use super::session::{HISTORY_BYTES, ModelSession, approx_size};
use super::{failure, mode, request};

/// How many events may wait before the turn does.
const EVENT_QUEUE: usize = 16;
/// How often in a row an answer may be unusable.
const MAX_UNUSABLE: u32 = 3;
/// What the model is told about a call that was broken off.
const STOPPED: &str = "stopped by the user before it ended";

/// Where a turn's events go.
#[derive(Debug, Clone)]
pub(super) struct EventSink(mpsc::Sender<BackendEvent>);

impl EventSink {
    /// Sends an event. If nobody listens any more, the turn is about to be dropped.
    pub(super) async fn send(&self, event: AgentEvent) {
        let _ = self.0.send(event.into()).await;
    }
}

/// A turn under way. It runs inside its own stream, so that dropping the stream ends it.
pub(super) struct ModelTurn {
    shared: Arc<ModelState>,
    session: Arc<ModelSession>,
    out: EventSink,
    budget: TurnBudget,
    spent: TurnSpend,
    since: Duration,
    /// What was said since the session was last told.
    said: Vec<Message>,
    /// The step whose calls are being run.
    open: Option<PendingCalls>,
    /// The ids of all calls so far.
    ids: HashSet<String>,
    /// What was wrong with the last answer, and with how many in a row.
    flaw: Option<String>,
    flaws: u32,
}

/// An answer with calls, and the results so far.
struct PendingCalls {
    message: Message,
    asked: Vec<RequestedCall>,
    results: Vec<ToolResult>,
}

type LoopStep = ControlFlow<AgentEvent>;

impl ModelTurn {
    /// Begins a turn.
    pub(super) fn start(
        shared: Arc<ModelState>,
        session: Arc<ModelSession>,
        prompt: Prompt,
    ) -> EventStream {
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
        let stop = session.begin_turn();
        let turn = Self {
            budget: TurnBudget::new(&shared.settings),
            since: shared.clock.elapsed(),
            shared,
            session,
            out: EventSink(sender),
            spent: TurnSpend::default(),
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
            self.cancelled();
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
    async fn step(&mut self) -> LoopStep {
        self.spent.time = self.shared.clock.elapsed().saturating_sub(self.since);
        if let Some(error) = self.budget.exceeded(&self.spent) {
            return LoopStep::Break(error.into());
        }
        let bytes = self.session.bytes() + self.said.iter().map(approx_size).sum::<usize>();
        if bytes > HISTORY_BYTES {
            let message = format!(
                "the conversation is larger than {HISTORY_BYTES} bytes: begin a new session"
            );
            return LoopStep::Break(Error::agent(ErrorCode::OutputLimit, message).into());
        }
        self.spent.steps += 1;
        let step = json!({ "step": self.spent.steps });
        self.out.send(AgentEvent::custom("step", step)).await;
        match self.ask().await {
            Ok(response) => {
                self.flaws = 0;
                self.flaw = None;
                self.handle_response(response).await
            }
            Err(error) if mode::is_unusable(&error) => self.retry_unusable(error),
            Err(error) => {
                let (before, end) =
                    failure::diagnostics(&error).attach_to(failure::terminal(&error));
                if let Some(before) = before {
                    self.out.send(before).await;
                }
                LoopStep::Break(end)
            }
        }
    }

    /// Asks the model, and passes on what it says while it says it.
    async fn ask(&mut self) -> Result<ModelResponse, ModelError> {
        let mut messages = self.session.history();
        messages.extend(self.said.iter().cloned());
        let (request, tool_mode) =
            request::build(&self.shared, &self.session, messages, self.flaw.as_deref());
        let mut events = mode::stream_request(&self.shared.line, tool_mode, request);
        let mut fold = ResponseBuilder::default();
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
            if event.is_terminal() {
                break;
            }
        }
        let response = fold.build();
        // What a failed answer took was taken too.
        if let Some(usage) = response.usage {
            self.spent.add(usage);
        }
        heard.map(|()| response)
    }

    /// An answer that is none goes back to the model, a few times.
    fn retry_unusable(&mut self, error: ModelError) -> LoopStep {
        self.flaws += 1;
        if self.flaws >= MAX_UNUSABLE {
            let message = format!(
                "{MAX_UNUSABLE} answers in a row could not be used: {}",
                error.message
            );
            return LoopStep::Break(Error::agent(ErrorCode::BackendError, message).into());
        }
        tracing::info!(flaw = error.message, "an answer could not be used");
        self.flaw = Some(error.message);
        LoopStep::Continue(())
    }

    /// Does what the answer asks for, or ends with it.
    async fn handle_response(&mut self, response: ModelResponse) -> LoopStep {
        let calls: Vec<_> = response.calls().cloned().collect();
        if calls.is_empty() {
            return self.finish_answer(response);
        }
        let mut asked = Vec::with_capacity(calls.len());
        for (place, mut call) in calls.into_iter().enumerate() {
            if call.id.is_empty() || !self.ids.insert(call.id.clone()) {
                call.id = format!("call_{}_{place}", self.spent.steps);
                self.ids.insert(call.id.clone());
            }
            asked.push(RequestedCall::new(call, &self.session.kit));
        }
        self.open = Some(PendingCalls {
            message: history_message(response, &asked),
            asked,
            results: Vec::new(),
        });
        self.run_calls().await;
        self.close(STOPPED);
        LoopStep::Continue(())
    }

    /// Runs the calls of the open step.
    async fn run_calls(&mut self) {
        let Some(open) = &self.open else { return };
        if can_run_in_parallel(&open.asked) {
            let results = self.call_runner().run_parallel(&open.asked).await;
            if let Some(open) = &mut self.open {
                open.results = results;
            }
            return;
        }
        for place in 0..open.asked.len() {
            let Some(asked) = self.open.as_ref().and_then(|open| open.asked.get(place)) else {
                return;
            };
            let result = self.call_runner().run(asked).await;
            if let Some(open) = &mut self.open {
                open.results.push(result);
            }
        }
    }

    fn call_runner(&self) -> CallRunner<'_> {
        let (policy, rules) = self.shared.effective_permissions(&self.session.options);
        CallRunner {
            consent: PermissionCheck {
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
        let Some(PendingCalls {
            message,
            asked,
            mut results,
        }) = self.open.take()
        else {
            return;
        };
        let missing = asked.iter().skip(results.len());
        results.extend(missing.map(|asked| asked.skipped_result(why)));
        let parts = results.into_iter().map(Part::ToolResult).collect();
        self.said.push(message);
        self.said.push(Message::new(Role::Tool, parts));
        self.session.append(std::mem::take(&mut self.said));
    }

    /// The turn was cancelled: a conversation must not end with a call that has no result.
    fn cancelled(&mut self) {
        self.close(STOPPED);
    }

    /// The model calls nothing: it is done, or wants to go on.
    fn finish_answer(&mut self, response: ModelResponse) -> LoopStep {
        let stop = response.stop_or_implied();
        let text = response.text();
        let model = response.model.clone();
        self.said.push(history_message(response, &[]));
        self.session.append(std::mem::take(&mut self.said));
        match stop {
            StopReason::Pause => return LoopStep::Continue(()),
            StopReason::Refusal if text.trim().is_empty() => {
                return LoopStep::Break(AgentEvent::Error {
                    code: ErrorCode::BackendError,
                    message: "the model refused to answer: ask differently".to_owned(),
                    recoverable: false,
                });
            }
            StopReason::MaxTokens if self.session.options.output_schema.is_some() => {
                let message = "the answer was cut at the limit on tokens: raise max_tokens, or ask for less at once";
                return LoopStep::Break(Error::agent(ErrorCode::OutputLimit, message).into());
            }
            _ => {}
        }
        let mut metadata = json!({ "steps": self.spent.steps, "stop_reason": stop });
        if !model.is_empty() {
            metadata["model"] = model.into();
        }
        LoopStep::Break(AgentEvent::Result {
            text,
            usage: self.budget.usage(&self.spent),
            metadata,
        })
    }
}

/// An answer as it is remembered, with its calls as they were understood.
fn history_message(response: ModelResponse, asked: &[RequestedCall]) -> Message {
    let mut calls = asked.iter();
    let mut parts = Vec::with_capacity(response.parts.len());
    for part in response.parts {
        match part {
            Part::ToolCall(_) => {
                parts.extend(
                    calls
                        .next()
                        .map(|asked| Part::ToolCall(asked.for_history())),
                );
            }
            part => parts.push(part),
        }
    }
    mode::for_history(Message::new(Role::Assistant, parts))
}
