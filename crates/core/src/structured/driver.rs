//! Drives the rounds of a structured call.

use super::{Error, StructuredAnswer, StructuredCall};
use crate::AgentEvent;

/// How the prompts of a structured call are sent to an agent.
pub trait TurnRunner: Send {
    /// A reason to end the call that is not a failure of the agent, for example that the caller is gone.
    type Stop: Send;

    /// Sends the prompt to the agent and passes every event of the turn to the round.
    fn run_turn(
        &mut self,
        round: &mut Round<'_>,
    ) -> impl Future<Output = Result<(), TurnFailure<Self::Stop>>> + Send;
}

/// Why a turn of a structured call has no answer.
#[derive(Debug)]
pub enum TurnFailure<S> {
    /// The agent failed. The call fails with this error.
    Agent(crate::Error),
    /// The call ends for another reason.
    Stopped(S),
}

impl<S> From<crate::Error> for TurnFailure<S> {
    fn from(error: crate::Error) -> Self {
        Self::Agent(error)
    }
}

/// One round of a structured call: its prompt, and the answer so far.
#[derive(Debug)]
pub struct Round<'a>(&'a mut StructuredCall);

impl Round<'_> {
    /// Returns the prompt for the agent. After a rejected answer it states the reason.
    pub fn prompt(&self) -> &str {
        self.0.prompt()
    }

    /// Processes an event of the turn.
    pub fn on_event(&mut self, event: &AgentEvent) {
        self.0.on_event(event);
    }
}

impl StructuredCall {
    /// Runs turns until an answer matches the schema or the rounds are exhausted.
    ///
    /// # Errors
    ///
    /// The outer error is the runner's reason to stop. The inner one is the failure of the call.
    pub async fn run<R: TurnRunner>(
        mut self,
        runner: &mut R,
    ) -> Result<Result<StructuredAnswer, Error>, R::Stop> {
        loop {
            match runner.run_turn(&mut Round(&mut self)).await {
                Ok(()) => {}
                Err(TurnFailure::Agent(error)) => return Ok(Err(self.error(error.into()))),
                Err(TurnFailure::Stopped(stop)) => return Err(stop),
            }
            match self.finish_turn() {
                Ok(Some(answer)) => return Ok(Ok(answer)),
                Ok(None) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
    }
}
