//! A conversation with an agent: turns heard to their end, and structured calls made of them.

use std::time::Duration;

use windlass_core::structured::{
    self, StructuredAnswer, StructuredCall, ValidationPolicy, schema_mode_for,
};
use windlass_core::{
    AgentEvent, AgentHandle, Clock, Envelope, Error, ErrorCode, Prompt, SchemaSetting, SessionId,
    SessionOptions, StructuredAgentTask, TurnTrace, Usage,
};

use super::{AttemptContext, AttemptError, AttemptResult};
use windlass_core::task::Broadcast;

/// Somebody who is told of every event, and may refuse a further turn.
pub(crate) trait TurnObserver: Send {
    /// Asked before each turn: the time it may take at most, where that is limited.
    fn before_turn(&mut self) -> AttemptResult<Option<Duration>>;
    /// Told of each event.
    fn on_event(&mut self, envelope: Envelope) -> impl Future<Output = ()> + Send;
    /// Told how a turn ended.
    fn after_turn(&mut self, agent: &str, said: &Result<TurnOutput, TurnError>);
}

/// Nobody.
impl TurnObserver for () {
    fn before_turn(&mut self) -> AttemptResult<Option<Duration>> {
        Ok(None)
    }

    async fn on_event(&mut self, _: Envelope) {}

    fn after_turn(&mut self, _: &str, _: &Result<TurnOutput, TurnError>) {}
}

/// What an agent said in a turn that ended well.
#[derive(Debug)]
pub(crate) struct TurnOutput {
    pub(crate) text: String,
    pub(crate) usage: Option<Usage>,
}

/// How a turn failed.
#[derive(Debug, Clone)]
pub(crate) struct TurnError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) recoverable: bool,
    /// The session is gone; a new one may do.
    pub(crate) orphaned: bool,
}

impl From<TurnError> for AttemptError {
    fn from(fault: TurnError) -> Self {
        match fault.code {
            ErrorCode::Timeout => Self::timeout(),
            _ => Self::Failed {
                error: fault.message,
                again: fault.recoverable || fault.orphaned,
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
        }
    }
}

/// One agent and the session that its turns are in.
pub(crate) struct Conversation {
    pub(crate) agent: AgentHandle,
    /// What people call it.
    pub(crate) name: String,
    options: SessionOptions,
    session: Option<SessionId>,
}

impl Conversation {
    pub(crate) fn new(agent: AgentHandle, options: SessionOptions) -> Self {
        Self {
            name: agent.name().to_owned(),
            agent,
            options,
            session: None,
        }
    }

    /// The same under another name than the agent's own.
    pub(crate) fn with_name(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Whether a session was begun and not lost.
    pub(crate) fn is_open(&self) -> bool {
        self.session.is_some()
    }

    /// One turn, in the session of the turns before.
    pub(crate) async fn turn(
        &mut self,
        text: &str,
        timeout: Option<Duration>,
        hearing: &mut impl TurnObserver,
    ) -> AttemptResult<Result<TurnOutput, TurnError>> {
        self.turn_with(text, timeout, hearing, &mut |_| {}).await
    }

    async fn turn_with(
        &mut self,
        text: &str,
        timeout: Option<Duration>,
        hearing: &mut impl TurnObserver,
        also: &mut (dyn FnMut(&AgentEvent) + Send),
    ) -> AttemptResult<Result<TurnOutput, TurnError>> {
        let left = hearing.before_turn()?;
        let timeout = match (timeout, left) {
            (Some(timeout), Some(left)) => Some(timeout.min(left)),
            (None, Some(left)) => Some(left.min(self.agent.limits().deadline)),
            (timeout, None) => timeout,
        };
        let said = self.heard(text, timeout, hearing, also).await;
        if said.as_ref().is_err_and(|fault| fault.orphaned) {
            self.session = None;
        }
        hearing.after_turn(&self.name, &said);
        Ok(said)
    }

    async fn heard(
        &mut self,
        text: &str,
        timeout: Option<Duration>,
        hearing: &mut impl TurnObserver,
        also: &mut (dyn FnMut(&AgentEvent) + Send),
    ) -> Result<TurnOutput, TurnError> {
        let session = match &self.session {
            Some(session) => session.clone(),
            None => self.agent.new_session(self.options.clone()).await?,
        };
        self.session = Some(session.clone());
        let prompt = Prompt {
            text: text.to_owned(),
            timeout,
        };
        let mut events = self.agent.prompt(&session, prompt).await?;
        let mut end = None;
        while let Some(envelope) = events.recv_envelope().await {
            also(&envelope.event);
            match &envelope.event {
                AgentEvent::SessionChanged { new_session_id } => {
                    self.session = Some(new_session_id.as_str().into());
                }
                event if event.is_terminal() => end = Some(event.clone()),
                _ => {}
            }
            hearing.on_event(envelope).await;
        }
        turn_result(end)
    }

    /// A structured call in a session of its own. Each round is a turn.
    pub(crate) async fn structured(
        &mut self,
        task: StructuredAgentTask,
        rules: ValidationPolicy,
        timeout: Option<Duration>,
        hearing: &mut impl TurnObserver,
    ) -> AttemptResult<Result<StructuredAnswer, StructuredCallError>> {
        let mut answer = String::new();
        let failed = |error: structured::Error, answer: &str| StructuredCallError {
            error,
            answer: answer.to_owned(),
        };
        let mut dialog = match StructuredCall::new(task, rules) {
            Ok(dialog) => dialog,
            Err(error) => return Ok(Err(failed(error, ""))),
        };
        let begun = dialog.session_options(self.options.clone());
        let mut own = Self::new(self.agent.clone(), begun).with_name(self.name.clone());
        loop {
            let prompt = dialog.prompt().to_owned();
            let mut hear = |event: &AgentEvent| dialog.on_event(event);
            let turn = own.turn_with(&prompt, timeout, hearing, &mut hear).await?;
            match turn {
                Ok(said) => answer = said.text,
                Err(fault) if fault.orphaned || !matches!(fault.code, ErrorCode::Cancelled) => {
                    let error = Error::agent(fault.code, fault.message);
                    return Ok(Err(failed(dialog.error(error.into()), &answer)));
                }
                Err(_) => {
                    let error = dialog.error(Error::Cancelled.into());
                    return Ok(Err(failed(error, &answer)));
                }
            }
            match dialog.finish_turn() {
                Ok(Some(structured)) => return Ok(Ok(structured)),
                Ok(None) => {}
                Err(error) => return Ok(Err(failed(error, &answer))),
            }
        }
    }
}

/// A structured call that failed, and the last answer as the agent gave it.
#[derive(Debug)]
pub(crate) struct StructuredCallError {
    pub(crate) error: structured::Error,
    pub(crate) answer: String,
}

impl From<StructuredCallError> for AttemptError {
    fn from(failed: StructuredCallError) -> Self {
        match *failed.error.fault {
            structured::StructuredErrorKind::Agent(error) if error.code() == ErrorCode::Timeout => {
                Self::timeout()
            }
            structured::StructuredErrorKind::Agent(error) => error.into(),
            _ => Self::Failed {
                error: failed.error.to_string(),
                again: true,
            },
        }
    }
}

/// A structured call with this schema, in the mode that suits the agent.
pub(crate) fn call(
    agent: &AgentHandle,
    name: &str,
    prompt: String,
    schema: serde_json::Value,
) -> StructuredAgentTask {
    StructuredAgentTask {
        name: name.to_owned(),
        prompt,
        schema: Some(schema),
        schema_mode: schema_mode_for(SchemaSetting::Auto, agent.capabilities()),
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
        }),
        Some(AgentEvent::SessionInvalid { reason }) => Err(TurnError {
            code: ErrorCode::SessionOrphaned,
            message: reason,
            recoverable: true,
            orphaned: true,
        }),
        _ => Err(TurnError {
            code: ErrorCode::BackendError,
            message: "the turn ended without saying how it ended".to_owned(),
            recoverable: true,
            orphaned: false,
        }),
    }
}

/// An attempt hears everything: its log, its budget and its trace are fed from here.
pub(crate) struct AttemptObserver<'a, 'r> {
    attempt: &'a AttemptContext<'r>,
    /// The turn under way: its place in the attempt's trace, and what is known of it.
    step: Option<(super::trace::TraceSpan, TurnTrace)>,
}

impl<'a, 'r> AttemptObserver<'a, 'r> {
    pub(super) fn new(attempt: &'a AttemptContext<'r>) -> Self {
        Self {
            attempt,
            step: None,
        }
    }
}

/// A turn that is broken off with the attempt still says what is known of it.
impl Drop for AttemptObserver<'_, '_> {
    fn drop(&mut self) {
        if let Some((step, mut heard)) = self.step.take() {
            heard.fail(ErrorCode::Cancelled, "stopped before its end");
            step.finish(|node| {
                *node = heard.finish();
                node.agent = None;
            });
        }
    }
}

impl TurnObserver for AttemptObserver<'_, '_> {
    fn before_turn(&mut self) -> AttemptResult<Option<Duration>> {
        let clock: &dyn Clock = &*self.attempt.runner.clock;
        self.attempt.spending.start_turn(clock)?;
        let heard = TurnTrace::start(&self.attempt.runner.clock, "prompt", "");
        self.step = Some((self.attempt.trace.span("prompt"), heard));
        Ok(self.attempt.spending.time_left(clock))
    }

    async fn on_event(&mut self, envelope: Envelope) {
        let attempt = self.attempt;
        if let Some((_, on_event)) = &mut self.step {
            on_event.on_event(&envelope.event);
        }
        let message = Broadcast::AgentEvent {
            project_id: attempt.project.id,
            task_id: attempt.task.id,
            attempt: attempt.at.number,
            envelope: Box::new(envelope),
        };
        attempt.broadcast(message).await;
    }

    fn after_turn(&mut self, agent: &str, said: &Result<TurnOutput, TurnError>) {
        let mut step = self.step.take();
        if let (Err(fault), Some((_, heard))) = (said, &mut step) {
            heard.fail(fault.code, &fault.message);
        }
        // What the steps of a turn that failed took was taken too.
        let usage = match (said, &step) {
            (Ok(said), _) => said.usage.clone(),
            (Err(_), Some((_, heard))) => Some(heard.finish().total_usage()),
            (Err(_), None) => None,
        };
        self.attempt.spending.add(usage.as_ref());
        if let Some((step, heard)) = step {
            step.finish(|node| {
                *node = heard.finish();
                node.agent = Some(agent.to_owned());
            });
        }
    }
}
