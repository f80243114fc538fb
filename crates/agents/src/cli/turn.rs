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
use super::installation::CliInstallation;
use super::parser::{Parsed, TurnRequest};
use super::process::AgentProcess;
use super::profile::SessionNaming;
use super::session::CliSession;
use crate::network;
use crate::program::deadline::wait_until;
use crate::program::failure;

/// A turn from prompt to terminal event. Dropping it kills the process tree.
pub(super) struct CliTurn {
    driver: Arc<CliDriver>,
    installation: CliInstallation,
    id: SessionId,
    session: Arc<CliSession>,
    request: TurnRequest,
    /// `None` once the turn has ended.
    process: Option<AgentProcess>,
    /// The process was idle before this turn and has emitted nothing in it yet, so it may have died unnoticed.
    may_be_stale: bool,
    queue: VecDeque<BackendEvent>,
    /// The terminal event, returned once everything before it was returned.
    end: Option<BackendEvent>,
    /// Diagnostics of a process that exited on its own.
    diagnostics: TurnDiagnostics,
    /// Permission requests that are waiting for the approver.
    permissions: FuturesUnordered<BoxFuture<'static, PermissionChoice>>,
    stop: Arc<Notify>,
    /// When an agent that did not end a cancelled turn is killed.
    force_stop_at: Option<Instant>,
}

/// Time that an agent has to end a cancelled turn.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// The ID of a permission request, and the chosen option.
type PermissionChoice = (String, Option<String>);

enum CliTurnStep {
    Line(String),
    Chosen(PermissionChoice),
    End,
    Stop,
    ForceStop,
}

impl CliTurn {
    /// Starts a turn, with the session's idle process or with a new one.
    pub(super) fn start(
        driver: Arc<CliDriver>,
        installation: CliInstallation,
        id: &SessionId,
        prompt: Prompt,
    ) -> Result<EventStream> {
        let session = driver.sessions.get(driver.profile.name(), id)?;
        let stop = session.begin_turn();
        let idle_process = driver.idle.take(id);
        let may_be_stale = idle_process.is_some();
        let mut process = match idle_process {
            Some(process) => process,
            None => driver.start(&installation, &session, &prompt.text)?,
        };
        let request = TurnRequest {
            prompt: prompt.text,
            schema: session.options.output_schema.clone(),
        };
        process.start_turn(request.clone());
        let turn = Self {
            driver,
            installation,
            id: id.clone(),
            session,
            request,
            process: Some(process),
            may_be_stale,
            queue: VecDeque::new(),
            end: None,
            diagnostics: TurnDiagnostics::default(),
            permissions: FuturesUnordered::new(),
            stop,
            force_stop_at: None,
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
                let diagnostics = self
                    .finish_session(&event)
                    .await
                    .with_retry_after(failure::retry_after(&event));
                let (before, event) = diagnostics.attach_to(event);
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
                Some(chosen) = self.permissions.next(), if !self.permissions.is_empty() => {
                    CliTurnStep::Chosen(chosen)
                }
                () = self.stop.notified() => CliTurnStep::Stop,
                () = wait_until(self.force_stop_at) => CliTurnStep::ForceStop,
            };
            let blocked = network::blocked_events(&process.child);
            self.queue
                .extend(blocked.into_iter().map(BackendEvent::from));
            match step {
                CliTurnStep::Line(line) => {
                    let parsed = process.handle_line(&line);
                    self.on_parsed(parsed, line);
                }
                CliTurnStep::Chosen((id, option)) => {
                    process.answer_permission(&id, option.as_deref())
                }
                CliTurnStep::Stop => {
                    self.may_be_stale = false;
                    self.permissions.clear();
                    self.force_stop_at = Some(Instant::now() + CANCEL_TIMEOUT);
                    process.interrupt();
                }
                CliTurnStep::ForceStop => {
                    self.force_stop_at = None;
                    process.child.stop();
                }
                CliTurnStep::End => self.ended().await,
            }
        }
    }

    /// Records a line's session ID and usage, and queues its events.
    fn on_parsed(&mut self, parsed: Parsed, line: String) {
        if let Some(total) = parsed.total {
            self.session.set_total(total);
        }
        if let Some(name) = parsed.session
            && self.session.set_name(&name)
        {
            let session = Arc::clone(&self.session);
            match self.driver.sessions.add(&name, session) {
                Ok(id) => {
                    let new_session_id = id.as_str().to_owned();
                    self.id = id;
                    self.queue
                        .push_back(AgentEvent::SessionChanged { new_session_id }.into());
                }
                Err(error) => tracing::warn!(%error, "a session keeps its temporary ID"),
            }
        }
        for request in parsed.asks {
            let approver = self.session.options.approver.clone();
            self.permissions.push(Box::pin(async move {
                let id = request.id.clone();
                (id, approver.ask(request).await)
            }));
        }
        let first = self.queue.len();
        self.queue
            .extend(parsed.events.into_iter().map(BackendEvent::from));
        if self.queue.len() > first {
            self.may_be_stale = false;
            if let Some(last) = self.queue.back_mut() {
                last.raw = Some(line);
            }
        }
    }

    /// Handles the end of the output: ends the turn, or restarts the process if the turn had not started.
    async fn ended(&mut self) {
        let Some(process) = self.process.take() else {
            return;
        };
        // A process that died while it was idle is restarted.
        if !std::mem::take(&mut self.may_be_stale) {
            let (end, diagnostics) = process.wait_exit().await;
            if !self.is_name_taken(&end) {
                self.diagnostics = diagnostics;
                self.queue.push_back(end.into());
                return;
            }
            self.session.mark_existing();
        }
        let prompt = &self.request.prompt;
        match self.driver.start(&self.installation, &self.session, prompt) {
            Ok(mut process) => {
                process.start_turn(self.request.clone());
                self.process = Some(process);
            }
            Err(error) => self.queue.push_back(AgentEvent::from(error).into()),
        }
    }

    /// Returns `true` if the agent already has the session that the turn wanted to create: an earlier turn
    /// ended before the agent could report it.
    fn is_name_taken(&self, end: &AgentEvent) -> bool {
        match (end, self.installation.transport.naming) {
            (AgentEvent::Error { message, .. }, SessionNaming::ByClient { taken }) => {
                message.contains(taken) && !self.session.exists()
            }
            _ => false,
        }
    }

    /// Prepares the session for the next turn, before the terminal event is returned.
    ///
    /// Returns the diagnostics of the process. For a process that keeps running, they are returned only if the
    /// turn failed.
    async fn finish_session(&mut self, end: &AgentEvent) -> TurnDiagnostics {
        self.queue.clear();
        self.permissions.clear();
        match self.process.take() {
            Some(process) if process.is_interactive() && !self.session.options.once => {
                let diagnostics = match end {
                    AgentEvent::Error { .. } => process.diagnostics(None),
                    _ => TurnDiagnostics::default(),
                };
                self.driver.idle.insert(self.id.clone(), process);
                diagnostics
            }
            Some(process) => process.finish().await,
            None => std::mem::take(&mut self.diagnostics),
        }
    }
}
