//! Turns as a person follows them: shown while they happen, stopped by an interrupt.

use std::ops::ControlFlow;
use std::time::Duration;

use windlass_core::structured::StructuredCall;
use windlass_core::{
    AgentEvent, AgentHandle, Clock, Error, EventReceiver, Prompt, SessionId, SystemClock,
};

use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::turn_printer::TurnPrinter;

/// Shows a turn to its end. The first interrupt cancels it; the second does not wait for the agent.
pub(super) async fn follow_turn(
    handle: &AgentHandle,
    session: &SessionId,
    mut turn: EventReceiver,
    transcript: &mut TurnPrinter<'_>,
    interrupts: &mut Interrupts,
    mut hear: impl FnMut(&AgentEvent),
) -> Result<ControlFlow<Exit>, CliError> {
    let mut interrupted = false;
    loop {
        tokio::select! {
            envelope = turn.recv_envelope() => {
                let Some(envelope) = envelope else {
                    return Ok(ControlFlow::Continue(()));
                };
                hear(&envelope.event);
                transcript.show(&envelope)?;
            }
            () = interrupts.next() => {
                if interrupted {
                    return Ok(ControlFlow::Break(Exit::Interrupted));
                }
                interrupted = true;
                transcript.print_interrupting();
                handle.cancel(session).await?;
            }
        }
    }
}

/// The turns of a structured call.
pub(super) struct StructuredRounds<'a> {
    pub(super) handle: &'a AgentHandle,
    pub(super) session: SessionId,
    pub(super) transcript: TurnPrinter<'a>,
    pub(super) interrupts: Interrupts,
    /// The time for all of them together.
    pub(super) timeout: Option<Duration>,
}

impl StructuredRounds<'_> {
    /// As many turns as it takes until the answer is there, or cannot be had.
    pub(super) async fn run(mut self, mut dialog: StructuredCall) -> Result<Exit, CliError> {
        let clock = SystemClock::new();
        self.transcript.buffer_answer();
        loop {
            let timeout = self.time_left(&clock)?;
            if let ControlFlow::Break(exit) = self.run_round(&mut dialog, timeout).await? {
                return Ok(exit);
            }
            match dialog.finish_turn() {
                Ok(None) => {}
                Ok(Some(structured)) => return self.transcript.finish_with_value(structured),
                Err(error) => return self.transcript.finish_with_error(error),
            }
        }
    }

    async fn run_round(
        &mut self,
        dialog: &mut StructuredCall,
        timeout: Option<Duration>,
    ) -> Result<ControlFlow<Exit>, CliError> {
        let prompt = Prompt {
            text: dialog.prompt().to_owned(),
            timeout,
        };
        // The turn is known by the session that it began in, wherever the next one goes on.
        let session = self.session.clone();
        let turn = self.handle.prompt(&session, prompt).await?;
        let (next, transcript) = (&mut self.session, &mut self.transcript);
        let hear = |event: &AgentEvent| {
            dialog.on_event(event);
            if let AgentEvent::SessionChanged { new_session_id } = event {
                *next = new_session_id.as_str().into();
            }
        };
        follow_turn(
            self.handle,
            &session,
            turn,
            transcript,
            &mut self.interrupts,
            hear,
        )
        .await
    }

    fn time_left(&self, clock: &SystemClock) -> Result<Option<Duration>, Error> {
        let Some(after) = self.timeout else {
            return Ok(None);
        };
        match after.saturating_sub(clock.elapsed()) {
            Duration::ZERO => Err(Error::Timeout {
                what: "the answer".to_owned(),
                after,
            }),
            left => Ok(Some(left)),
        }
    }
}
