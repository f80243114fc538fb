//! A case under way.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{
    AgentEvent, AgentHandle, Capabilities, Clock, Error, ErrorCode, EventReceiver, Prompt,
    SessionId, SessionOptions, TurnLimits,
};

use super::CaseScript;
use super::case::{CaseStop, CheckResult, ensure};
use super::turn_log::{TurnLog, describe_event};

/// How long a handle waits for a backend that was cancelled.
const GRACE: Duration = Duration::from_secs(10);
/// How long a backend may take that obeys: well below the grace, after which the handle ends the turn itself.
pub(super) const CANCEL_LIMIT: Duration = Duration::from_secs(5);
/// Room for the answer to the largest prompt of the suite.
const EVENT_BYTES: usize = 8 << 20;

/// An agent, what it is to do, and the questions that cases ask of it.
pub(super) struct CaseRunner {
    agent: AgentHandle,
    clock: Arc<dyn Clock>,
    stage: CaseScript,
}

impl CaseRunner {
    pub(super) fn new(agent: AgentHandle, clock: Arc<dyn Clock>, stage: CaseScript) -> Self {
        let limits = TurnLimits {
            grace: GRACE,
            event_bytes: EVENT_BYTES,
            ..agent.limits()
        };
        Self {
            agent: agent.with_limits(limits),
            clock,
            stage,
        }
    }

    pub(super) fn agent(&self) -> &AgentHandle {
        &self.agent
    }

    /// Refuses the case unless the backend has this capability.
    pub(super) fn require_capability(
        &self,
        has: fn(&Capabilities) -> bool,
        what: &str,
    ) -> CheckResult {
        if has(&self.agent.capabilities()) {
            Ok(())
        } else {
            Err(CaseStop::Unsupported(format!(
                "{} does not {what}",
                self.agent.name()
            )))
        }
    }

    /// Begins a session.
    pub(super) async fn new_session(&self) -> CheckResult<SessionId> {
        let begun = self.agent.new_session(SessionOptions::default()).await;
        begun.map_err(|error| CaseStop::Failed(format!("no session began: {error}")))
    }

    /// Asks for something that the backend can only do with a capability.
    ///
    /// With it, the answer is passed on. Without it, only a typed error is right.
    pub(super) fn expect_capability<T>(
        &self,
        has: fn(&Capabilities) -> bool,
        what: &str,
        answer: Result<T, Error>,
    ) -> CheckResult<Result<T, Error>> {
        if has(&self.agent.capabilities()) {
            return Ok(answer);
        }
        match answer {
            Err(error @ Error::Unsupported { .. }) => Err(CaseStop::Unsupported(error.to_string())),
            Err(other) => Err(CaseStop::Failed(format!(
                "the backend cannot {what}, and says so with the wrong error: {other}"
            ))),
            Ok(_) => Err(CaseStop::Failed(format!(
                "the backend's capabilities say that it cannot {what}, yet it does"
            ))),
        }
    }

    /// Begins the turn of this scene.
    pub(super) async fn start(
        &self,
        session: &SessionId,
        scene: usize,
    ) -> CheckResult<EventReceiver> {
        self.ask(session, self.prompt(scene)).await
    }

    /// The prompt of this scene.
    pub(super) fn prompt(&self, scene: usize) -> Prompt {
        let scene = self.stage.scenes.get(scene);
        scene
            .map(|scene| scene.prompt.as_str())
            .unwrap_or_default()
            .into()
    }

    /// Begins a turn with this prompt.
    pub(super) async fn ask(
        &self,
        session: &SessionId,
        prompt: Prompt,
    ) -> CheckResult<EventReceiver> {
        let turn = self.agent.prompt(session, prompt).await;
        turn.map_err(|error| CaseStop::Failed(format!("no turn began: {error}")))
    }

    /// Plays the scene to its end.
    pub(super) async fn run_turn(&self, session: &SessionId, scene: usize) -> CheckResult<TurnLog> {
        Ok(self.collect(self.start(session, scene).await?).await)
    }

    /// Plays the scene to its end, which must be the answer that the stage has for it.
    pub(super) async fn run_turn_expecting_answer(
        &self,
        session: &SessionId,
        scene: usize,
    ) -> CheckResult<TurnLog> {
        let told = self.run_turn(session, scene).await?;
        let scene = self.stage.scenes.get(scene);
        let answer = scene.and_then(|scene| self.stage.answer(scene));
        told.expect_answer(&answer.unwrap_or_default())?;
        Ok(told)
    }

    /// Reads a turn to its end.
    pub(super) async fn collect(&self, mut turn: EventReceiver) -> TurnLog {
        let mut events = Vec::new();
        while let Some(envelope) = turn.recv_envelope().await {
            events.push(envelope);
        }
        TurnLog::new(events)
    }

    /// Reads a turn up to the first event of this kind.
    pub(super) async fn read_until(
        &self,
        turn: &mut EventReceiver,
        what: &str,
        is: fn(&AgentEvent) -> bool,
    ) -> CheckResult {
        while let Some(event) = turn.recv().await {
            if is(&event) {
                return Ok(());
            }
            ensure(!event.is_terminal(), || {
                format!(
                    "the turn should come to {what} and ended with {}",
                    describe_event(Some(&event))
                )
            })?;
        }
        Ok(())
    }

    /// Cancels the turn, as often as said. It must end as cancelled, and soon.
    pub(super) async fn cancel(
        &self,
        session: &SessionId,
        turn: EventReceiver,
        times: usize,
    ) -> CheckResult<TurnLog> {
        let since = self.clock.elapsed();
        for _ in 0..times {
            let asked = self.agent.cancel(session).await;
            asked.map_err(|error| CaseStop::Failed(format!("the cancel was refused: {error}")))?;
        }
        let told = self.collect(turn).await;
        self.expect_duration(since, CANCEL_LIMIT, "the cancelled turn")?;
        told.expect_error(ErrorCode::Cancelled)?;
        Ok(told)
    }

    pub(super) fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Checks how long something took.
    pub(super) fn expect_duration(
        &self,
        since: Duration,
        limit: Duration,
        what: &str,
    ) -> CheckResult {
        let took = self.clock.elapsed().saturating_sub(since);
        ensure(took <= limit, || {
            format!(
                "{what} took {:.1} s to end, at most {} s are right",
                took.as_secs_f64(),
                limit.as_secs()
            )
        })
    }

    /// Waits a little.
    pub(super) async fn pause(&self) {
        self.clock.sleep(Duration::from_millis(50)).await;
    }
}
