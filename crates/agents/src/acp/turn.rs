//! One turn of an agent, as a stream.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, PromptRequest, PromptResponse, RequestPermissionRequest,
};
use futures::future::BoxFuture;
use futures::stream::{self, FuturesUnordered, StreamExt};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use windlass_core::permission::{Decision, decide};
use windlass_core::{Aftermath, AgentEvent, Emitted, Error, EventStream, PermissionAsk, SessionId};

use super::agent::Agent;
use super::connection::{Connection, is_cut_off};
use super::outcome::{self, Ending};
use super::pool::Numbered;
use super::preset::UsageIn;
use super::question::{self, Asked};
use super::routes::Said;
use super::sessions::Session;
use super::updates::Updates;
use crate::cli::failure;

/// How long an agent may take to end a turn when asked.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a tool's start waits for what the tool is given.
const INPUT: Duration = Duration::from_millis(250);

type Answer = BoxFuture<'static, Result<PromptResponse, agent_client_protocol::Error>>;
/// A question, and the option that was chosen.
type Chosen = (PermissionAsk, Asked, Option<String>);

/// From prompt to terminal event. Dropped before that, it has the agent stop, and its process end.
pub(super) struct Turn {
    agent: Arc<Agent>,
    connection: Arc<Connection>,
    id: SessionId,
    session: Arc<Session>,
    prompt: String,
    answer: Answer,
    inbox: mpsc::Receiver<Said>,
    updates: Updates,
    questions: FuturesUnordered<BoxFuture<'static, Chosen>>,
    asked: u64,
    denied: Option<String>,
    queue: VecDeque<Emitted>,
    stop: Arc<Notify>,
    stopped: bool,
    /// When an agent that was asked to end the turn is made to.
    patience: Option<Instant>,
    /// When a start is told without what the tool is given.
    release: Option<Instant>,
    /// Whether the process waited since an earlier turn and has not said anything in this one.
    untried: bool,
    over: bool,
}

enum Step {
    Stop,
    Firm,
    Said(Said),
    Chosen(Box<Chosen>),
    Answer(Result<PromptResponse, agent_client_protocol::Error>),
    Release,
}

impl Turn {
    /// Begins a turn on a process that has the session. `first`: what there is to say before anything else.
    pub(super) fn begin(
        agent: Arc<Agent>,
        process: Numbered,
        (id, session): (SessionId, Arc<Session>),
        prompt: String,
        (untried, first): (bool, Option<AgentEvent>),
    ) -> EventStream {
        let Numbered { connection, .. } = process;
        let stop = session.begin_turn();
        let turn = Self {
            inbox: connection.routes.open(id.as_str()),
            answer: ask(&connection, &id, &prompt),
            updates: Updates::new(&agent.preset.shims),
            agent,
            connection,
            id,
            session,
            prompt,
            questions: FuturesUnordered::new(),
            asked: 0,
            denied: None,
            queue: first.map(Emitted::from).into_iter().collect(),
            stop,
            stopped: false,
            patience: None,
            release: None,
            untried,
            over: false,
        };
        Box::pin(stream::unfold(turn, Self::next))
    }

    async fn next(mut self) -> Option<(Emitted, Self)> {
        loop {
            if let Some(emitted) = self.queue.pop_front() {
                return Some((emitted, self));
            }
            if self.over {
                return None;
            }
            let step = tokio::select! {
                biased;
                () = self.stop.notified(), if !self.stopped => Step::Stop,
                () = until(self.patience) => Step::Firm,
                Some(said) = self.inbox.recv() => Step::Said(said),
                Some(chosen) = self.questions.next(), if !self.questions.is_empty() => {
                    Step::Chosen(Box::new(chosen))
                }
                answer = &mut self.answer => Step::Answer(answer),
                () = until(self.release) => Step::Release,
            };
            match step {
                Step::Stop => self.cancel(),
                Step::Firm => self.abandon(),
                Step::Said(said) => self.hear(said),
                Step::Chosen(chosen) => self.settle(*chosen),
                Step::Answer(answer) => self.ended(answer).await,
                Step::Release => {
                    self.release = None;
                    let events = self.updates.release();
                    self.tell(events, None);
                }
            }
        }
    }

    fn hear(&mut self, said: Said) {
        self.untried = false;
        match said {
            Said::Update(update, line) => {
                let events = self.updates.hear(update.update);
                self.tell(events, Some(line));
            }
            Said::Other(event, line) => self.tell(vec![event], Some(line)),
            Said::Asked(request, asked) => self.asked(&request, asked),
        }
        self.release = match (self.updates.holds_back(), self.release) {
            (true, None) => Some(Instant::now() + INPUT),
            (true, since) => since,
            (false, _) => None,
        };
    }

    /// Passes events on; the line belongs to the last of what was made of it.
    fn tell(&mut self, events: Vec<AgentEvent>, line: Option<String>) {
        let any = !events.is_empty();
        self.queue.extend(events.into_iter().map(Emitted::from));
        if let Some(last) = self.queue.back_mut().filter(|_| any) {
            last.raw = line;
        }
    }

    /// The agent wants to know whether it may.
    fn asked(&mut self, request: &RequestPermissionRequest, asked: Asked) {
        let (events, tool) = self.updates.asked(request);
        self.asked += 1;
        let id = format!("{}#{}", request.tool_call.tool_call_id.0, self.asked);
        let session = &self.session;
        let ask = question::ask(self.connection.agent, id, &session.cwd, tool, request);
        self.tell(events, None);
        if self.stopped {
            // Dropped, and so answered as cancelled.
            return;
        }
        let session = &self.session;
        let approver = session.options.approver.clone();
        match decide(session.policy, &session.rules, &ask) {
            Decision::Allow => {
                let yes = ask.option(true).map(|option| option.id.clone());
                self.settle((ask, asked, yes));
            }
            Decision::Deny => self.settle((ask, asked, None)),
            Decision::AskPerson => {
                self.tell(vec![ask.event()], None);
                self.questions.push(Box::pin(async move {
                    let chosen = tokio::select! {
                        chosen = approver.ask(ask.clone()) => chosen,
                        () = asked.withdrawn() => None,
                    };
                    (ask, asked, chosen)
                }));
            }
        }
    }

    /// Answers a question; without a choice, with the agent's own no.
    fn settle(&mut self, (ask, asked, chosen): Chosen) {
        if !chosen.as_deref().is_some_and(|id| ask.is_yes(id)) {
            self.denied = Some(ask.tool.clone());
        }
        let no = || ask.option(false).map(|option| option.id.clone());
        match chosen.or_else(no) {
            Some(option) => asked.choose(option),
            // An agent that offers no such answer has its question cancelled.
            None => drop(asked),
        }
    }

    /// Asks the agent to end the turn; its open questions are answered as cancelled.
    fn cancel(&mut self) {
        self.stopped = true;
        self.untried = false;
        self.patience = Some(Instant::now() + PATIENCE);
        self.notify_cancel();
        self.questions.clear();
        self.updates.break_off();
    }

    fn notify_cancel(&self) {
        let cancel = CancelNotification::new(self.id.as_str().to_owned());
        if self.connection.line().send_notification(cancel).is_err() {
            tracing::debug!("an agent is gone before it could be asked to stop");
        }
    }

    /// The agent does not end the turn: its process does.
    fn abandon(&mut self) {
        self.give_up();
        self.finish(Error::Cancelled.into());
    }

    fn give_up(&self) {
        self.agent.pool.retire(&self.session.key, &self.connection);
    }

    /// The agent has answered, or cannot any more.
    async fn ended(&mut self, answer: Result<PromptResponse, agent_client_protocol::Error>) {
        // What was said before the answer is in the inbox by now.
        while let Ok(said) = self.inbox.try_recv() {
            self.hear(said);
        }
        match answer {
            Ok(response) => self.answered(&response),
            Err(error) if self.untried && is_cut_off(&error) => self.again().await,
            Err(error) => {
                let end = match self.connection.failure(&error).await {
                    _ if self.stopped => Error::Cancelled.into(),
                    end => end,
                };
                if is_cut_off(&error) {
                    self.give_up();
                }
                self.finish(end);
            }
        }
    }

    /// The process died while it waited for this turn: another takes the session up.
    async fn again(&mut self) {
        self.untried = false;
        self.connection.routes.close(self.id.as_str());
        self.give_up();
        match self.agent.revive(&self.id, &self.session).await {
            Ok((process, id)) => {
                if id != self.id {
                    let new_session_id = id.as_str().to_owned();
                    self.tell(vec![AgentEvent::SessionChanged { new_session_id }], None);
                    self.id = id;
                }
                self.connection = process.connection;
                self.inbox = self.connection.routes.open(self.id.as_str());
                self.answer = ask(&self.connection, &self.id, &self.prompt);
            }
            Err(error) => self.finish(error.into()),
        }
    }

    fn answered(&mut self, response: &PromptResponse) {
        let shims = &self.agent.preset.shims;
        let counted = match shims.usage {
            UsageIn::Pieces => self.updates.pieces.take(),
            _ => outcome::usage(response, shims),
        };
        if shims.nameless_complaints && counted.is_some() {
            let said = self.updates.absolve();
            self.tell(said.into_iter().collect(), None);
        }
        let cost = self.updates.cost;
        let (before, paid) = self.session.consumed(counted.clone(), cost);
        let usage = match (shims.running_total, before) {
            (false, _) => counted,
            (true, Some(before)) => counted.map(|total| outcome::since(&before, &total)),
            (true, None) => None,
        };
        let usage = usage.map(|mut usage| {
            usage.cost_usd = cost.zip(paid).map(|(now, before)| (now - before).max(0.0));
            usage
        });
        if self.stopped && shims.leaves_tools && self.updates.has_open_tool() {
            self.give_up();
        }
        let ending = Ending {
            text: self.updates.answer(),
            complaint: self.updates.complaint.take(),
            stopped: self.stopped,
            denied: self.denied.take(),
            usage,
        };
        let end = outcome::terminal(response, ending);
        self.finish(end);
    }

    fn finish(&mut self, end: AgentEvent) {
        let held = self.updates.release();
        self.tell(held, None);
        let left = match self.connection.routes.ended() {
            Some(gone) => gone.left(),
            None => Aftermath::default(),
        };
        let (before, end) = left.wait(failure::wait(&end)).before(end);
        self.queue.extend(before.map(Emitted::from));
        self.queue.push_back(end.into());
        self.over = true;
        self.questions.clear();
        self.connection.routes.close(self.id.as_str());
        self.session.end_turn();
        match self.session.options.once {
            true => self.give_up(),
            false => self.agent.rests(&self.session.key),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // Nobody will hear how it ends, so nobody could tell when the session is free again.
        self.connection.routes.close(self.id.as_str());
        self.session.end_turn();
        self.notify_cancel();
        self.give_up();
    }
}

fn ask(connection: &Arc<Connection>, id: &SessionId, prompt: &str) -> Answer {
    let content = vec![ContentBlock::from(prompt.to_owned())];
    let request = PromptRequest::new(id.as_str().to_owned(), content);
    Box::pin(connection.line().send_request(request).block_task())
}

/// Waits for that moment; for ever, if there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
