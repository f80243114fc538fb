//! One turn: the model answers, its calls are run, and it answers again, until it makes no more calls.

mod ask;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use windlass_core::{AgentEvent, Error, ErrorCode, EventSink, EventStream, Prompt, event_stream};
use windlass_wire::{Message, ModelError, ModelResponse, Part, Role, StopReason, ToolResult};

use super::budget::{TurnBudget, TurnSpend};
use super::calls::{CallRunner, RequestedCall, can_run_in_parallel};
use super::permission::PermissionCheck;
use super::repeat::FailedCalls;
use super::request::StepKind;
use super::session::{HISTORY_BYTES, ModelSession, approx_size};
use super::state::ModelState;
use super::{failure, mode};

/// The turn fails after this many unusable answers in a row.
const MAX_UNUSABLE: u32 = 3;
/// How many steps in a row must be a call, if the prompt requires one.
const MAX_REQUIRED_CALLS: u32 = 5;
/// The result of a call that was interrupted, for the model.
const STOPPED: &str = "cancelled by the user before it finished";

/// A running turn. It runs inside its own stream, so that dropping the stream ends it.
pub(super) struct ModelTurn {
    shared: Arc<ModelState>,
    session: Arc<ModelSession>,
    out: EventSink,
    budget: TurnBudget,
    spend: TurnSpend,
    started: Duration,
    /// The messages that are not in the session's history yet.
    new_messages: Vec<Message>,
    /// The calls of the current step.
    pending: Option<PendingCalls>,
    /// The ids of all calls so far.
    ids: HashSet<String>,
    /// Why the last answer was unusable, if it was.
    problem: Option<String>,
    /// The number of unusable answers in a row.
    unusable: u32,
    /// The calls that failed.
    failed_calls: FailedCalls,
    /// How many of the next steps must still be a call.
    required_calls: u32,
    /// The window that the server turned out to have.
    window: Option<u64>,
}

/// An answer with calls, and the results so far.
struct PendingCalls {
    message: Message,
    calls: Vec<RequestedCall>,
    results: Vec<ToolResult>,
}

type LoopStep = ControlFlow<AgentEvent>;

impl ModelTurn {
    /// Starts a turn.
    pub(super) fn start(
        shared: Arc<ModelState>,
        session: Arc<ModelSession>,
        prompt: Prompt,
    ) -> EventStream {
        let stop = session.begin_turn();
        let turn = |out| Self {
            budget: TurnBudget::new(&shared.settings),
            started: shared.clock.elapsed(),
            shared,
            session,
            out,
            spend: TurnSpend::default(),
            new_messages: vec![Message::new(Role::User, vec![Part::text(prompt.text)])],
            pending: None,
            ids: HashSet::new(),
            problem: None,
            unusable: 0,
            failed_calls: FailedCalls::default(),
            required_calls: u32::from(prompt.requires_call) * MAX_REQUIRED_CALLS,
            window: None,
        };
        event_stream(|out| turn(out).run(stop))
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

    /// Runs one step: an answer of the model and its calls.
    async fn step(&mut self) -> LoopStep {
        self.spend.time = self.shared.clock.elapsed().saturating_sub(self.started);
        if let Some(error) = self.budget.exceeded(&self.spend) {
            return LoopStep::Break(error.into());
        }
        let bytes = self.session.bytes() + self.new_messages.iter().map(approx_size).sum::<usize>();
        if bytes > HISTORY_BYTES {
            let message = format!(
                "the conversation is larger than {HISTORY_BYTES} bytes: start a new session"
            );
            return LoopStep::Break(Error::agent(ErrorCode::OutputLimit, message).into());
        }
        self.spend.steps += 1;
        let step = json!({ "step": self.spend.steps });
        self.out.send(AgentEvent::custom("step", step)).await;
        match self.request_answer().await {
            Ok(response) => {
                self.unusable = 0;
                self.problem = None;
                self.handle_response(response).await
            }
            Err(error) if mode::is_unusable(&error) && self.step_kind() == StepKind::Last => {
                self.finish_answer(ModelResponse::default())
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

    /// Reports an unusable answer to the model, up to the limit.
    fn retry_unusable(&mut self, error: ModelError) -> LoopStep {
        self.unusable += 1;
        if self.unusable >= MAX_UNUSABLE {
            let message = format!(
                "{MAX_UNUSABLE} answers in a row could not be used: {}",
                error.message
            );
            return LoopStep::Break(Error::agent(ErrorCode::BackendError, message).into());
        }
        tracing::info!(problem = error.message, "an answer could not be used");
        self.problem = Some(error.message);
        LoopStep::Continue(())
    }

    /// Runs the calls of an answer. Without calls, ends the turn.
    async fn handle_response(&mut self, response: ModelResponse) -> LoopStep {
        let calls: Vec<_> = response.calls().cloned().collect();
        let is_last = self.step_kind() == StepKind::Last;
        if calls.is_empty() || is_last {
            return self.finish_answer(response);
        }
        self.required_calls = self.required_calls.saturating_sub(1);
        let mut requested = Vec::with_capacity(calls.len());
        for (index, mut call) in calls.into_iter().enumerate() {
            if call.id.is_empty() || !self.ids.insert(call.id.clone()) {
                call.id = format!("call_{}_{index}", self.spend.steps);
                self.ids.insert(call.id.clone());
            }
            requested.push(RequestedCall::new(call, &self.session.tools));
        }
        self.pending = Some(PendingCalls {
            message: history_message(response, &requested),
            calls: requested,
            results: Vec::new(),
        });
        self.run_calls().await;
        self.close(STOPPED);
        LoopStep::Continue(())
    }

    /// Runs the pending calls.
    async fn run_calls(&mut self) {
        let Some(pending) = &self.pending else {
            return;
        };
        if can_run_in_parallel(&pending.calls) {
            let mut results = self.call_runner().run_parallel(&pending.calls).await;
            if let Some(pending) = &mut self.pending {
                for (call, result) in pending.calls.iter().zip(&mut results) {
                    self.failed_calls.note(call, result);
                }
                pending.results = results;
            }
            return;
        }
        for index in 0..pending.calls.len() {
            let pending = self.pending.as_ref();
            let Some(call) = pending.and_then(|pending| pending.calls.get(index)) else {
                return;
            };
            let known = self.failed_calls.known_failure(call);
            let mut result = self.call_runner().run(call, known).await;
            self.failed_calls.note(call, &mut result);
            if !result.is_error && !call.is_read_only() {
                self.required_calls = 0;
            }
            if let Some(pending) = &mut self.pending {
                pending.results.push(result);
            }
        }
    }

    fn call_runner(&self) -> CallRunner<'_> {
        let (policy, rules) = self.shared.effective_permissions(&self.session.options);
        CallRunner {
            permission: PermissionCheck {
                agent: self.shared.kind.name(),
                policy,
                rules,
                session: &self.session,
            },
            clock: &self.shared.clock,
            out: &self.out,
        }
    }

    /// Adds the pending calls and their results to the history. A call without a result gets `reason` as its result.
    fn close(&mut self, reason: &str) {
        let Some(PendingCalls {
            message,
            calls,
            mut results,
        }) = self.pending.take()
        else {
            return;
        };
        let missing = calls.iter().skip(results.len());
        results.extend(missing.map(|call| call.skipped_result(reason)));
        let parts = results.into_iter().map(Part::ToolResult).collect();
        self.new_messages.push(message);
        self.new_messages.push(Message::new(Role::Tool, parts));
        self.session.append(std::mem::take(&mut self.new_messages));
    }

    /// Completes the history of a cancelled turn: a conversation must not end with a call without a result.
    fn cancelled(&mut self) {
        self.close(STOPPED);
    }

    /// Handles an answer without calls: the turn ends, or continues if the model paused.
    fn finish_answer(&mut self, response: ModelResponse) -> LoopStep {
        let stop = response.stop_or_implied();
        let is_last = self.step_kind() == StepKind::Last;
        let mut text = response.text();
        if is_last && text.trim().is_empty() {
            text = format!(
                "stopped after {} steps, without an answer",
                self.spend.steps
            );
        }
        let model = response.model.clone();
        self.new_messages.push(if is_last {
            Message::new(Role::Assistant, vec![Part::text(text.clone())])
        } else {
            history_message(response, &[])
        });
        self.session.append(std::mem::take(&mut self.new_messages));
        match stop {
            StopReason::Pause if !is_last => return LoopStep::Continue(()),
            StopReason::Refusal if text.trim().is_empty() => {
                return LoopStep::Break(AgentEvent::Error {
                    code: ErrorCode::BackendError,
                    message: "the model refused to answer: rephrase the prompt".to_owned(),
                    recoverable: false,
                });
            }
            StopReason::MaxTokens if self.session.options.output_schema.is_some() => {
                let message = "the answer was truncated at the token limit: raise max_tokens, or split the task";
                return LoopStep::Break(Error::agent(ErrorCode::OutputLimit, message).into());
            }
            _ => {}
        }
        let mut metadata = json!({ "steps": self.spend.steps, "stop_reason": stop });
        if !model.is_empty() {
            metadata["model"] = model.into();
        }
        if is_last && !self.session.tools.is_empty() {
            metadata["limit_reached"] = "max_steps".into();
        }
        LoopStep::Break(AgentEvent::Result {
            text,
            usage: self.budget.usage(&self.spend),
            metadata,
        })
    }
}

/// Converts an answer to a message for the history, with its calls as they were resolved.
fn history_message(response: ModelResponse, calls: &[RequestedCall]) -> Message {
    let mut calls = calls.iter();
    let mut parts = Vec::with_capacity(response.parts.len());
    for part in response.parts {
        match part {
            Part::ToolCall(_) => {
                parts.extend(calls.next().map(|call| Part::ToolCall(call.for_history())));
            }
            part => parts.push(part),
        }
    }
    mode::for_history(Message::new(Role::Assistant, parts))
}
