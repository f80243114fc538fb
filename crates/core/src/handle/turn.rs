//! One turn, from prompt to terminal event.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::{self, BoxFuture, FutureExt};
use tokio::sync::mpsc;

use super::sender::EventSender;
use super::{TurnGuard, unwind};
use crate::limits::TurnLimits;
use crate::{
    AgentBackend, AgentEvent, BackendEvent, Clock, Envelope, Error, ErrorCode, EventStream, Prompt,
    SessionId, TurnId,
};

/// Everything a turn needs, owned by its task.
pub(super) struct TurnTask {
    pub(super) backend: Arc<dyn AgentBackend>,
    pub(super) name: &'static str,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) limits: TurnLimits,
    pub(super) session: SessionId,
    pub(super) id: TurnId,
    pub(super) running: TurnGuard,
}

/// Why a turn came to its end.
pub(super) enum TurnEnd {
    /// The backend said how it ended.
    Terminal(Box<BackendEvent>),
    /// The stream ended without saying how.
    MissingTerminal,
    /// The backend refused or failed.
    Failed(Error),
    /// Somebody cancelled.
    Cancelled,
    /// Time ran out: what was waited for, how long.
    TimedOut(&'static str, Duration),
    /// More came than the limits allow.
    OutputLimit,
    /// Nobody reads any more.
    ReceiverDropped,
}

impl TurnTask {
    pub(super) async fn run(mut self, mut prompt: Prompt, sender: mpsc::Sender<Envelope>) {
        if let Some(limit) = prompt.timeout.take() {
            self.limits.deadline = limit;
        }
        let mut out = EventSender::new(&self, sender);
        let mut stream = None;
        let mut end = self.pump(prompt, &mut stream, &mut out).await;
        if matches!(
            end,
            TurnEnd::Cancelled
                | TurnEnd::TimedOut(..)
                | TurnEnd::OutputLimit
                | TurnEnd::ReceiverDropped
        ) {
            end = self.cancel_and_drain(end, stream.as_mut(), &mut out).await;
        }
        // The agent's processes are gone, and its session is free, before anyone is told of the end.
        let _ = unwind::catch(|| drop(stream));
        drop(self.running);
        out.close(terminal(end, self.name)).await;
        tracing::info!(events = out.sent_count(), "turn ended");
    }

    /// Passes events on until something ends the turn.
    async fn pump(
        &self,
        prompt: Prompt,
        slot: &mut Option<EventStream>,
        out: &mut EventSender,
    ) -> TurnEnd {
        let unread = out.channel();
        let interrupted = async {
            tokio::select! {
                () = self.clock.sleep(self.limits.deadline) => {
                    TurnEnd::TimedOut("the turn", self.limits.deadline)
                }
                () = self.running.stop.cancelled() => TurnEnd::Cancelled,
                () = unread.closed() => TurnEnd::ReceiverDropped,
            }
        };
        let work = async {
            let asked = async { self.backend.prompt(&self.session, prompt).await };
            let stream = match unwind::catch_async(asked).await {
                Ok(Ok(stream)) => slot.insert(stream),
                Ok(Err(error)) => return TurnEnd::Failed(error),
                Err(panic) => return TurnEnd::Failed(panic.into_error(self.name)),
            };
            self.forward(stream, out, self.limits.stall).await
        };
        tokio::select! {
            biased;
            end = interrupted => end,
            end = work => end,
        }
    }

    /// Passes events on until the stream ends, stalls or floods.
    async fn forward(
        &self,
        stream: &mut EventStream,
        out: &mut EventSender,
        stall: Option<Duration>,
    ) -> TurnEnd {
        loop {
            // First what an interruption left behind. Time spent on a slow reader is not the backend's.
            if let Err(end) = out.flush().await {
                return end;
            }
            let stalled: BoxFuture<'_, ()> = match stall {
                Some(limit) => self.clock.sleep(limit),
                None => future::pending().boxed(),
            };
            let next = tokio::select! {
                next = unwind::catch_async(stream.next()) => next,
                () = stalled => {
                    return TurnEnd::TimedOut("waiting for the next event", stall.unwrap_or_default());
                }
            };
            match next {
                Ok(Some(emitted)) if emitted.event.is_terminal() => {
                    return TurnEnd::Terminal(Box::new(emitted));
                }
                Ok(Some(emitted)) => {
                    if let Err(end) = out.push(emitted, self.limits.turn_bytes) {
                        return end;
                    }
                }
                Ok(None) => return TurnEnd::MissingTerminal,
                Err(panic) => return TurnEnd::Failed(panic.into_error(self.name)),
            }
        }
    }

    /// Asks the backend to stop and lets it, for as long as the grace allows.
    ///
    /// A backend that finished while it was being cancelled has finished: its result counts.
    async fn cancel_and_drain(
        &self,
        reason: TurnEnd,
        stream: Option<&mut EventStream>,
        out: &mut EventSender,
    ) -> TurnEnd {
        let streaming = stream.is_some();
        let cancelled = async {
            let asked = async { self.backend.cancel(&self.session).await };
            match unwind::catch_async(asked).await {
                Ok(Ok(())) if streaming => future::pending().await,
                _ => TurnEnd::MissingTerminal,
            }
        };
        let drained = async {
            match stream {
                Some(stream) => self.forward(stream, out, None).await,
                None => future::pending().await,
            }
        };
        let finished = tokio::select! {
            biased;
            end = drained => end,
            end = cancelled => end,
            () = self.clock.sleep(self.limits.grace) => TurnEnd::MissingTerminal,
        };
        match (&reason, finished) {
            (TurnEnd::Cancelled, TurnEnd::Terminal(done)) if is_result(&done.event) => {
                TurnEnd::Terminal(done)
            }
            _ => reason,
        }
    }
}

fn is_result(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Result { .. })
}

/// The terminal event for each way to end.
fn terminal(end: TurnEnd, backend: &str) -> BackendEvent {
    let error = match end {
        TurnEnd::Terminal(emitted) => return *emitted,
        TurnEnd::Failed(error) => error,
        TurnEnd::Cancelled | TurnEnd::ReceiverDropped => Error::Cancelled,
        TurnEnd::TimedOut(what, after) => Error::Timeout {
            what: what.to_owned(),
            after,
        },
        TurnEnd::MissingTerminal => Error::agent(
            ErrorCode::BackendError,
            format!("{backend} ended the turn without saying how it ended"),
        ),
        TurnEnd::OutputLimit => Error::agent(
            ErrorCode::OutputLimit,
            format!("{backend} sent more than one turn may hold"),
        ),
    };
    AgentEvent::from(error).into()
}
