//! A conversation with an agent: turns, and structured calls made of turns.

use std::time::Duration;

use windlass_core::structured::{
    Round, StructuredAnswer, StructuredCall, TurnFailure, TurnRunner, ValidationPolicy,
};
use windlass_core::{
    AgentEvent, AgentHandle, Clock, Envelope, Error, ErrorCode, Prompt, SessionId, SessionOptions,
    StructuredAgentTask, TurnTrace, Usage,
};
use windlass_tasks::Broadcast;

use super::structured_call::StructuredCallError;
use super::turn_deadline::TurnDeadline;
use super::{AttemptContext, AttemptError, AttemptResult};

/// Observes the turns of a conversation, and may reject a turn.
pub(crate) trait TurnObserver: Send {
    /// Called before each turn. Returns the time limit of the turn, if there is one.
    fn before_turn(&mut self) -> AttemptResult<Option<Duration>>;
    /// Called for each event.
    fn on_event(&mut self, envelope: Envelope) -> impl Future<Output = ()> + Send;
    /// Called after each turn with its result.
    fn after_turn(&mut self, agent: &str, result: &Result<TurnOutput, TurnError>);
}

/// An observer that does nothing.
impl TurnObserver for () {
    fn before_turn(&mut self) -> AttemptResult<Option<Duration>> {
        Ok(None)
    }

    async fn on_event(&mut self, _: Envelope) {}

    fn after_turn(&mut self, _: &str, _: &Result<TurnOutput, TurnError>) {}
}

/// Output of a successful turn.
#[derive(Debug)]
pub(crate) struct TurnOutput {
    pub(crate) text: String,
    pub(crate) usage: Option<Usage>,
}

/// Error of a failed turn.
#[derive(Debug, Clone)]
pub(crate) struct TurnError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) recoverable: bool,
    /// The session is lost; a new session may work.
    pub(crate) orphaned: bool,
    /// The agent is not available on this machine: its name, and why.
    pub(crate) unavailable: Option<(String, String)>,
}

impl From<TurnError> for AttemptError {
    fn from(error: TurnError) -> Self {
        match error.code {
            ErrorCode::Timeout => Self::TimedOut,
            ErrorCode::BudgetExceeded => Self::BudgetExceeded {
                error: error.message,
            },
            _ => Self::Failed {
                error: error.message,
                again: error.recoverable || error.orphaned,
            },
        }
    }
}

impl From<Error> for TurnError {
    fn from(error: Error) -> Self {
        Self {
            code: error.code(),
            recoverable: error.retry().is_worthwhile(),
            orphaned: error.code() == ErrorCode::SessionOrphaned,
            message: error.to_string(),
            unavailable: match error {
                Error::Unavailable { backend, problem } => Some((backend, problem)),
                _ => None,
            },
        }
    }
}

/// An agent and the session of its turns.
pub(crate) struct Conversation {
    pub(crate) agent: AgentHandle,
    /// Display name of the agent.
    pub(crate) name: String,
    options: SessionOptions,
    session: Option<SessionId>,
    /// A model must call a tool in the next turn.
    pub(super) requires_call: bool,
    /// Where the end of each turn is noted.
    deadline: Option<TurnDeadline>,
}

impl Conversation {
    pub(crate) fn new(agent: AgentHandle, options: SessionOptions) -> Self {
        Self {
            name: agent.name().to_owned(),
            agent,
            options,
            session: None,
            requires_call: false,
            deadline: None,
        }
    }

    /// Returns a conversation with the same agent in which a model has no tools.
    pub(super) fn without_tools(&self) -> Self {
        let options = SessionOptions {
            without_tools: true,
            ..self.options.clone()
        };
        Self::new(self.agent.clone(), options)
            .with_name(self.name.clone())
            .with_deadline(self.deadline.clone())
    }

    /// Notes the end of each turn here.
    pub(super) fn with_deadline(self, deadline: Option<TurnDeadline>) -> Self {
        Self { deadline, ..self }
    }

    /// Replaces the display name.
    pub(crate) fn with_name(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Returns the current session.
    pub(crate) fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Continues an earlier session of the agent. Returns `false` if the agent refuses.
    pub(crate) async fn resume(&mut self, id: &str) -> bool {
        let session = SessionId::from(id);
        let options = self.options.clone();
        let is_resumed = self.agent.load_session(&session, options).await.is_ok();
        if is_resumed {
            self.session = Some(session);
        }
        is_resumed
    }

    /// Returns `true` if a session was started and not lost.
    pub(crate) fn is_open(&self) -> bool {
        self.session.is_some()
    }

    /// Runs one turn in the current session, and passes each event to `inspect`.
    pub(super) async fn turn(
        &mut self,
        text: &str,
        timeout: Option<Duration>,
        observer: &mut impl TurnObserver,
        inspect: &mut (dyn FnMut(&AgentEvent) + Send),
    ) -> AttemptResult<Result<TurnOutput, TurnError>> {
        let time_left = observer.before_turn()?;
        let timeout = match (timeout, time_left) {
            (Some(timeout), Some(left)) => Some(timeout.min(left)),
            (None, Some(left)) => Some(left.min(self.agent.limits().deadline)),
            (timeout, None) => timeout,
        };
        if let Some(deadline) = &self.deadline {
            deadline.start(timeout.unwrap_or(self.agent.limits().deadline));
        }
        let result = self.run_turn(text, timeout, observer, inspect).await;
        if result.as_ref().is_err_and(|error| error.orphaned) {
            self.session = None;
        }
        observer.after_turn(&self.name, &result);
        Ok(result)
    }

    async fn run_turn(
        &mut self,
        text: &str,
        timeout: Option<Duration>,
        observer: &mut impl TurnObserver,
        inspect: &mut (dyn FnMut(&AgentEvent) + Send),
    ) -> Result<TurnOutput, TurnError> {
        let session = match &self.session {
            Some(session) => session.clone(),
            None => self.agent.new_session(self.options.clone()).await?,
        };
        self.session = Some(session.clone());
        let prompt = Prompt {
            text: text.to_owned(),
            timeout,
            requires_call: std::mem::take(&mut self.requires_call),
        };
        let mut events = self.agent.prompt(&session, prompt).await?;
        let mut end = None;
        while let Some(envelope) = events.recv_envelope().await {
            inspect(&envelope.event);
            match &envelope.event {
                AgentEvent::SessionChanged { new_session_id } => {
                    self.session = Some(new_session_id.as_str().into());
                }
                event if event.is_terminal() => end = Some(event.clone()),
                _ => {}
            }
            observer.on_event(envelope).await;
        }
        turn_result(end)
    }

    /// Makes a structured call in a separate session. Each round is a turn.
    pub(crate) async fn structured(
        &mut self,
        task: StructuredAgentTask,
        rules: ValidationPolicy,
        timeout: Option<Duration>,
        observer: &mut impl TurnObserver,
    ) -> AttemptResult<Result<StructuredAnswer, StructuredCallError>> {
        let call = match StructuredCall::new(task, rules) {
            Ok(call) => call,
            Err(error) => {
                let answer = String::new();
                return Ok(Err(StructuredCallError { error, answer }));
            }
        };
        let options = call.session_options(self.options.clone());
        let mut turns = ObservedTurns {
            conversation: Self::new(self.agent.clone(), options)
                .with_name(self.name.clone())
                .with_deadline(self.deadline.clone()),
            timeout,
            observer,
            answer: String::new(),
        };
        let result = call.run(&mut turns).await?;
        let answer = turns.answer;
        Ok(result.map_err(|error| StructuredCallError { error, answer }))
    }
}

/// Runs the turns of a structured call in its own conversation.
struct ObservedTurns<'a, O> {
    conversation: Conversation,
    timeout: Option<Duration>,
    observer: &'a mut O,
    /// The agent's last answer.
    answer: String,
}

impl<O: TurnObserver> TurnRunner for ObservedTurns<'_, O> {
    type Stop = AttemptError;

    async fn run_turn(&mut self, round: &mut Round<'_>) -> Result<(), TurnFailure<AttemptError>> {
        let prompt = round.prompt().to_owned();
        let mut on_event = |event: &AgentEvent| round.on_event(event);
        let turn = self
            .conversation
            .turn(&prompt, self.timeout, self.observer, &mut on_event)
            .await;
        match turn.map_err(TurnFailure::Stopped)? {
            Ok(output) => {
                self.answer = output.text;
                Ok(())
            }
            Err(error) if error.code == ErrorCode::Cancelled && !error.orphaned => {
                Err(Error::Cancelled.into())
            }
            Err(error) => Err(match error.unavailable {
                Some((backend, problem)) => Error::Unavailable { backend, problem },
                None => Error::agent(error.code, error.message),
            }
            .into()),
        }
    }
}

fn turn_result(end: Option<AgentEvent>) -> Result<TurnOutput, TurnError> {
    match end {
        Some(AgentEvent::Result { text, usage, .. }) => Ok(TurnOutput { text, usage }),
        Some(AgentEvent::Error {
            code,
            message,
            recoverable,
        }) => Err(TurnError {
            code,
            message,
            recoverable,
            orphaned: code == ErrorCode::SessionOrphaned,
            unavailable: None,
        }),
        Some(AgentEvent::SessionInvalid { reason }) => Err(TurnError {
            code: ErrorCode::SessionOrphaned,
            message: reason,
            recoverable: true,
            orphaned: true,
            unavailable: None,
        }),
        _ => Err(TurnError {
            code: ErrorCode::BackendError,
            message: "the turn ended without a terminal event".to_owned(),
            recoverable: true,
            orphaned: false,
            unavailable: None,
        }),
    }
}

/// The observer of an attempt: feeds its log, its budget and its trace.
pub(crate) struct AttemptObserver<'a, 'r> {
    attempt: &'a AttemptContext<'r>,
    /// The running turn: its span in the attempt's trace, and its own trace.
    turn: Option<(super::trace::TraceSpan, TurnTrace)>,
}

impl<'a, 'r> AttemptObserver<'a, 'r> {
    pub(super) fn new(attempt: &'a AttemptContext<'r>) -> Self {
        Self {
            attempt,
            turn: None,
        }
    }
}

/// Records a turn that was interrupted together with the attempt.
impl Drop for AttemptObserver<'_, '_> {
    fn drop(&mut self) {
        if let Some((span, mut trace)) = self.turn.take() {
            trace.fail(ErrorCode::Cancelled, "stopped before it finished");
            span.finish(|node| {
                *node = trace.finish();
                node.agent = None;
            });
        }
    }
}

impl TurnObserver for AttemptObserver<'_, '_> {
    fn before_turn(&mut self) -> AttemptResult<Option<Duration>> {
        let clock: &dyn Clock = &*self.attempt.runner.clock;
        self.attempt.budget.start_turn(clock)?;
        let trace = TurnTrace::start(&self.attempt.runner.clock, "prompt", "");
        self.turn = Some((self.attempt.trace.span("prompt"), trace));
        Ok(self.attempt.budget.time_left(clock))
    }

    async fn on_event(&mut self, envelope: Envelope) {
        let attempt = self.attempt;
        if let Some((_, trace)) = &mut self.turn {
            trace.on_event(&envelope.event);
        }
        let message = Broadcast::AgentEvent {
            project_id: attempt.project.id,
            task_id: attempt.task.id,
            attempt: attempt.at.number,
            envelope: Box::new(envelope),
        };
        attempt.broadcast(message).await;
    }

    fn after_turn(&mut self, agent: &str, result: &Result<TurnOutput, TurnError>) {
        let mut turn = self.turn.take();
        if let (Err(error), Some((_, trace))) = (result, &mut turn) {
            trace.fail(error.code, &error.message);
        }
        // The usage of a failed turn counts too.
        let usage = match (result, &turn) {
            (Ok(output), _) => output.usage.clone(),
            (Err(_), Some((_, trace))) => Some(trace.finish().total_usage()),
            (Err(_), None) => None,
        };
        self.attempt.budget.add(usage.as_ref());
        if let Some((span, trace)) = turn {
            span.finish(|node| {
                *node = trace.finish();
                node.agent = Some(agent.to_owned());
            });
        }
    }
}
