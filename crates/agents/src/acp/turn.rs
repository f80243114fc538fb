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
use windlass_core::{
    AgentEvent, BackendEvent, Error, EventStream, PermissionRequest, SessionId, TurnDiagnostics,
};

use super::agent::AcpAgent;
use super::connection::{Connection, is_disconnected};
use super::outcome::{self, TurnSummary};
use super::permission::{self, PendingPermission};
use super::pool::PooledProcess;
use super::preset::UsageSource;
use super::router::SessionMessage;
use super::sessions::AcpSession;
use super::updates::UpdateParser;
use crate::cli::failure;

/// How long an agent may take to end a turn when asked.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a tool's start waits for what the tool is given.
const TOOL_INPUT_WAIT: Duration = Duration::from_millis(250);

type PromptFuture = BoxFuture<'static, Result<PromptResponse, agent_client_protocol::Error>>;
/// A question, and the option that was chosen.
type AcpChoice = (PermissionRequest, PendingPermission, Option<String>);

/// From prompt to terminal event. Dropped before that, it has the agent stop, and its process end.
pub(super) struct AcpTurn {
    agent: Arc<AcpAgent>,
    connection: Arc<Connection>,
    id: SessionId,
    session: Arc<AcpSession>,
    prompt: String,
    answer: PromptFuture,
    inbox: mpsc::Receiver<SessionMessage>,
    updates: UpdateParser,
    questions: FuturesUnordered<BoxFuture<'static, AcpChoice>>,
    asked: u64,
    denied: Option<String>,
    queue: VecDeque<BackendEvent>,
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

enum AcpTurnStep {
    Stop,
    ForceStop,
    Message(SessionMessage),
    Chosen(Box<AcpChoice>),
    Answer(Result<PromptResponse, agent_client_protocol::Error>),
    Release,
}

impl AcpTurn {
    /// Begins a turn on a process that has the session. `first`: what there is to say before anything else.
    pub(super) fn start(
        agent: Arc<AcpAgent>,
        process: PooledProcess,
        (id, session): (SessionId, Arc<AcpSession>),
        prompt: String,
        (untried, first): (bool, Option<AgentEvent>),
    ) -> EventStream {
        let PooledProcess { connection, .. } = process;
        let stop = session.begin_turn();
        let turn = Self {
            inbox: connection.routes.open(id.as_str()),
            answer: ask(&connection, &id, &prompt),
            updates: UpdateParser::new(&agent.preset.shims),
            agent,
            connection,
            id,
            session,
            prompt,
            questions: FuturesUnordered::new(),
            asked: 0,
            denied: None,
            queue: first.map(BackendEvent::from).into_iter().collect(),
            stop,
            stopped: false,
            patience: None,
            release: None,
            untried,
            over: false,
        };
        Box::pin(stream::unfold(turn, Self::next))
    }

    async fn next(mut self) -> Option<(BackendEvent, Self)> {
        loop {
            if let Some(emitted) = self.queue.pop_front() {
                return Some((emitted, self));
            }
            if self.over {
                return None;
            }
            let step = tokio::select! {
                biased;
                () = self.stop.notified(), if !self.stopped => AcpTurnStep::Stop,
                () = wait_until(self.patience) => AcpTurnStep::ForceStop,
                Some(said) = self.inbox.recv() => AcpTurnStep::Message(said),
                Some(chosen) = self.questions.next(), if !self.questions.is_empty() => {
                    AcpTurnStep::Chosen(Box::new(chosen))
                }
                answer = &mut self.answer => AcpTurnStep::Answer(answer),
                () = wait_until(self.release) => AcpTurnStep::Release,
            };
            match step {
                AcpTurnStep::Stop => self.cancel(),
                AcpTurnStep::ForceStop => self.abandon(),
                AcpTurnStep::Message(said) => self.on_message(said),
                AcpTurnStep::Chosen(chosen) => self.answer_permission(*chosen),
                AcpTurnStep::Answer(answer) => self.ended(answer).await,
                AcpTurnStep::Release => {
                    self.release = None;
                    let events = self.updates.flush_held_starts();
                    self.queue_events(events, None);
                }
            }
        }
    }

    fn on_message(&mut self, said: SessionMessage) {
        self.untried = false;
        match said {
            SessionMessage::Update(update, line) => {
                let events = self.updates.parse(update.update);
                self.queue_events(events, Some(line));
            }
            SessionMessage::Other(event, line) => self.queue_events(vec![event], Some(line)),
            SessionMessage::PermissionRequest(request, asked) => {
                self.on_permission_request(&request, asked)
            }
        }
        self.release = match (self.updates.has_held_start(), self.release) {
            (true, None) => Some(Instant::now() + TOOL_INPUT_WAIT),
            (true, since) => since,
            (false, _) => None,
        };
    }

    /// Passes events on; the line belongs to the last of what was made of it.
    fn queue_events(&mut self, events: Vec<AgentEvent>, line: Option<String>) {
        let any = !events.is_empty();
        self.queue
            .extend(events.into_iter().map(BackendEvent::from));
        if let Some(last) = self.queue.back_mut().filter(|_| any) {
            last.raw = line;
        }
    }

    /// The agent wants to know whether it may.
    fn on_permission_request(
        &mut self,
        request: &RequestPermissionRequest,
        asked: PendingPermission,
    ) {
        let (events, tool) = self.updates.on_permission_request(request);
        self.asked += 1;
        let id = format!("{}#{}", request.tool_call.tool_call_id.0, self.asked);
        let session = &self.session;
        let ask =
            permission::permission_request(self.connection.agent, id, &session.cwd, tool, request);
        self.queue_events(events, None);
        if self.stopped {
            // Dropped, and so answered as cancelled.
            return;
        }
        let session = &self.session;
        let approver = session.options.approver.clone();
        match decide(session.policy, &session.rules, &ask) {
            Decision::Allow => {
                let yes = ask.option_for(true).map(|option| option.id.clone());
                self.answer_permission((ask, asked, yes));
            }
            Decision::Deny => self.answer_permission((ask, asked, None)),
            Decision::AskApprover => {
                self.queue_events(vec![ask.to_event()], None);
                self.questions.push(Box::pin(async move {
                    let chosen = tokio::select! {
                        chosen = approver.ask(ask.clone()) => chosen,
                        () = asked.cancelled() => None,
                    };
                    (ask, asked, chosen)
                }));
            }
        }
    }

    /// Answers a question; without a choice, with the agent's own no.
    fn answer_permission(&mut self, (ask, asked, chosen): AcpChoice) {
        if !chosen.as_deref().is_some_and(|id| ask.is_allow_option(id)) {
            self.denied = Some(ask.tool.clone());
        }
        let no = || ask.option_for(false).map(|option| option.id.clone());
        match chosen.or_else(no) {
            Some(option) => asked.respond_with(option),
            // An agent that offers no such answer has its question cancelled.
            None => drop(asked),
        }
    }

    /// Asks the agent to end the turn; its open questions are answered as cancelled.
    fn cancel(&mut self) {
        self.stopped = true;
        self.untried = false;
        self.patience = Some(Instant::now() + CANCEL_TIMEOUT);
        self.notify_cancel();
        self.questions.clear();
        self.updates.interrupt();
    }

    fn notify_cancel(&self) {
        let cancel = CancelNotification::new(self.id.as_str().to_owned());
        if self.connection.client().send_notification(cancel).is_err() {
            tracing::debug!("an agent is gone before it could be asked to stop");
        }
    }

    /// The agent does not end the turn: its process does.
    fn abandon(&mut self) {
        self.force_end();
        self.finish(Error::Cancelled.into());
    }

    fn force_end(&self) {
        self.agent.pool.retire(&self.session.key, &self.connection);
    }

    /// The agent has answered, or cannot any more.
    async fn ended(&mut self, answer: Result<PromptResponse, agent_client_protocol::Error>) {
        // What was said before the answer is in the inbox by now.
        while let Ok(said) = self.inbox.try_recv() {
            self.on_message(said);
        }
        match answer {
            Ok(response) => self.on_response(&response),
            Err(error) if self.untried && is_disconnected(&error) => {
                self.restart_on_new_process().await
            }
            Err(error) => {
                let end = match self.connection.failure(&error).await {
                    _ if self.stopped => Error::Cancelled.into(),
                    end => end,
                };
                if is_disconnected(&error) {
                    self.force_end();
                }
                self.finish(end);
            }
        }
    }

    /// The process died while it waited for this turn: another takes the session up.
    async fn restart_on_new_process(&mut self) {
        self.untried = false;
        self.connection.routes.close(self.id.as_str());
        self.force_end();
        match self.agent.ensure_process(&self.id, &self.session).await {
            Ok((process, id)) => {
                if id != self.id {
                    let new_session_id = id.as_str().to_owned();
                    self.queue_events(vec![AgentEvent::SessionChanged { new_session_id }], None);
                    self.id = id;
                }
                self.connection = process.connection;
                self.inbox = self.connection.routes.open(self.id.as_str());
                self.answer = ask(&self.connection, &self.id, &self.prompt);
            }
            Err(error) => self.finish(error.into()),
        }
    }

    fn on_response(&mut self, response: &PromptResponse) {
        let shims = &self.agent.preset.shims;
        let counted = match shims.usage {
            UsageSource::Chunks => self.updates.pieces.take(),
            _ => outcome::usage(response, shims),
        };
        if shims.errors_lack_message_id && counted.is_some() {
            let said = self.updates.release_held_error();
            self.queue_events(said.into_iter().collect(), None);
        }
        let cost = self.updates.cost;
        let (before, paid) = self.session.update_totals(counted.clone(), cost);
        let usage = match (shims.running_total, before) {
            (false, _) => counted,
            (true, Some(before)) => counted.map(|total| outcome::usage_since(&before, &total)),
            (true, None) => None,
        };
        let usage = usage.map(|mut usage| {
            usage.cost_usd = cost.zip(paid).map(|(now, before)| (now - before).max(0.0));
            usage
        });
        if self.stopped && shims.tools_survive_cancel && self.updates.has_open_tool() {
            self.force_end();
        }
        let ending = TurnSummary {
            text: self.updates.take_answer(),
            complaint: self.updates.complaint.take(),
            stopped: self.stopped,
            denied: self.denied.take(),
            usage,
        };
        let end = outcome::terminal(response, ending);
        self.finish(end);
    }

    fn finish(&mut self, end: AgentEvent) {
        let held = self.updates.flush_held_starts();
        self.queue_events(held, None);
        let left = match self.connection.routes.ended() {
            Some(gone) => gone.diagnostics(),
            None => TurnDiagnostics::default(),
        };
        let (before, end) = left
            .with_retry_after(failure::retry_after(&end))
            .attach_to(end);
        self.queue.extend(before.map(BackendEvent::from));
        self.queue.push_back(end.into());
        self.over = true;
        self.questions.clear();
        self.connection.routes.close(self.id.as_str());
        self.session.end_turn();
        match self.session.options.once {
            true => self.force_end(),
            false => self.agent.start_idle_timer(&self.session.key),
        }
    }
}

impl Drop for AcpTurn {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // Nobody will hear how it ends, so nobody could tell when the session is free again.
        self.connection.routes.close(self.id.as_str());
        self.session.end_turn();
        self.notify_cancel();
        self.force_end();
    }
}

fn ask(connection: &Arc<Connection>, id: &SessionId, prompt: &str) -> PromptFuture {
    let content = vec![ContentBlock::from(prompt.to_owned())];
    let request = PromptRequest::new(id.as_str().to_owned(), content);
    Box::pin(connection.client().send_request(request).block_task())
}

/// Waits for that moment; for ever, if there is none.
async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
