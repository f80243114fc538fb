//! Runs a case.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{
    AgentEvent, AgentHandle, Capabilities, Clock, Error, ErrorCode, EventReceiver, Prompt,
    SessionId, SessionOptions, TurnLimits,
};

use super::CaseScript;
use super::check::{CaseStop, CheckResult, ensure};
use super::turn_log::{TurnLog, describe_event};

/// How long a handle waits for a cancelled backend.
const GRACE: Duration = Duration::from_secs(10);
/// How long a backend may take to cancel: well below the grace period, after which the handle ends
/// the turn itself.
pub(super) const CANCEL_LIMIT: Duration = Duration::from_secs(5);
/// Enough for the answer to the largest prompt of the suite.
const EVENT_BYTES: usize = 8 << 20;

/// An agent with its script, and the operations that cases use.
pub(super) struct CaseRunner {
    agent: AgentHandle,
    clock: Arc<dyn Clock>,
    script: CaseScript,
}

impl CaseRunner {
    pub(super) fn new(agent: AgentHandle, clock: Arc<dyn Clock>, script: CaseScript) -> Self {
        let limits = TurnLimits {
            grace: GRACE,
            event_bytes: EVENT_BYTES,
            ..agent.limits()
        };
        Self {
            agent: agent.with_limits(limits),
            clock,
            script,
        }
    }

    pub(super) fn agent(&self) -> &AgentHandle {
        &self.agent
    }

    /// Marks the case as unsupported unless the backend has this capability.
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

    /// Starts a session.
    pub(super) async fn new_session(&self) -> CheckResult<SessionId> {
        let session = self.agent.new_session(SessionOptions::default()).await;
        session.map_err(|error| CaseStop::Failed(format!("no session was started: {error}")))
    }

    /// Checks the result of an operation that needs a capability.
    ///
    /// With the capability, the result is returned. Without it, the result must be a typed error.
    pub(super) fn expect_capability<T>(
        &self,
        has: fn(&Capabilities) -> bool,
        what: &str,
        result: Result<T, Error>,
    ) -> CheckResult<Result<T, Error>> {
        if has(&self.agent.capabilities()) {
            return Ok(result);
        }
        match result {
            Err(error @ Error::Unsupported { .. }) => Err(CaseStop::Unsupported(error.to_string())),
            Err(other) => Err(CaseStop::Failed(format!(
                "the backend cannot {what}, but returns the wrong error: {other}"
            ))),
            Ok(_) => Err(CaseStop::Failed(format!(
                "the backend does not declare that it can {what}, but does"
            ))),
        }
    }

    /// Starts this turn.
    pub(super) async fn start(
        &self,
        session: &SessionId,
        turn: usize,
    ) -> CheckResult<EventReceiver> {
        self.ask(session, self.prompt(turn)).await
    }

    /// Returns the prompt of this turn.
    pub(super) fn prompt(&self, turn: usize) -> Prompt {
        let turn = self.script.turns.get(turn);
        turn.map(|turn| turn.prompt.as_str())
            .unwrap_or_default()
            .into()
    }

    /// Starts a turn with this prompt.
    pub(super) async fn ask(
        &self,
        session: &SessionId,
        prompt: Prompt,
    ) -> CheckResult<EventReceiver> {
        let events = self.agent.prompt(session, prompt).await;
        events.map_err(|error| CaseStop::Failed(format!("no turn was started: {error}")))
    }

    /// Runs this turn to its end.
    pub(super) async fn run_turn(&self, session: &SessionId, turn: usize) -> CheckResult<TurnLog> {
        Ok(self.collect(self.start(session, turn).await?).await)
    }

    /// Runs this turn to its end, which must be the answer of the script.
    pub(super) async fn run_turn_expecting_answer(
        &self,
        session: &SessionId,
        turn: usize,
    ) -> CheckResult<TurnLog> {
        let log = self.run_turn(session, turn).await?;
        let turn = self.script.turns.get(turn);
        let answer = turn.and_then(|turn| self.script.answer(turn));
        log.expect_answer(&answer.unwrap_or_default())?;
        Ok(log)
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
        matches: fn(&AgentEvent) -> bool,
    ) -> CheckResult {
        while let Some(event) = turn.recv().await {
            if matches(&event) {
                return Ok(());
            }
            ensure(!event.is_terminal(), || {
                format!(
                    "expected {what} in the turn, it ended with {}",
                    describe_event(Some(&event))
                )
            })?;
        }
        Ok(())
    }

    /// Cancels the turn this many times. It must end as cancelled, within the limit.
    pub(super) async fn cancel(
        &self,
        session: &SessionId,
        turn: EventReceiver,
        times: usize,
    ) -> CheckResult<TurnLog> {
        let since = self.clock.elapsed();
        for _ in 0..times {
            let cancelled = self.agent.cancel(session).await;
            cancelled.map_err(|error| CaseStop::Failed(format!("cancelling failed: {error}")))?;
        }
        let log = self.collect(turn).await;
        self.expect_duration(since, CANCEL_LIMIT, "the cancelled turn")?;
        log.expect_error(ErrorCode::Cancelled)?;
        Ok(log)
    }

    pub(super) fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    /// Checks a duration.
    pub(super) fn expect_duration(
        &self,
        since: Duration,
        limit: Duration,
        what: &str,
    ) -> CheckResult {
        let duration = self.clock.elapsed().saturating_sub(since);
        ensure(duration <= limit, || {
            format!(
                "{what} took {:.1} s to end (limit: {} s)",
                duration.as_secs_f64(),
                limit.as_secs()
            )
        })
    }

    /// Waits briefly.
    pub(super) async fn pause(&self) {
        self.clock.sleep(Duration::from_millis(50)).await;
    }
}
