//! One turn of an agent, as a stream that owns its process.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, FuturesUnordered, StreamExt};
use tokio::sync::Notify;
use tokio::time::Instant;
use windlass_core::{Aftermath, AgentEvent, Emitted, EventStream, Prompt, Result, SessionId};

use super::driver::Driver;
use super::failure;
use super::parser::{Heard, Question};
use super::process::Process;
use super::profile::Naming;
use super::program::Found;
use super::sessions::Session;

/// From prompt to terminal event. Dropping it ends the process with all it started.
pub(super) struct Turn {
    driver: Arc<Driver>,
    found: Found,
    id: SessionId,
    session: Arc<Session>,
    question: Question,
    /// Until the turn has ended.
    process: Option<Process>,
    /// Whether the process waited since an earlier turn and has not said anything in this one.
    untried: bool,
    queue: VecDeque<Emitted>,
    /// The end of the turn, once all is done that comes before it.
    end: Option<Emitted>,
    /// What a process that ended by itself left behind.
    left: Aftermath,
    /// What somebody was asked in the agent's name.
    questions: FuturesUnordered<BoxFuture<'static, Chosen>>,
    stop: Arc<Notify>,
    /// When an agent that was asked to end the turn is made to.
    patience: Option<Instant>,
}

/// How long an agent may take to end a turn when asked.
const PATIENCE: Duration = Duration::from_secs(2);

/// The id of a question, and the option that was chosen.
type Chosen = (String, Option<String>);

enum Step {
    Line(String),
    Chosen(Chosen),
    End,
    Stop,
    Firm,
}

impl Turn {
    /// Begins a turn, with the process that waits for it or with a new one.
    pub(super) fn begin(
        driver: Arc<Driver>,
        found: Found,
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
        let question = Question {
            prompt: prompt.text,
            schema: session.options.output_schema.clone(),
        };
        process.ask(question.clone());
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
            left: Aftermath::default(),
            questions: FuturesUnordered::new(),
            stop,
            patience: None,
        };
        Ok(Box::pin(stream::unfold(turn, Self::next)))
    }

    async fn next(mut self) -> Option<(Emitted, Self)> {
        loop {
            if let Some(end) = self.end.take() {
                return Some((end, self));
            }
            if let Some(emitted) = self.queue.pop_front() {
                if !emitted.event.is_terminal() {
                    return Some((emitted, self));
                }
                let Emitted { event, raw } = emitted;
                let left = self.settle(&event).await.wait(failure::wait(&event));
                let (before, event) = left.before(event);
                self.end = Some(Emitted { event, raw });
                match before {
                    Some(before) => return Some((before.into(), self)),
                    None => continue,
                }
            }
            let process = self.process.as_mut()?;
            let step = tokio::select! {
                line = process.child.stdout.next() => match line {
                    Ok(Some(line)) => Step::Line(line.text()),
                    _ => Step::End,
                },
                Some(chosen) = self.questions.next(), if !self.questions.is_empty() => {
                    Step::Chosen(chosen)
                }
                () = self.stop.notified() => Step::Stop,
                () = until(self.patience) => Step::Firm,
            };
            match step {
                Step::Line(line) => {
                    let heard = process.hear(&line);
                    self.note(heard, line);
                }
                Step::Chosen((id, option)) => process.answer(&id, option.as_deref()),
                Step::Stop => {
                    self.untried = false;
                    self.questions.clear();
                    self.patience = Some(Instant::now() + PATIENCE);
                    process.interrupt();
                }
                Step::Firm => {
                    self.patience = None;
                    process.child.stop();
                }
                Step::End => self.ended().await,
            }
        }
    }

    /// Keeps what a line said about the session, and passes its events on.
    fn note(&mut self, heard: Heard, line: String) {
        if let Some(total) = heard.total {
            self.session.consumed(total);
        }
        if let Some(name) = heard.session
            && self.session.named(&name)
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
            .extend(heard.events.into_iter().map(Emitted::from));
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
            let (end, left) = process.last_words(&self.driver).await;
            if !self.is_taken(&end) {
                self.left = left;
                self.queue.push_back(end.into());
                return;
            }
            self.session.exists();
        }
        let prompt = &self.question.prompt;
        match self.driver.start(&self.found, &self.session, prompt) {
            Ok(mut process) => {
                process.ask(self.question.clone());
                self.process = Some(process);
            }
            Err(error) => self.queue.push_back(AgentEvent::from(error).into()),
        }
    }

    /// Whether the agent has the session that we wanted to begin: an earlier turn ended before it could say so.
    fn is_taken(&self, end: &AgentEvent) -> bool {
        match (end, self.found.transport.naming) {
            (AgentEvent::Error { message, .. }, Naming::Chosen { taken }) => {
                message.contains(taken) && !self.session.has_begun()
            }
            _ => false,
        }
    }

    /// The terminal event is known; before anyone hears it, the session is in order for the next turn.
    ///
    /// Gives what the process left behind. One that goes on living is only quoted where it failed.
    async fn settle(&mut self, end: &AgentEvent) -> Aftermath {
        self.queue.clear();
        self.questions.clear();
        match self.process.take() {
            Some(process) if process.is_dialog() && !self.session.options.once => {
                let left = match end {
                    AgentEvent::Error { .. } => process.left(None),
                    _ => Aftermath::default(),
                };
                self.driver.parking.put(self.id.clone(), process);
                left
            }
            Some(process) => process.close().await,
            None => std::mem::take(&mut self.left),
        }
    }
}

/// Waits for that moment; for ever, if there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
