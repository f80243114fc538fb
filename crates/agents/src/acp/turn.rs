//! One turn of an agent, as a stream.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, PromptRequest, PromptResponse, RequestPermissionRequest,
    StopReason,
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
use super::preset::UsageSource;
use super::router::SessionMessage;
use super::session::AcpSession;
use super::updates::UpdateParser;
use crate::program::deadline::wait_until;
use crate::program::failure;

/// Time that an agent has to end a cancelled turn.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the start event of a tool waits for the tool's input.
const TOOL_INPUT_WAIT: Duration = Duration::from_millis(250);

type PromptFuture = BoxFuture<'static, Result<PromptResponse, agent_client_protocol::Error>>;
/// A permission request, and the chosen option.
type AcpChoice = (PermissionRequest, PendingPermission, Option<String>);

/// A turn from prompt to terminal event. Dropping it earlier cancels the turn and ends the process.
pub(super) struct AcpTurn {
    agent: Arc<AcpAgent>,
    connection: Arc<Connection>,
    id: SessionId,
    /// The agent's ID of the session on this connection.
    name: String,
    session: Arc<AcpSession>,
    prompt: String,
    response: PromptFuture,
    messages: mpsc::Receiver<SessionMessage>,
    updates: UpdateParser,
    permissions: FuturesUnordered<BoxFuture<'static, AcpChoice>>,
    permission_count: u64,
    denied: Option<String>,
    queue: VecDeque<BackendEvent>,
    stop: Arc<Notify>,
    stopped: bool,
    /// When an agent that did not end a cancelled turn is killed.
    force_stop_at: Option<Instant>,
    /// When a tool's start event is emitted without the tool's input.
    flush_at: Option<Instant>,
    /// The process was idle before this turn and has emitted nothing in it yet, so it may have died unnoticed.
    may_be_stale: bool,
    finished: bool,
}

enum AcpTurnStep {
    Stop,
    ForceStop,
    Message(SessionMessage),
    Chosen(Box<AcpChoice>),
    Response(Result<PromptResponse, agent_client_protocol::Error>),
    FlushStarts,
}

impl AcpTurn {
    /// Starts a turn on a process that has the session. `first` is an event to emit before all others.
    pub(super) fn start(
        agent: Arc<AcpAgent>,
        connection: Arc<Connection>,
        (id, session): (SessionId, Arc<AcpSession>),
        prompt: String,
        (may_be_stale, first): (bool, Option<AgentEvent>),
    ) -> EventStream {
        let stop = session.begin_turn();
        let name = session.location().name;
        let turn = Self {
            messages: connection.router.open(&name),
            response: send_prompt(&connection, &name, &prompt),
            updates: UpdateParser::new(&agent.preset.quirks),
            agent,
            connection,
            id,
            name,
            session,
            prompt,
            permissions: FuturesUnordered::new(),
            permission_count: 0,
            denied: None,
            queue: first.map(BackendEvent::from).into_iter().collect(),
            stop,
            stopped: false,
            force_stop_at: None,
            flush_at: None,
            may_be_stale,
            finished: false,
        };
        Box::pin(stream::unfold(turn, Self::next))
    }

    async fn next(mut self) -> Option<(BackendEvent, Self)> {
        loop {
            if let Some(emitted) = self.queue.pop_front() {
                return Some((emitted, self));
            }
            if self.finished {
                return None;
            }
            let step = tokio::select! {
                biased;
                () = self.stop.notified(), if !self.stopped => AcpTurnStep::Stop,
                () = wait_until(self.force_stop_at) => AcpTurnStep::ForceStop,
                Some(message) = self.messages.recv() => AcpTurnStep::Message(message),
                Some(chosen) = self.permissions.next(), if !self.permissions.is_empty() => {
                    AcpTurnStep::Chosen(Box::new(chosen))
                }
                response = &mut self.response => AcpTurnStep::Response(response),
                () = wait_until(self.flush_at) => AcpTurnStep::FlushStarts,
            };
            match step {
                AcpTurnStep::Stop => self.cancel(),
                AcpTurnStep::ForceStop => self.abandon(),
                AcpTurnStep::Message(message) => self.on_message(message),
                AcpTurnStep::Chosen(chosen) => self.answer_permission(*chosen),
                AcpTurnStep::Response(response) => self.on_prompt_ended(response).await,
                AcpTurnStep::FlushStarts => {
                    self.flush_at = None;
                    let events = self.updates.flush_held_starts();
                    self.queue_events(events, None);
                }
            }
        }
    }

    fn on_message(&mut self, message: SessionMessage) {
        self.may_be_stale = false;
        match message {
            SessionMessage::Update(update, line) => {
                let events = self.updates.parse(update.update);
                self.queue_events(events, Some(line));
            }
            SessionMessage::Other(event, line) => {
                // An event of the process itself has no line.
                let line = Some(line).filter(|line| !line.is_empty());
                self.queue_events(vec![event], line);
            }
            SessionMessage::PermissionRequest(request, pending) => {
                self.on_permission_request(&request, pending)
            }
        }
        self.flush_at = match (self.updates.has_held_start(), self.flush_at) {
            (true, None) => Some(Instant::now() + TOOL_INPUT_WAIT),
            (true, since) => since,
            (false, _) => None,
        };
    }

    /// Queues events. The raw line is attached to the last of them.
    fn queue_events(&mut self, events: Vec<AgentEvent>, line: Option<String>) {
        let any = !events.is_empty();
        self.queue
            .extend(events.into_iter().map(BackendEvent::from));
        if let Some(last) = self.queue.back_mut().filter(|_| any) {
            last.raw = line;
        }
    }

    /// Decides a permission request, or passes it to the approver.
    fn on_permission_request(
        &mut self,
        request: &RequestPermissionRequest,
        pending: PendingPermission,
    ) {
        let (events, tool) = self.updates.on_permission_request(request);
        self.permission_count += 1;
        let id = format!(
            "{}#{}",
            request.tool_call.tool_call_id.0, self.permission_count
        );
        let session = &self.session;
        let permission =
            permission::permission_request(&self.connection.agent, id, &session.cwd, tool, request);
        self.queue_events(events, None);
        if self.stopped {
            // Dropping it answers it as cancelled.
            return;
        }
        let session = &self.session;
        let approver = session.options.approver.clone();
        let detail = &session.detail;
        match decide(detail.policy, &detail.rules, &permission) {
            Decision::Allow => {
                let allowed = permission.option_for(true).map(|option| option.id.clone());
                self.answer_permission((permission, pending, allowed));
            }
            Decision::Deny => self.answer_permission((permission, pending, None)),
            Decision::AskApprover => {
                self.queue_events(vec![permission.to_event()], None);
                self.permissions.push(Box::pin(async move {
                    let chosen = tokio::select! {
                        chosen = approver.ask(permission.clone()) => chosen,
                        () = pending.cancelled() => None,
                    };
                    (permission, pending, chosen)
                }));
            }
        }
    }

    /// Answers a permission request. Without a choice, the agent's own option for denial is used.
    fn answer_permission(&mut self, (permission, pending, chosen): AcpChoice) {
        if !chosen
            .as_deref()
            .is_some_and(|id| permission.is_allow_option(id))
        {
            self.denied = Some(permission.tool.clone());
            let tool = permission.id.rsplit_once('#').map_or("", |(tool, _)| tool);
            self.updates.deny(tool);
        }
        let denied = || permission.option_for(false).map(|option| option.id.clone());
        match chosen.or_else(denied) {
            Some(option) => pending.respond_with(option),
            // The agent offers no option for denial, so the request is cancelled.
            None => drop(pending),
        }
    }

    /// Asks the agent to end the turn; its pending permission requests are answered as cancelled.
    fn cancel(&mut self) {
        self.stopped = true;
        self.may_be_stale = false;
        self.force_stop_at = Some(Instant::now() + CANCEL_TIMEOUT);
        self.notify_cancel();
        self.permissions.clear();
        self.updates.interrupt();
    }

    fn notify_cancel(&self) {
        let cancel = CancelNotification::new(self.name.clone());
        if self.connection.client().send_notification(cancel).is_err() {
            tracing::debug!("an agent exited before it could be asked to stop");
        }
    }

    /// Ends the process of an agent that does not end the turn.
    fn abandon(&mut self) {
        self.retire_process();
        self.finish(Error::Cancelled.into());
    }

    /// Makes the process end with the last turn on it.
    fn retire_process(&self) {
        self.connection.retire();
        let key = &self.session.detail.key;
        let is_this = |known: &Arc<Connection>| Arc::ptr_eq(known, &self.connection);
        self.agent.pool.remove_if(key, is_this);
    }

    /// Handles the response to the prompt, or its absence.
    async fn on_prompt_ended(
        &mut self,
        response: Result<PromptResponse, agent_client_protocol::Error>,
    ) {
        // All messages that were sent before the response are in the queue now.
        while let Ok(message) = self.messages.try_recv() {
            self.on_message(message);
        }
        match response {
            Ok(response) => self.on_response(&response),
            Err(error) if self.may_be_stale && is_disconnected(&error) => {
                self.restart_on_new_process().await
            }
            Err(error) => {
                let end = match self.connection.failure(&error).await {
                    _ if self.stopped => Error::Cancelled.into(),
                    end => end,
                };
                if is_disconnected(&error) {
                    self.retire_process();
                }
                self.finish(end);
            }
        }
    }

    /// Resumes the session on another process, because its process died while it was idle.
    async fn restart_on_new_process(&mut self) {
        self.may_be_stale = false;
        self.connection.router.close(&self.name);
        self.retire_process();
        match self.agent.ensure_process(&self.id, &self.session).await {
            Ok((connection, id)) => {
                if id != self.id {
                    let new_session_id = id.as_str().to_owned();
                    self.queue_events(vec![AgentEvent::SessionChanged { new_session_id }], None);
                    self.id = id;
                }
                self.connection = connection;
                self.name = self.session.location().name;
                self.messages = self.connection.router.open(&self.name);
                self.response = send_prompt(&self.connection, &self.name, &self.prompt);
            }
            Err(error) => self.finish(error.into()),
        }
    }

    fn on_response(&mut self, response: &PromptResponse) {
        let quirks = &self.agent.preset.quirks;
        let counted = match quirks.usage {
            UsageSource::Chunks => self.updates.chunk_usage.take(),
            // An agent that counts nowhere else may count each model call.
            _ => outcome::usage(response, quirks).or_else(|| self.updates.chunk_usage.take()),
        };
        if quirks.errors_lack_message_id && counted.is_some() {
            let text = self.updates.release_held_error();
            self.queue_events(text.into_iter().collect(), None);
        }
        let cost = self.updates.cost;
        let (before, cost_before) = self.session.update_totals(counted.clone(), cost);
        let usage = match (quirks.running_total, before) {
            (false, _) => counted,
            (true, Some(before)) => counted.map(|total| outcome::usage_since(&before, &total)),
            (true, None) => None,
        };
        let usage = usage.map(|mut usage| {
            usage.cost_usd = cost
                .zip(cost_before)
                .map(|(now, before)| (now - before).max(0.0));
            usage
        });
        if self.stopped && quirks.tools_survive_cancel && self.updates.has_open_tool() {
            self.retire_process();
        }
        if !self.stopped && response.stop_reason == StopReason::EndTurn {
            let events = self.updates.end_open_tools();
            self.queue_events(events, None);
        }
        let summary = TurnSummary {
            text: self.updates.take_answer(),
            error_text: self.updates.error_text.take(),
            stopped: self.stopped,
            denied: self.denied.take(),
            usage,
            used_tool: self.updates.used_tool(),
            context: self.updates.context,
        };
        let end = outcome::terminal(response, summary);
        self.finish(end);
    }

    fn finish(&mut self, end: AgentEvent) {
        let held = self.updates.flush_held_starts();
        self.queue_events(held, None);
        let diagnostics = match self.connection.router.ended() {
            Some(end) => end.diagnostics(),
            None => TurnDiagnostics::default(),
        };
        let (before, end) = diagnostics
            .with_retry_after(failure::retry_after(&end))
            .attach_to(end);
        self.queue.extend(before.map(BackendEvent::from));
        self.queue.push_back(end.into());
        self.finished = true;
        self.permissions.clear();
        self.connection.router.close(&self.name);
        if self.session.options.once {
            self.retire_process();
        } else {
            self.agent.pool.start_idle_timer(&self.session.detail.key);
        }
    }
}

impl Drop for AcpTurn {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // The turn has no receiver any more, so nothing would report when the session is free again.
        self.connection.router.close(&self.name);
        self.notify_cancel();
        self.retire_process();
    }
}

fn send_prompt(connection: &Arc<Connection>, name: &str, prompt: &str) -> PromptFuture {
    let content = vec![ContentBlock::from(prompt.to_owned())];
    let request = PromptRequest::new(name.to_owned(), content);
    Box::pin(connection.client().send_request(request).block_task())
}
