//! One turn of an agent, as a stream that owns its process.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, FuturesUnordered, StreamExt};
use tokio::sync::Notify;
use tokio::time::Instant;
use windlass_core::{
    AgentEvent, BackendEvent, EventStream, Prompt, Result, SessionId, TurnDiagnostics,
};

use super::driver::CliDriver;
use super::failure;
use super::parser::{Parsed, TurnRequest};
use super::process::AgentProcess;
use super::profile::SessionNaming;
use super::program::CliInstallation;
use super::sessions::CliSession;

/// From prompt to terminal event. Dropping it ends the process with all it started.
pub(super) struct CliTurn {
    driver: Arc<CliDriver>,
    found: CliInstallation,
    id: SessionId,
    session: Arc<CliSession>,
    question: TurnRequest,
    /// Until the turn has ended.
    process: Option<AgentProcess>,
    /// Whether the process waited since an earlier turn and has not said anything in this one.
    untried: bool,
    queue: VecDeque<BackendEvent>,
    /// The end of the turn, once all is done that comes before it.
    end: Option<BackendEvent>,
    /// What a process that ended by itself left behind.
    left: TurnDiagnostics,
    /// What somebody was asked in the agent's name.
    questions: FuturesUnordered<BoxFuture<'static, PermissionChoice>>,
    stop: Arc<Notify>,
    /// When an agent that was asked to end the turn is made to.
    patience: Option<Instant>,
}

/// How long an agent may take to end a turn when asked.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// The id of a question, and the option that was chosen.
type PermissionChoice = (String, Option<String>);

enum CliTurnStep {
    Line(String),
    Chosen(PermissionChoice),
    End,
    Stop,
    ForceStop,
}

impl CliTurn {
    /// Begins a turn, with the process that waits for it or with a new one.
    pub(super) fn start(
        driver: Arc<CliDriver>,
        found: CliInstallation,
        id: &SessionId,
        prompt: Prompt,
    ) -> Result<EventStream> {
        let session = driver.sessions.get(driver.profile.name, id)?;
        let stop = session.begin_turn();
        let waiting = driver.parking.take(id);
        let untried = waiting.is_some();
        let mut process = match waiting {
            Some(process) => process,
            None => driver.start(&found, &session, &prompt.text)?,
        };
        let question = TurnRequest {
            prompt: prompt.text,
            schema: session.options.output_schema.clone(),
        };
        process.start_turn(question.clone());
        let turn = Self {
            driver,
            found,
            id: id.clone(),
            session,
            question,
            process: Some(process),
            untried,
            queue: VecDeque::new(),
            end: None,
            left: TurnDiagnostics::default(),
            questions: FuturesUnordered::new(),
            stop,
            patience: None,
        };
        Ok(Box::pin(stream::unfold(turn, Self::next)))
    }

    async fn next(mut self) -> Option<(BackendEvent, Self)> {
        loop {
            if let Some(end) = self.end.take() {
                return Some((end, self));
            }
            if let Some(emitted) = self.queue.pop_front() {
                if !emitted.event.is_terminal() {
                    return Some((emitted, self));
                }
                let BackendEvent { event, raw } = emitted;
                let left = self
                    .finish_session(&event)
                    .await
                    .with_retry_after(failure::retry_after(&event));
                let (before, event) = left.attach_to(event);
                self.end = Some(BackendEvent { event, raw });
                match before {
                    Some(before) => return Some((before.into(), self)),
                    None => continue,
                }
            }
            let process = self.process.as_mut()?;
            let step = tokio::select! {
                line = process.child.stdout.next() => match line {
                    Ok(Some(line)) => CliTurnStep::Line(line.text()),
                    _ => CliTurnStep::End,
                },
                Some(chosen) = self.questions.next(), if !self.questions.is_empty() => {
                    CliTurnStep::Chosen(chosen)
                }
                () = self.stop.notified() => CliTurnStep::Stop,
                () = wait_until(self.patience) => CliTurnStep::ForceStop,
            };
            match step {
                CliTurnStep::Line(line) => {
                    let heard = process.handle_line(&line);
                    self.on_parsed(heard, line);
                }
                CliTurnStep::Chosen((id, option)) => {
                    process.answer_permission(&id, option.as_deref())
                }
                CliTurnStep::Stop => {
                    self.untried = false;
                    self.questions.clear();
                    self.patience = Some(Instant::now() + CANCEL_TIMEOUT);
                    process.interrupt();
                }
                CliTurnStep::ForceStop => {
                    self.patience = None;
                    process.child.stop();
                }
                CliTurnStep::End => self.ended().await,
            }
        }
    }

    /// Keeps what a line said about the session, and passes its events on.
    fn on_parsed(&mut self, heard: Parsed, line: String) {
        if let Some(total) = heard.total {
            self.session.set_total(total);
        }
        if let Some(name) = heard.session
            && self.session.set_name(&name)
        {
            let id = SessionId::from(name.as_str());
            self.driver
                .sessions
                .insert(id.clone(), Arc::clone(&self.session));
            self.id = id;
            let new_session_id = name;
            self.queue
                .push_back(AgentEvent::SessionChanged { new_session_id }.into());
        }
        for ask in heard.asks {
            let approver = self.session.options.approver.clone();
            self.questions.push(Box::pin(async move {
                let id = ask.id.clone();
                (id, approver.ask(ask).await)
            }));
        }
        let first = self.queue.len();
        self.queue
            .extend(heard.events.into_iter().map(BackendEvent::from));
        if self.queue.len() > first {
            self.untried = false;
            if let Some(last) = self.queue.back_mut() {
                last.raw = Some(line);
            }
        }
    }

    /// The output has ended, and the turn with it, unless it had not really begun.
    async fn ended(&mut self) {
        let Some(process) = self.process.take() else {
            return;
        };
        // A process that died while it waited for this turn is started again.
        if !std::mem::take(&mut self.untried) {
            let (end, left) = process.wait_exit(&self.driver).await;
            if !self.is_name_taken(&end) {
                self.left = left;
                self.queue.push_back(end.into());
                return;
            }
            self.session.mark_existing();
        }
        let prompt = &self.question.prompt;
        match self.driver.start(&self.found, &self.session, prompt) {
            Ok(mut process) => {
                process.start_turn(self.question.clone());
                self.process = Some(process);
            }
            Err(error) => self.queue.push_back(AgentEvent::from(error).into()),
        }
    }

    /// Whether the agent has the session that we wanted to begin: an earlier turn ended before it could say so.
    fn is_name_taken(&self, end: &AgentEvent) -> bool {
        match (end, self.found.transport.naming) {
            (AgentEvent::Error { message, .. }, SessionNaming::ByClient { taken }) => {
                message.contains(taken) && !self.session.has_turns()
            }
            _ => false,
        }
    }

    /// The terminal event is known; before anyone hears it, the session is in order for the next turn.
    ///
    /// Gives what the process left behind. One that goes on living is only quoted where it failed.
    async fn finish_session(&mut self, end: &AgentEvent) -> TurnDiagnostics {
        self.queue.clear();
        self.questions.clear();
        match self.process.take() {
            Some(process) if process.is_interactive() && !self.session.options.once => {
                let left = match end {
                    AgentEvent::Error { .. } => process.diagnostics(None),
                    _ => TurnDiagnostics::default(),
                };
                self.driver.parking.insert(self.id.clone(), process);
                left
            }
            Some(process) => process.close().await,
            None => std::mem::take(&mut self.left),
        }
    }
}

/// Waits for that moment; for ever, if there is none.
async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
