//! Prints turns as they run, and cancels them on an interrupt.

use std::ops::ControlFlow;
use std::time::Duration;

use windlass_core::structured::{Round, StructuredCall, TurnFailure, TurnRunner};
use windlass_core::{
    AgentEvent, AgentHandle, Clock, Error, EventReceiver, Prompt, SessionId, SystemClock,
};

use super::exit::{CliError, Exit};
use super::interrupt::Interrupts;
use super::turn_printer::TurnPrinter;

/// Prints a turn to its end. The first interrupt cancels it; the second returns without waiting for the agent.
pub(super) async fn follow_turn(
    handle: &AgentHandle,
    session: &SessionId,
    mut turn: EventReceiver,
    printer: &mut TurnPrinter<'_>,
    interrupts: &mut Interrupts,
    mut on_event: impl FnMut(&AgentEvent),
) -> Result<ControlFlow<Exit>, CliError> {
    let mut interrupted = false;
    loop {
        tokio::select! {
            envelope = turn.recv_envelope() => {
                let Some(envelope) = envelope else {
                    return Ok(ControlFlow::Continue(()));
                };
                on_event(&envelope.event);
                printer.show(&envelope)?;
            }
            () = interrupts.next() => {
                if interrupted {
                    return Ok(ControlFlow::Break(Exit::Interrupted));
                }
                interrupted = true;
                printer.print_interrupting();
                handle.cancel(session).await?;
            }
        }
    }
}

/// The turns of a structured call.
pub(super) struct StructuredRounds<'a> {
    pub(super) handle: &'a AgentHandle,
    pub(super) session: SessionId,
    pub(super) printer: TurnPrinter<'a>,
    pub(super) interrupts: Interrupts,
    /// The timeout for all turns together.
    pub(super) timeout: Option<Duration>,
    pub(super) clock: SystemClock,
}

impl StructuredRounds<'_> {
    /// Runs turns until the answer is valid or the call fails.
    pub(super) async fn run(mut self, call: StructuredCall) -> Result<Exit, CliError> {
        self.printer.buffer_answer();
        match call.run(&mut self).await {
            Ok(Ok(answer)) => self.printer.finish_with_value(answer),
            Ok(Err(error)) => self.printer.finish_with_error(error),
            Err(stopped) => stopped,
        }
    }

    async fn follow_round(&mut self, round: &mut Round<'_>) -> Result<ControlFlow<Exit>, CliError> {
        let prompt = Prompt {
            text: round.prompt().to_owned(),
            timeout: self.time_left()?,
            ..Prompt::default()
        };
        // A turn belongs to the session it started in, even if the next turn continues in another session.
        let session = self.session.clone();
        let turn = self.handle.prompt(&session, prompt).await?;
        let (next, printer) = (&mut self.session, &mut self.printer);
        let on_event = |event: &AgentEvent| {
            round.on_event(event);
            if let AgentEvent::SessionChanged { new_session_id } = event {
                *next = new_session_id.as_str().into();
            }
        };
        follow_turn(
            self.handle,
            &session,
            turn,
            printer,
            &mut self.interrupts,
            on_event,
        )
        .await
    }

    fn time_left(&self) -> Result<Option<Duration>, Error> {
        let Some(after) = self.timeout else {
            return Ok(None);
        };
        match after.saturating_sub(self.clock.elapsed()) {
            Duration::ZERO => Err(Error::Timeout {
                what: "the answer".to_owned(),
                after,
            }),
            left => Ok(Some(left)),
        }
    }
}

impl TurnRunner for StructuredRounds<'_> {
    /// What the command returns: an exit code after an interrupt, or an error that no answer can follow.
    type Stop = Result<Exit, CliError>;

    async fn run_turn(&mut self, round: &mut Round<'_>) -> Result<(), TurnFailure<Self::Stop>> {
        match self.follow_round(round).await {
            Ok(ControlFlow::Continue(())) => Ok(()),
            Ok(ControlFlow::Break(exit)) => Err(TurnFailure::Stopped(Ok(exit))),
            Err(error) => Err(TurnFailure::Stopped(Err(error))),
        }
    }
}
