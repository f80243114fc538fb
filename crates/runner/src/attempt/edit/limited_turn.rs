//! A turn that continues when the provider limits it: later, or with another agent.

use std::borrow::Cow;
use std::time::Duration;

use windlass_core::ErrorCode;

use super::super::hand_over::TurnNotes;
use super::super::turn::{AttemptObserver, TurnError, TurnOutput};
use super::super::{AttemptResult, retry_transient};
use super::Editor;

/// Waiting times before a turn is repeated, if the provider does not say how long to wait.
const UNKNOWN_WAITS: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(60)];
/// Maximum number of waits in one turn. A provider that asks for more is broken.
const MAX_WAITS: u32 = 100;
/// Maximum number of agents to which one turn is handed over.
const MAX_HAND_OVERS: u32 = 5;

impl Editor<'_, '_> {
    /// Runs one turn. If the provider limits the agent, another one of a composite continues; without one, the attempt waits
    /// and repeats the turn, so that the work done so far is kept.
    ///
    /// An agent that did not see the turns before gets the full prompt.
    pub(super) async fn turn(
        &mut self,
        prompt: &str,
        full_prompt: &str,
    ) -> AttemptResult<Result<TurnOutput, TurnError>> {
        let runner = self.attempt.runner;
        let timeout = runner.settings.turn_timeout;
        let mut prompt = Cow::Borrowed(prompt);
        let mut unknown_waits = UNKNOWN_WAITS.iter();
        let (mut waits, mut hand_overs) = (0, 0);
        loop {
            let name = self.conversation.name.clone();
            let agent_limit = || runner.store.agent_limit(name.clone());
            self.attempt.wait_for_quota(agent_limit).await?;
            let mut notes = TurnNotes::default();
            let mut observer = AttemptObserver::new(self.attempt);
            let result = self
                .conversation
                .turn(&prompt, timeout, &mut observer, &mut |event| {
                    notes.on_event(event);
                })
                .await?;
            let Err(error) = &result else {
                return Ok(result);
            };
            if !may_be_limit(error) {
                return Ok(result);
            }
            let at = self.attempt.at;
            let attempt_limit = || runner.store.attempt_limit(at);
            let limit = retry_transient(&*runner.clock, attempt_limit).await?;
            let is_limited = limit.is_some() || error.code == ErrorCode::RateLimited;
            if !is_limited {
                return Ok(result);
            }
            if self.conversation.agent.has_alternative() && hand_overs < MAX_HAND_OVERS {
                hand_overs += 1;
                let change = self.working_copy.change().await?;
                let reason = notes.hand_over(&error.message, &change.files);
                prompt = Cow::Owned(format!("{full_prompt}\n\n{reason}"));
                let message = "the provider limits the agent: another one continues";
                self.attempt.report_activity("agent", message).await;
            } else if limit.is_some() && waits < MAX_WAITS {
                waits += 1;
                self.attempt.wait_for_quota(attempt_limit).await?;
            } else if let Some(wait) = unknown_waits.next() {
                let seconds = wait.as_secs();
                let message = format!("rate limited by the provider: waiting {seconds} s");
                self.attempt.report_activity("waiting", message).await;
                runner.clock.sleep(*wait).await;
            } else {
                return Ok(result);
            }
        }
    }
}

/// Returns `true` if a limit of the provider may be the cause.
fn may_be_limit(error: &TurnError) -> bool {
    let code = error.code;
    let is_failure = matches!(
        code,
        ErrorCode::RateLimited | ErrorCode::BackendError | ErrorCode::Timeout | ErrorCode::Unknown
    );
    is_failure && !error.orphaned
}
