//! Runs one prompt as a turn: shows its events, asks for permissions, and stops it on Ctrl-C.

use std::time::Duration;

use tokio::sync::mpsc;
use windlass_agents::WarmTurn;
use windlass_core::{AgentEvent, Envelope, PermissionRequest};

use super::conversation::{ChatContext, ChatConversation};
use super::input::{ChatEntry, ChatInput};
use super::questions::{Question, chosen};
use super::turn_view::TurnView;
use crate::cli::console::Console;
use crate::cli::exit::{CliError, Exit};
use crate::cli::interrupt::{Interrupts, StopSignal};
use crate::cli::question;
use crate::cli::turn_printer::{OutputMode, TurnPrinter};

/// How long a permission request waits for the events before it, which come another way.
const EVENT_WAIT: Duration = Duration::from_millis(200);

/// What a turn needs in addition to the conversation.
pub(super) struct ChatTurnRunner<'a> {
    pub(super) context: &'a ChatContext<'a>,
    pub(super) input: &'a ChatInput,
    pub(super) interrupts: &'a mut Interrupts,
    pub(super) questions: &'a mut mpsc::Receiver<Question>,
    /// `None` shows the turn on a terminal.
    pub(super) output: Option<OutputMode>,
    pub(super) is_read_only: bool,
}

/// How a turn ended.
pub(super) struct ChatTurnEnd {
    pub(super) exit: Exit,
    pub(super) answer: String,
    /// The program must end.
    pub(super) is_terminated: bool,
}

/// How a turn is shown.
enum Shown<'a> {
    Terminal(Box<TurnView<'a>>),
    Plain(Box<TurnPrinter<'a>>),
}

impl Shown<'_> {
    fn show(&mut self, envelope: &Envelope) -> Result<(), CliError> {
        match self {
            Self::Terminal(view) => view.show(&envelope.event),
            Self::Plain(printer) => printer.show(envelope),
        }
    }

    fn note(&mut self, line: &str) -> Result<(), CliError> {
        match self {
            Self::Terminal(view) => view.note(line),
            Self::Plain(printer) => printer.note(line),
        }
    }

    fn ask(&mut self, console: &Console, request: &PermissionRequest) -> Result<(), CliError> {
        match self {
            Self::Terminal(view) => view.ask(request),
            Self::Plain(printer) => {
                printer.end_line()?;
                question::print(console, request);
                Ok(())
            }
        }
    }

    /// Ends the output of a turn that did not start.
    fn abort(self) -> Result<(), CliError> {
        match self {
            Self::Terminal(mut view) => view.finish(),
            Self::Plain(_) => Ok(()),
        }
    }

    /// Ends the output of the turn. Returns the exit code of a plain turn.
    fn finish(self) -> Result<Option<Exit>, CliError> {
        match self {
            Self::Terminal(mut view) => {
                view.finish()?;
                Ok(None)
            }
            Self::Plain(printer) => printer.finish().map(Some),
        }
    }
}

impl ChatTurnRunner<'_> {
    /// Sends a prompt and shows the turn to its end. The turn is recorded, also if it failed or was stopped.
    pub(super) async fn run(
        &mut self,
        conversation: &mut ChatConversation,
        prompt: &str,
    ) -> Result<ChatTurnEnd, CliError> {
        let name = conversation.agent.name.clone();
        let console = self.context.console;
        let mut shown = match self.output {
            None => {
                let view = TurnView::new(console, &self.context.cwd, &name);
                Shown::Terminal(Box::new(view))
            }
            Some(output) => {
                let printer = TurnPrinter::new(console, output, &name);
                let printer = printer.with_access(conversation.access(), self.is_read_only);
                Shown::Plain(Box::new(printer))
            }
        };
        let started = tokio::select! {
            started = conversation.start_turn(self.context, prompt) => started,
            signal = self.interrupts.next_signal() => {
                return interrupted(shown, signal);
            }
        };
        let mut turn = match started {
            Ok(turn) => turn,
            Err(error) => {
                shown.abort()?;
                return Err(error);
            }
        };
        let mut follow = Follow::default();
        self.follow(conversation, &mut turn, &mut shown, &mut follow)
            .await?;
        drop(turn);
        let end = follow.end;
        let exit = shown.finish()?;
        let exit = exit.or(end.as_ref().map(Exit::from_event));
        let answer = match end {
            Some(AgentEvent::Result { text, .. }) if !text.trim().is_empty() => text,
            _ => follow.text,
        };
        Ok(ChatTurnEnd {
            exit: exit.unwrap_or(Exit::Interrupted),
            answer,
            is_terminated: follow.is_terminated,
        })
    }

    async fn follow(
        &mut self,
        conversation: &ChatConversation,
        turn: &mut WarmTurn,
        shown: &mut Shown<'_>,
        follow: &mut Follow,
    ) -> Result<(), CliError> {
        loop {
            tokio::select! {
                envelope = turn.recv_envelope() => {
                    let Some(envelope) = envelope else { return Ok(()) };
                    follow.on_event(&envelope.event);
                    shown.show(&envelope)?;
                }
                Some(question) = self.questions.recv() => {
                    self.answer(conversation, turn, shown, follow, question).await?;
                }
                signal = self.interrupts.next_signal() => {
                    if self.stop(conversation, shown, follow, signal).await? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Stops the turn. Returns `true` if the chat does not wait for its end, because the user asked twice.
    async fn stop(
        &self,
        conversation: &ChatConversation,
        shown: &mut Shown<'_>,
        follow: &mut Follow,
        signal: StopSignal,
    ) -> Result<bool, CliError> {
        follow.is_terminated |= signal == StopSignal::Terminate;
        if follow.is_stopping {
            shown.note("the agent is ended")?;
            return Ok(true);
        }
        follow.is_stopping = true;
        if signal == StopSignal::Interrupt {
            shown.note("stopping; press Ctrl-C again to stop immediately")?;
        }
        conversation.cancel().await;
        Ok(false)
    }

    /// Asks the user for permission. The events received so far are shown first.
    async fn answer(
        &mut self,
        conversation: &ChatConversation,
        turn: &mut WarmTurn,
        shown: &mut Shown<'_>,
        follow: &mut Follow,
        question: Question,
    ) -> Result<(), CliError> {
        let Question { request, decision } = question;
        let seen = async {
            while !follow.requests.contains(&request.id) && follow.end.is_none() {
                let Some(envelope) = turn.recv_envelope().await else {
                    break;
                };
                follow.on_event(&envelope.event);
                shown.show(&envelope)?;
            }
            Ok::<(), CliError>(())
        };
        // Some agents send the events later.
        if let Ok(seen) = tokio::time::timeout(EVENT_WAIT, seen).await {
            seen?;
        }
        if follow.end.is_some() {
            return Ok(());
        }
        shown.ask(self.context.console, &request)?;
        let prompt = format!("1-{} › ", request.options.len());
        let input = self.input;
        let mut reading = Box::pin(input.read(&prompt));
        loop {
            tokio::select! {
                entry = &mut reading => match entry? {
                    ChatEntry::Line(line) => {
                        if let Some(option) = chosen(&request, &line) {
                            let _ = decision.send(Some(option));
                            return Ok(());
                        }
                        let count = request.options.len();
                        shown.note(&format!("type a number from 1 to {count}, y or n"))?;
                        reading = Box::pin(input.read(&prompt));
                    }
                    // Nothing is allowed, and the turn continues.
                    ChatEntry::End => return Ok(()),
                    ChatEntry::Interrupted => {
                        drop(decision);
                        self.stop(conversation, shown, follow, StopSignal::Interrupt).await?;
                        return Ok(());
                    }
                },
                envelope = turn.recv_envelope() => {
                    let Some(envelope) = envelope else { return Ok(()) };
                    follow.on_event(&envelope.event);
                    shown.show(&envelope)?;
                    if follow.end.is_some() {
                        shown.note("the agent no longer waits for an answer: press Enter")?;
                        return Ok(());
                    }
                }
                signal = self.interrupts.next_signal() => {
                    self.stop(conversation, shown, follow, signal).await?;
                    return Ok(());
                }
            }
        }
    }
}

/// What is known of a turn that runs.
#[derive(Default)]
struct Follow {
    text: String,
    end: Option<AgentEvent>,
    requests: Vec<String>,
    is_stopping: bool,
    is_terminated: bool,
}

impl Follow {
    fn on_event(&mut self, event: &AgentEvent) {
        const MAX_TEXT_BYTES: usize = 64 << 10;
        const MAX_REQUESTS: usize = 1024;
        match event {
            AgentEvent::Text(text) if self.text.len() < MAX_TEXT_BYTES => {
                self.text.push_str(text);
            }
            AgentEvent::PermissionRequest { id, .. } if self.requests.len() < MAX_REQUESTS => {
                self.requests.push(id.clone());
            }
            event if event.is_terminal() => self.end = Some(event.clone()),
            _ => {}
        }
    }
}

fn interrupted(mut shown: Shown<'_>, signal: StopSignal) -> Result<ChatTurnEnd, CliError> {
    shown.note("stopped")?;
    Ok(ChatTurnEnd {
        exit: Exit::Interrupted,
        answer: String::new(),
        is_terminated: signal == StopSignal::Terminate,
    })
}
